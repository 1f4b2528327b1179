package tests

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Documents link to files and headings that there are, and the README leads to each of docs.
func TestLinks(t *testing.T) {
	documents := map[string]string{}
	for _, pattern := range []string{"../*.md", "../docs/*.md", "../tests/*.md", "../benchmarks/*.md"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			documents[path] = string(text)
		}
	}
	for _, wrong := range deadLinks(documents) {
		t.Error(wrong)
	}
	for path := range documents {
		if name, ok := strings.CutPrefix(path, "../"); ok && strings.HasPrefix(name, "docs/") && !strings.Contains(documents["../README.md"], "("+name+")") {
			t.Errorf("the README does not lead to %s", name)
		}
	}
}

var (
	linkPattern    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	headingPattern = regexp.MustCompile(`(?m)^#+ (.+)$`)
	notInAnchors   = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// deadLinks looks at the links of documents, by path.
func deadLinks(documents map[string]string) (wrong []string) {
	for _, from := range slices.Sorted(maps.Keys(documents)) {
		for _, m := range linkPattern.FindAllStringSubmatch(documents[from], -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			name, anchor, _ := strings.Cut(m[1], "#")
			path := from
			if name != "" {
				path = filepath.Join(filepath.Dir(from), name)
			}
			if _, err := os.Stat(path); err != nil && documents[path] == "" {
				wrong = append(wrong, fmt.Sprintf("%s links to %s, which is not there", from, m[1]))
			} else if anchor != "" && !slices.Contains(anchors(documents[path]), anchor) {
				wrong = append(wrong, fmt.Sprintf("%s links to %s, and there is no such heading", from, m[1]))
			}
		}
	}
	return wrong
}

// anchors are those of a document's headings, as GitHub makes them.
func anchors(document string) (list []string) {
	for _, m := range headingPattern.FindAllStringSubmatch(document, -1) {
		list = append(list, strings.ReplaceAll(notInAnchors.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return list
}

// The proof that a dead link is seen.
func TestDeadLinksAreSeen(t *testing.T) {
	got := deadLinks(map[string]string{
		"a.md":   "# One `two`, three\n[x](#one-two-three) [x](b/b.md#four) [x](https://a.example/#y) [x](b/none.md) [x](#five)",
		"b/b.md": "## Four\n[x](../a.md) [x](../a.md#four)",
	})
	want := []string{
		"a.md links to b/none.md, which is not there",
		"a.md links to #five, and there is no such heading",
		"b/b.md links to ../a.md#four, and there is no such heading",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
