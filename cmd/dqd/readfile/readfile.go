// Package readfile reads the small files that operators write.
package readfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
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

// Bounded reads a file of at most so many bytes.
func Bounded(path string, most int64) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("%s is larger than %d bytes", path, most)
	}
	return string(b), err
}
