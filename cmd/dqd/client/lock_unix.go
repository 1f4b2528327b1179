//go:build unix && !aix

package client

import (
	"os"

	"golang.org/x/sys/unix"
)

// lock locks a file until it is closed, or fails if another process has.
func lock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }
