package dqdtest

import "strings"

// Blocks returns a Markdown document's code blocks that are marked so.
func Blocks(document, mark string) []string {
	var blocks []string
	fence, wanted := false, false
	for line := range strings.Lines(document) {
		switch {
		case strings.HasPrefix(line, "```"):
			fence = !fence
			if wanted = fence && strings.TrimSpace(line) == "```"+mark; wanted {
				blocks = append(blocks, "")
			}
		case wanted:
			blocks[len(blocks)-1] += line
		}
	}
	return blocks
}
