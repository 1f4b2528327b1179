package persist

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// lockUntouched locks a file, which must exist, until it is closed. Pebble's own
// lock makes the file anew, which changes its time. Like that one it is a record
// lock, but a shared one, for which reading is enough, and bound to the open file:
// so it meets a lock of this process too. Do not look at a folder that a node in this
// process uses: closing the file ends the lock that Pebble has on it.
func lockUntouched(name string) (io.Closer, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_RDLCK}); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
