package commands

import "strings"

// referenceIntro and referenceRules stand before the rows in the command reference, with a
// list of all between them.
const referenceIntro = "# Commands\n" + `
<!-- Made of the command table by "go run ./commands/gendoc": change that, not this. -->

dqd speaks the Redis protocol: any Redis client sends these commands with its call for a command that it does not know,
such as ` + "`rdb.Do(ctx, \"DQADD\", …)` or `r.execute_command(\"DQADD\", …)`, and `redis-cli`" + ` shows their hints and help.
`

const referenceRules = `
**Durations** (dur): a bare integer is milliseconds; or one or more parts with a unit, ` + "`ns us ms s m h d`: `1500`, `15m`, `1h30m`" + `.
At most 36525 days.

**Times** (time): a bare integer is Unix milliseconds, with a unit ` + "`s ms us ns`" + ` it counts that unit; or RFC 3339 with a zone:
` + "`1896080400000`, `1896080400s`, `2030-01-31T09:00:00Z`, `2030-01-31T10:00:00.5+01:00`" + `. A bare integer below 10^12 is refused, as it looks like seconds.
RFC 3339 is taken strictly: two digits everywhere, ` + "`T` and `Z`" + ` in either case, a point before up to nine digits of a fraction.

Some clients have a type for durations: send it as milliseconds. go-redis writes a ` + "`time.Duration`" + ` as nanoseconds, which dqd reads as
milliseconds, a million times as long: pass ` + "`d.Milliseconds()`" + `. Its ` + "`d.String()`" + ` does not do either, as ` + "`1.5s`" + ` has a fraction.

What cannot be read for certain is refused with ` + "`BADTIME`" + `; it never means "at once". Times in replies are Unix milliseconds, rounded up;
fields that end in ` + "`-ns`" + ` are exact, as strings.

**Names.** Keywords, sub-commands and units may be in upper or lower case. Queue names, ids and payloads are any bytes.

**Refusals.** The first word of an error is its code. ` + "`ERR`" + ` says that the command is not well formed: a wrong number of arguments,
an option given twice, options that exclude each other, a number out of its range; or that the client closed its sending side before a pop, or a bulk command, came to its turn. A refused command leaves no trace.
Any command may be refused with ` + "`TRYAGAIN`, `LOADING`, `BUSY`" + ` (nothing was done), and a write with ` + "`INDOUBT`" + ` (it may or may not have happened).

**Examples** are sessions with a new server: ` + "`> `" + ` begins a command, what follows is what redis-cli prints, and ` + "`...`" + ` is what differs.
`

// Reference returns the command reference, docs/commands.md.
func Reference() []byte {
	var b strings.Builder
	b.WriteString(referenceIntro)
	writeContents(&b)
	b.WriteString(referenceRules)
	var others []*Command
	for _, c := range table {
		if c.Syntax == "" {
			others = append(others, c)
			continue
		}
		c.writeReference(&b)
	}
	b.WriteString("\n## Commands of Redis\n\nThey do as in Redis, so that every client can connect.\n\n| command | |\n|---|---|\n")
	for _, c := range others {
		rows := []*Command{c}
		if c.Subcommands != nil {
			rows = c.Subcommands
			if c.Parse != nil {
				rows = append([]*Command{c}, rows...)
			}
		}
		for _, row := range rows {
			text := row.Summary
			if len(row.Replies) > 0 {
				text += " Answers " + strings.Join(row.Replies, "; ") + "."
			}
			writeRow(&b, code(row.Usage()), text)
		}
	}
	return []byte(b.String())
}

// parts are the headings of the list of all commands, by the last category of their rows.
var parts = map[string]string{
	"@dq-produce": "Producing", "@dq-consume": "Consuming", "@dq-look": "Looking",
	"@dq-admin": "Managing", "@dq-manage": "Managing", "@transaction": "Transactions",
}

// writeContents lists all commands, with a line for each that has a section.
func writeContents(b *strings.Builder) {
	b.WriteString("\n| command | |\n|---|---|\n")
	part := ""
	var others []string
	for _, c := range table {
		name := strings.ToUpper(c.Name)
		if c.Syntax == "" {
			others = append(others, name)
			continue
		}
		if p := parts[c.Categories[len(c.Categories)-1]]; p != part {
			part = p
			writeRow(b, "**"+part+"**", "")
		}
		line, _, _ := strings.Cut(c.Summary, ". ")
		writeRow(b, "["+code(name)+"](#"+c.Name+")", strings.TrimSuffix(line, ".")+".")
	}
	writeRow(b, "[**As in Redis**](#commands-of-redis)", code(strings.Join(others, " ")))
}

func (c *Command) writeReference(b *strings.Builder) {
	b.WriteString("\n## " + strings.ToUpper(c.Name) + "\n\n```\n" + c.Syntax + "\n```\n\n" + c.Summary + " " + c.Complexity + ".\n")
	c.writeArgs(b)
	writeList(b, "Replies", c.Replies)
	if c.Fields != nil {
		b.WriteString("\n| field | |\n|---|---|\n")
		for _, f := range c.Fields {
			names := strings.Fields(f.Name)
			for i := range names {
				names[i] = code(names[i])
			}
			writeRow(b, strings.Join(names, " "), f.Text)
		}
	}
	if c.Notes != "" {
		b.WriteString("\n" + c.Notes + "\n")
	}
	errors := make([]string, len(c.Errors))
	for i, e := range c.Errors {
		errors[i] = e
		if code, when, ok := strings.Cut(e, ": "); ok && code == strings.ToUpper(code) {
			errors[i] = "`" + code + "`: " + when
		}
	}
	writeList(b, "Errors", errors)
	b.WriteString("\n**Sent again** after a broken connection: " + c.Resend + "\n")
	b.WriteString("\n```redis-cli\n" + strings.TrimPrefix(c.Example, "\n") + "```\n")
}

// writeArgs writes a line for each argument, or for each sub-command.
func (c *Command) writeArgs(b *strings.Builder) {
	if c.Subcommands != nil {
		b.WriteString("\n| sub-command | |\n|---|---|\n")
		for _, sub := range c.Subcommands {
			writeRow(b, code(sub.Usage()), sub.Summary)
		}
		return
	}
	if len(c.Args) == 0 {
		return
	}
	b.WriteString("\n| argument | |\n|---|---|\n")
	for i := range c.Args {
		c.Args[i].writeReference(b)
	}
}

func writeList(b *strings.Builder, title string, items []string) {
	if len(items) == 0 {
		return
	}
	b.WriteString("\n**" + title + "**\n\n")
	for _, item := range items {
		b.WriteString("- " + item + "\n")
	}
}

// writeReference writes a line for the argument, and for a choice or a block
// one for each of its parts that have something to say.
func (a *Arg) writeReference(b *strings.Builder) {
	if a.Summary != "" || len(a.Args) == 0 {
		var usage strings.Builder
		a.usageOnce(&usage)
		writeRow(b, code(usage.String()), a.Summary)
	}
	for i := range a.Args {
		if a.Args[i].Summary != "" {
			a.Args[i].writeReference(b)
		}
	}
}

func writeRow(b *strings.Builder, left, right string) {
	b.WriteString("| " + left + " | " + strings.ReplaceAll(right, "|", `\|`) + " |\n")
}

// code is s as code in a cell of a table.
func code(s string) string { return "`" + strings.ReplaceAll(s, "|", `\|`) + "`" }
