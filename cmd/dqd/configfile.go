package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"dqd/cmd/dqd/readfile"
	"dqd/server"
)

// What a configuration may consist of.
const (
	maxIncludes  = 8       // files that include each other, one in the other
	maxFiles     = 100     // files in all
	maxFileBytes = 1 << 20 // of a file
)

// fileReader reads configuration files: lines "name value" as in redis.conf. A
// later line wins. An unknown name is an error: a setting that does nothing is
// worse than no start. So is a value that was meant otherwise, with = before it.
type fileReader struct {
	given map[string]given
	open  []string // the files that are being read, one included by the other
	files int      // read so far
}

// read reads a file; at is what names it, as it was written.
func (r *fileReader) read(path, at string) error {
	wrong := func(format string, args ...any) error { return fmt.Errorf("%s: %w", at, fmt.Errorf(format, args...)) }
	absolute, err := filepath.Abs(path)
	if err != nil {
		return wrong("%w", err)
	}
	r.files++
	switch {
	case slices.Contains(r.open, absolute):
		return wrong("it includes itself: %s", strings.Join(append(r.open, absolute), " → "))
	case len(r.open) > maxIncludes:
		return wrong("files are included %d deep: use at most %d", len(r.open), maxIncludes)
	case r.files > maxFiles:
		return wrong("this is file %d: use at most %d", r.files, maxFiles)
	}
	text, err := readfile.Bounded(path, maxFileBytes)
	if err != nil {
		return wrong("%w", err)
	}
	r.open = append(r.open, absolute)
	defer func() { r.open = r.open[:len(r.open)-1] }()
	for n, line := range strings.Split(text, "\n") {
		if err := r.line(path, fmt.Sprintf("%s:%d", path, n+1), line); err != nil {
			return err
		}
	}
	return nil
}

// line reads a line of a file.
func (r *fileReader) line(path, at, line string) error {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' {
		return nil
	}
	name, value := line, ""
	if i := strings.IndexAny(line, " \t"); i > 0 {
		name, value = line[:i], strings.TrimSpace(line[i:])
	}
	name, _, equals := strings.Cut(strings.ToLower(name), "=")
	s := server.FindSetting(name)
	switch {
	case s == nil && name == "include":
		s = &server.Setting{Name: name}
	case s == nil:
		names := []string{"include"}
		for _, s := range settings() {
			names = append(names, s.Name)
		}
		// What stands behind it may be a secret with a misspelt name.
		return fmt.Errorf("%s: unknown setting %q%s", at, name, instead(name, name, names, strconv.Quote))
	case equals || strings.HasPrefix(value, "="):
		return fmt.Errorf("%s: write %s and the value without =; a value that begins with = needs double quotes", at, name)
	}
	value, err := fileValue(s, value)
	if err != nil {
		return fmt.Errorf("%s: %s %w", at, name, err)
	}
	if name == "include" {
		at += ": include " + value
		if !filepath.IsAbs(value) {
			value = filepath.Join(filepath.Dir(path), value)
		}
		return r.read(value, at)
	}
	g := given{value, at, at + ": " + name + " " + value}
	if s.Secret {
		g.as = at + ": " + name
	}
	r.given[name] = g
	return nil
}

// comment is what ends a value that is not quoted.
var comment = regexp.MustCompile(`(^|[ \t])#`)

// fileValue takes the quotes and the comment from a value. No error shows it.
func fileValue(s *server.Setting, value string) (string, error) {
	quoted := strings.HasPrefix(value, `"`)
	behind := "" // the value
	if quoted {
		in, err := strconv.QuotedPrefix(value)
		if err != nil {
			return "", errors.New("has unbalanced quotes")
		}
		value, behind = in, strings.TrimSpace(value[len(in):])
		if value, err = strconv.Unquote(value); err != nil {
			return "", errors.New("has unbalanced quotes")
		}
		if behind != "" && behind[0] != '#' {
			return "", errors.New("has text behind its quotes: a comment begins with #")
		}
	} else if i := comment.FindStringIndex(value); i != nil {
		value, behind = strings.TrimSpace(value[:i[0]]), value[i[0]:]
	}
	switch {
	case s.Secret && behind != "" && !quoted:
		return "", errors.New("has a # behind it, which may be a part of it: put the value in double quotes, or the comment in a line of its own")
	case value == "" && !quoted, value == "" && s.Secret: // what fills it in was missing, perhaps
		return "", errors.New("has no value: write one, or leave the line out")
	case !quoted && !s.List && strings.ContainsAny(value, " \t"):
		return "", errors.New("has more than one value: put a value with blanks in double quotes")
	}
	return value, nil
}
