// Package readfile reads the small files that operators write.
package readfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// Password reads a file whose only line is a password.
func Password(path string) (string, error) {
	text, err := Bounded(path, 4<<10)
	if err != nil {
		return "", err
	}
	password := strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	if password == "" || strings.ContainsAny(password, "\r\n") {
		return "", errors.New("write the password into the only line of the file")
	}
	return password, nil
}

// Bounded reads a file of at most so many bytes. No error names the file: the caller
// does, as it was written.
func Bounded(path string, most int64) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", Plain(err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("it is larger than %d bytes", most)
	}
	return string(b), Plain(err)
}

// Plain says what is wrong with a file that is to be read, and what to do, without its name.
func Plain(err error) error {
	var at *fs.PathError
	if !errors.As(err, &at) {
		return err
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: check the name; a relative one counts from the folder that dqd was started in", at.Err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: this user must be allowed to read it", at.Err)
	case errors.Is(err, syscall.EISDIR):
		return fmt.Errorf("%w: name a file", at.Err)
	}
	return at.Err
}
