package client

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// password finds the password, "" if there is none.
func (s *server) password() (string, error) {
	from, path := "--password-file", s.passwordFile
	if path == "" {
		password, file := s.getenv(envPassword), s.getenv(envPasswordFile)
		switch {
		case password != "" && file != "": // which the server refuses too
			return "", fmt.Errorf("%s and %s are both in the environment: leave one of them out, or name the file by --password-file", envPassword, envPasswordFile)
		case password != "":
			s.passwordFrom = envPassword + " in the environment"
			return password, nil
		case file == "":
			return "", nil
		}
		from, path = envPasswordFile, file
	}
	password, err := ReadPassword(path)
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", from, path, err)
	}
	s.passwordFrom = "the file " + path
	return password, nil
}

// ReadPassword reads a file whose only line is a password.
func ReadPassword(path string) (string, error) {
	text, err := ReadBounded(path, 4<<10)
	if err != nil {
		return "", err
	}
	password := strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	if password == "" || strings.ContainsAny(password, "\r\n") {
		return "", errors.New("write the password into the only line of the file")
	}
	return password, nil
}

// ReadBounded reads a file of at most so many bytes.
func ReadBounded(path string, most int64) (string, error) {
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
