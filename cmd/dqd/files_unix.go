//go:build unix

package main

import "syscall"

// openFiles is the number of files and sockets that the process may open; 0 = not
// known. (The Go runtime has raised it to the hard limit.)
func openFiles() int64 {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil || limit.Cur > 1<<30 {
		return 0
	}
	return int64(limit.Cur)
}
