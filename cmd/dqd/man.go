package main

import (
	"fmt"
	"io"
	"strings"

	"dqd/server"
)

// manPage is the sub-command man: it prints dqd.1 for man.
func manPage(_ []string, w, _ io.Writer) int {
	fmt.Fprintf(w, ".\\\" Printed by dqd man.\n.TH DQD 1 \"\" \"dqd %s\" \"User commands\"\n", roff(buildVersion()))
	fmt.Fprint(w, ".SH NAME\ndqd \\- a delay queue that speaks the Redis protocol\n.SH SYNOPSIS\n")
	for i, c := range subcommands {
		if i > 0 {
			fmt.Fprintln(w, ".br")
		}
		fmt.Fprintf(w, ".B dqd %s\n", roff(c.name))
		if args := strings.TrimPrefix(c.synopsis(), "dqd "+c.name); args != "" {
			fmt.Fprintln(w, roff(strings.TrimSpace(args)))
		}
	}
	fmt.Fprintf(w, ".SH DESCRIPTION\n%s\n", roff("dqd keeps jobs durably and hands each to a worker when its time has come. Clients of Redis speak to it; its commands are described by COMMAND DOCS, and by help in redis-cli."))
	fmt.Fprint(w, ".SH SUB-COMMANDS\n")
	for _, c := range subcommands {
		entry(w, c.synopsis(), c.summary()+".")
		for line := range strings.Lines(c.details()) {
			fmt.Fprintf(w, ".br\n%s\n", roff(strings.TrimSpace(line)))
		}
		for _, o := range c.options() {
			fmt.Fprintf(w, ".br\n%s: %s\n", roff(o.written()), roff(o.usage))
		}
	}
	fmt.Fprint(w, ".SH SETTINGS\n")
	for i, paragraph := range server.SettingRules {
		if i > 0 {
			fmt.Fprintln(w, ".PP")
		}
		fmt.Fprintln(w, roff(plain(paragraph)))
	}
	fmt.Fprint(w, ".SS Configuration\n")
	entry(w, "--"+configName+" FILE", configUsage+".")
	for _, group := range server.AllSettings() {
		fmt.Fprintf(w, ".SS %s\n", roff(group.Title))
		for _, s := range group.Settings {
			name := "--" + s.Name
			if s.Secret {
				name = s.Variable()
			}
			text := s.Usage + ": " + s.Values + "."
			if s.Default != "" {
				text += " Default: " + s.Default + "."
			}
			if s.Note != "" {
				text += " " + plain(s.Note)
			}
			if s.Live {
				text += " CONFIG SET changes it."
			}
			entry(w, name, text)
		}
	}
	fmt.Fprint(w, ".SH EXIT STATUS\n")
	for _, e := range exitCodes {
		entry(w, e.code, e.meaning+".")
	}
	return exitOK
}

// entry is a tagged paragraph.
func entry(w io.Writer, tag, text string) {
	fmt.Fprintf(w, ".TP\n.B %s\n%s\n", roff(tag), roff(text))
}

// roff escapes a line of text: no character of it is a request or an escape.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "…", "...", "→", `\(->`, "“", `"`, "”", `"`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
