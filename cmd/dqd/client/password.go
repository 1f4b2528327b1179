package client

import (
	"fmt"

	"dqd/cmd/dqd/readfile"
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
	password, err := readfile.Password(path)
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", from, path, err)
	}
	s.passwordFrom = "the file " + path
	return password, nil
}
