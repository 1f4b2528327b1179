package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"dqd/cmd/dqd/client"
	"dqd/cmd/dqd/readfile"
	"dqd/persist"
	"dqd/raftfsm"
	"dqd/raftfsm/archive"
	"dqd/server/guard"
)

// restore is the sub-command: it makes the folder of a server out of a backup.
func restore(args []string, stdout, stderr io.Writer) int {
	if len(args) != 2 || strings.HasPrefix(args[0], "-") && args[0] != client.Standard || strings.HasPrefix(args[1], "-") {
		return usageError(stderr, errors.New("write dqd restore FILE DIR: the file of the backup, and a new or empty folder"))
	}
	path, dir := args[0], args[1]
	failed := func(err error) int {
		fmt.Fprintf(stderr, "dqd: nothing was restored: %v\n", err)
		return exitFail
	}
	f, path, err := openBackup(path)
	if err != nil {
		return failed(err)
	}
	defer f.Close()
	sizes := sizesOf(guard.GrantedMemory() / 2)
	sum, err := raftfsm.Restore(raftfsm.Options{
		Dir: dir, FS: persist.DiskFS(), NodeID: nodeName,
		StateCache: sizes.stateCache, StateMemTable: sizes.stateMemTable, LogMemTable: sizes.logMemTable,
		Logger: slog.New(slog.NewTextHandler(stderr, nil)),
		Fatal:  func(err error) { os.Exit(failed(err)) },
	}, bufio.NewReaderSize(f, 1<<20), time.Now().UnixNano())
	switch {
	case errors.Is(err, archive.ErrBroken):
		err = fmt.Errorf("%s: %w", path, err)
	case errors.Is(err, persist.ErrLocked):
		err = fmt.Errorf("the folder %s is in use by a dqd: restore into a new folder", dir)
	}
	if err != nil {
		return failed(err)
	}
	fmt.Fprintf(stdout, "%s: restored %s\nstart it: dqd serve --dir %s\n", dir, client.Describe(&sum), dir)
	return exitOK
}

// openBackup opens the file of a backup, or standard input, and returns what it is called.
func openBackup(path string) (*os.File, string, error) {
	if path != client.Standard {
		f, err := os.Open(path)
		if err == nil {
			if info, serr := f.Stat(); serr == nil && info.IsDir() {
				f.Close()
				err = &os.PathError{Op: "open", Path: path, Err: syscall.EISDIR}
			}
		}
		if err != nil {
			return nil, path, fmt.Errorf("%s: %w", path, readfile.Plain(err))
		}
		return f, path, nil
	}
	if term.IsTerminal(int(os.Stdin.Fd())) {
		return nil, "", errors.New("standard input is a terminal: send a backup into it, or name a file")
	}
	return os.Stdin, "standard input", nil
}

// checkBackup is dqd check of a backup: it reads all of it.
func checkBackup(path string, stdout, stderr io.Writer) int {
	f, path, err := openBackup(path)
	if err != nil {
		fmt.Fprintf(stderr, "dqd: %v\n", err)
		return exitFail
	}
	defer f.Close()
	sum, err := archive.Verify(bufio.NewReaderSize(f, 1<<20))
	switch {
	case errors.Is(err, archive.ErrBroken):
		fmt.Fprintf(stdout, "problem: %s: %v; use another backup\n", path, err)
		return exitFail
	case err != nil:
		fmt.Fprintf(stderr, "dqd: %v\n", err)
		return exitFail
	}
	fmt.Fprintf(stdout, "%s: ok, a whole backup of %s\n", path, client.Describe(&sum))
	return exitOK
}
