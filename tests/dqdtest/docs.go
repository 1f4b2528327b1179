package dqdtest

import "strings"

// Blocks returns the lines of a Markdown document's code blocks that are marked so.
func Blocks(document, mark string) string {
	var lines strings.Builder
	inside := false
	for line := range strings.Lines(document) {
		switch {
		case strings.HasPrefix(line, "```"):
			inside = !inside && strings.TrimSpace(line) == "```"+mark
		case inside:
			lines.WriteString(line)
		}
	}
	return lines.String()
}
