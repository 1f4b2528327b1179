package persist

import "strings"

// plainError is an error of Pebble with a text for people.
type plainError struct{ error }

func (e plainError) Error() string { return plainText(e.error.Error()) }
func (e plainError) Unwrap() error { return e.error }

// plain gives an error that Pebble returned a text in one line, without what Pebble
// adds for itself.
func plain(err error) error {
	if err == nil || plainText(err.Error()) == err.Error() {
		return err
	}
	return plainError{err}
}

func plainText(text string) string {
	const carrier = "<corruption detail carrier>" // joined to every error about damage
	var lines []string
	for line := range strings.Lines(strings.ReplaceAll(text, carrier, "")) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, ", ")
}
