package tests

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	namedTest = regexp.MustCompile("`(Test[A-Z][A-Za-z0-9]*)`")
	madeTest  = regexp.MustCompile(`(?m)^func (Test[A-Z][A-Za-z0-9]*)\(`)
)

// missingTests returns the tests that a text names and the tree does not have.
func missingTests(t *testing.T, text string) (missing []string) {
	have := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		content, err := os.ReadFile(path)
		for _, m := range madeTest.FindAllSubmatch(content, -1) {
			have[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range namedTest.FindAllStringSubmatch(text, -1) {
		if !have[m[1]] && !slices.Contains(missing, m[1]) {
			missing = append(missing, m[1])
		}
	}
	return missing
}

// What README.md says is tested is.
func TestTestsOfTheReadmeExist(t *testing.T) {
	content, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range missingTests(t, string(content)) {
		t.Errorf("README.md names %s, which does not exist", name)
	}
}

func TestMissingTestsAreFound(t *testing.T) {
	if got := missingTests(t, "`TestMissingTestsAreFound`, `TestOfNothing`"); !slices.Equal(got, []string{"TestOfNothing"}) {
		t.Errorf("%q", got)
	}
}
