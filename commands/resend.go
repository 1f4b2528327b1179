package commands

import (
	"bytes"
	"fmt"
	"strings"
)

const (
	resendsBegin = "<!-- Made of the command table by \"go run ./commands/gendoc\": change that, not this. -->\n"
	resendsEnd   = "<!-- end -->\n"
)

// WithResends returns a document with the table of what each command does when it is
// sent again, between the two comments that mark its place.
func WithResends(document []byte) ([]byte, error) {
	before, rest, ok := bytes.Cut(document, []byte(resendsBegin))
	_, after, ok2 := bytes.Cut(rest, []byte(resendsEnd))
	if !ok || !ok2 {
		return nil, fmt.Errorf("the place for the table is not there: %q and %q", resendsBegin, resendsEnd)
	}
	return bytes.Join([][]byte{before, []byte(resendsBegin), []byte(resends()), []byte(resendsEnd), after}, nil), nil
}

// resends is the table; commands with the same text share a line.
func resends() string {
	var texts []string
	names := map[string][]string{}
	for _, c := range table {
		if c.Resend == "" {
			continue
		}
		if names[c.Resend] == nil {
			texts = append(texts, c.Resend)
		}
		names[c.Resend] = append(names[c.Resend], code(strings.ToUpper(c.Name)))
	}
	var b strings.Builder
	b.WriteString("\n| command | sent again |\n|---|---|\n")
	for _, text := range texts {
		writeRow(&b, strings.Join(names[text], " "), text)
	}
	b.WriteString("\n")
	return b.String()
}
