package client

import (
	"bytes"
	"io"
	"os"

	"golang.org/x/term"
)

// terminal returns the size of the terminal that w writes to; ok = it is one.
func terminal(w io.Writer) (rows, columns int, ok bool) {
	f, ok := w.(*os.File)
	if !ok {
		return 0, 0, false
	}
	columns, rows, err := term.GetSize(int(f.Fd()))
	return rows, columns, err == nil
}

// untilQuit calls quit when somebody types q or Ctrl-C. Nothing that is typed is shown, until
// restore is called. Where no terminal is typed at it does nothing.
func untilQuit(from *os.File, quit func()) (restore func()) {
	fd := int(from.Fd())
	before, err := term.MakeRaw(fd)
	if err != nil {
		return func() {}
	}
	go func() {
		const ctrlC = "\x03" // no signal any more
		for keys := make([]byte, 64); ; {
			n, err := from.Read(keys)
			if bytes.ContainsAny(keys[:n], "qQ"+ctrlC) {
				quit()
			}
			if err != nil {
				return
			}
		}
	}()
	return func() { term.Restore(fd, before) }
}
