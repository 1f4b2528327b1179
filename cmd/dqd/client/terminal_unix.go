//go:build unix

package client

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// terminal returns the size of the terminal that w writes to; ok = it is one.
func terminal(w io.Writer) (rows, columns int, ok bool) {
	f, ok := w.(*os.File)
	if !ok {
		return 0, 0, false
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0, false
	}
	return int(size.Row), int(size.Col), true
}
