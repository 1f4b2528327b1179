package main

import (
	"fmt"
	"io"
	"strings"

	"dqd/server"
)

// manDate is the day of the man page: that of the latest release in CHANGELOG.md, so that
// builds do not differ. Until there is one it is a fixed day.
const manDate = "2026-11-30"

// manPage is the sub-command man: it prints dqd.1 for man.
func manPage(_ []string, w, _ io.Writer) int {
	fmt.Fprintf(w, ".\\\" Printed by dqd man.\n.TH DQD 1 \"%s\" \"dqd %s\" \"User commands\"\n.nh\n.ad l\n", manDate, roff(buildVersion()))
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
	fmt.Fprint(w, ".SH DESCRIPTION\n")
	paragraph(w, "dqd keeps jobs durably and hands each to a worker when its time has come. Clients of Redis speak to it; its commands are described by COMMAND DOCS, and by `help` in redis-cli.")
	fmt.Fprint(w, ".SH SUB-COMMANDS\n")
	for _, c := range subcommands {
		entry(w, "dqd "+c.name, strings.TrimPrefix(c.synopsis(), "dqd "+c.name), c.summary()+".")
		for line := range strings.Lines(c.details()) {
			fmt.Fprintln(w, ".br")
			paragraph(w, strings.TrimSpace(line))
		}
		if c.flags != nil {
			fmt.Fprintln(w, ".RS")
			for _, o := range c.options() {
				entry(w, "--"+o.name, " "+o.value, o.usage+".")
			}
			fmt.Fprintln(w, ".RE")
		}
	}
	fmt.Fprint(w, ".SH SETTINGS\n")
	for i, rule := range server.SettingRules {
		if i > 0 {
			fmt.Fprintln(w, ".PP")
		}
		paragraph(w, rule)
	}
	fmt.Fprint(w, ".SS Configuration\n")
	entry(w, "--"+configName, " FILE", configUsage+".")
	for _, group := range server.AllSettings() {
		fmt.Fprintf(w, ".SS %s\n", roff(group.Title))
		for _, s := range group.Settings {
			name, value := "--"+s.Name, " value"
			if s.Secret {
				name, value = s.Variable(), "=value"
			}
			text := s.Usage + ": " + s.Values + "."
			if s.Default != "" {
				text += " Default: " + s.Default + "."
			}
			if s.Note != "" {
				text += " " + s.Note
			}
			if s.Live {
				text += " `CONFIG SET` changes it."
			}
			entry(w, name, value, text)
		}
	}
	fmt.Fprint(w, ".SH EXIT STATUS\n")
	for _, e := range exitCodes {
		entry(w, e.code, "", e.meaning+".")
	}
	return exitOK
}

// entry is a tagged paragraph, indented so little that only an exit code stands beside its
// text; the tag is a name and how what follows it is written.
func entry(w io.Writer, name, args, text string) {
	fmt.Fprintf(w, ".TP 4\n.BI \"%s\" \"%s\"\n", roff(name), roff(strings.TrimRight(args, " ")))
	paragraph(w, text)
}

// paragraph prints a text in lines of at most 80 characters; what is between marks of
// Markdown is bold.
func paragraph(w io.Writer, text string) {
	parts := strings.Split(text, "`")
	for i, part := range parts {
		parts[i] = roff(part)
		if i%2 == 1 {
			parts[i] = `\fB` + parts[i] + `\fR`
		}
	}
	for _, line := range wrap(strings.Join(parts, ""), 80-len(`\&`)) {
		if strings.HasPrefix(line, ".") { // no request
			line = `\&` + line
		}
		fmt.Fprintln(w, line)
	}
}

// roff escapes a text: no character of it begins an escape, ends an argument, or is shown
// as another one.
func roff(text string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, `"`, `\(dq`, "^", `\(ha`, "~", `\(ti`, "…", "...", "→", `\(->`, "“", `\(dq`, "”", `\(dq`).Replace(text)
}

// wrap breaks a text into lines of at most so many bytes, where its words allow it.
func wrap(text string, most int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case len(line)+1+len(word) > most:
			lines, line = append(lines, line), word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}
