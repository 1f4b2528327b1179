package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"dqd/server"
)

// showConfig is the sub-command config: it prints the settings as a configuration
// file that gives the same ones, with where each comes from.
func showConfig(args []string, stdout, stderr io.Writer) int {
	c, err := readConfig(args, os.Environ())
	if err != nil {
		return usageError(stderr, err)
	}
	file := "none"
	if c.ConfigFile != "" {
		file = c.ConfigFile
	}
	fmt.Fprintf(stdout, "# configuration file: %s\n", file)
	for _, group := range server.AllSettings() {
		fmt.Fprintf(stdout, "\n# %s\n", group.Title)
		for _, s := range group.Settings {
			fmt.Fprintln(stdout, c.line(&s))
		}
	}
	return exitOK
}

// line is the line of a setting. One that has no value, or none to show, is a comment.
func (c *config) line(s *server.Setting) string {
	g, isGiven := c.given[s.Name]
	value, from := g.value, g.from
	if !isGiven {
		value, from = s.Default, "default"
	}
	text := s.Name + " " + fileText(value, s.List)
	switch {
	case s.Secret && c.Password != "" && !isGiven:
		text, from = "# "+s.Name+" (set)", c.given["requirepass-file"].from
	case s.Secret && isGiven:
		text = "# " + s.Name + " (set)"
	case !isGiven && s.Default == "":
		text = "# " + s.Name + " (not set)"
	}
	if s.Live {
		from += "; CONFIG SET changes it"
	}
	return fmt.Sprintf("%-40s # %s", text, from)
}

// fileText writes a value as a file has it.
func fileText(value string, list bool) string {
	if value == "" || strings.ContainsAny(value, "#\"") || !list && strings.ContainsAny(value, " \t") || value[0] == '=' || strconv.Quote(value) != `"`+value+`"` {
		return strconv.Quote(value)
	}
	return value
}
