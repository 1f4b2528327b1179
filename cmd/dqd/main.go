// Command dqd is a delay queue that speaks the Redis protocol.
//
// "dqd help" lists what it does, its settings and its exit codes.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"dqd/cmd/dqd/client"
	"dqd/server"
)

const (
	exitOK    = 0
	exitFail  = 1
	exitUsage = 2
	exitNone  = 3
)

// exitCodes are those of all sub-commands. README.md has the same table, which a test looks at.
var exitCodes = []struct{ code, meaning string }{
	{"0", "ended as asked"},
	{"1", "could not start or serve, not end within 20 s, or not do what a sub-command is for; also data that is refused (missing, old, not belonging together), or that `dqd check` finds damaged"},
	{"2", "wrong usage or configuration"},
	{"3", "`dqd check` found no data: the folder is empty, or there is none"},
	{"70", "fatal storage error: a write or an fsync failed, or a damaged file was found; `dqd check` says more"},
}

// version is set by the release build: -ldflags "-X main.version=…".
var version = ""

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// subcommand is one of the things that dqd does. Help, completion and man page are
// made of its args and flags: DIR and FILE name such, what is in small letters are words.
type subcommand struct {
	name  string
	args  string // how they are written
	usage string // a line; what follows it is for the help of the sub-command alone
	run   func(args []string, stdout, stderr io.Writer) (exit int)
	flags *flag.FlagSet // with a usage each; nil = it has none, or the settings
}

// settingArgs are the args of a sub-command that takes the settings.
const settingArgs = "[--setting value]..."

// subcommands in the order of the help, filled in by init: help prints it.
var subcommands []subcommand

func init() {
	subcommands = []subcommand{
		{"serve", settingArgs, "run the server (also: dqd alone)\nIt serves until SIGTERM, SIGINT or the command SHUTDOWN; a second signal ends it at once.", serve, nil},
		{"config", settingArgs, "print every setting and where it comes from, and exit\nThe settings are read as by dqd serve, and what is printed can be a configuration file. No secret is in it.", showConfig, nil},
		{"check", "DIR | FILE", "verify the data of a server that is not running, or a backup\nDIR is its setting dir, FILE what dqd backup wrote, - is standard input. Nothing is changed; each problem is a line with what to do.", check, nil},
		{"backup", "FILE", "back up a running server into a new file\nIt is verified while it is written, and there under its name only when it is whole.\nFILE - is standard output, such as: dqd backup - | ssh host 'cat > dqd.backup'", client.Backup, client.Flags()},
		{"restore", "FILE DIR", "make the folder of a server out of a backup\nFILE - is standard input. DIR is a new folder, or an empty one. Serve it with dqd serve --dir DIR.", restore, nil},
		{"top", "", "show what is ready, late, leased, dead, now\nOn a terminal it goes on, every 2 seconds, until q or Ctrl-C. NO_COLOR in the environment takes its colours.", client.Top, client.TopFlags()},
		{"queue", "ls [PATTERN] | show QUEUE", "list queues, or show one\nPATTERN is as of DQQUEUES, such as 'mail*'.", client.Queue, client.Flags()},
		{"job", "show QUEUE ID", "show a job, live or dead, with its payload", client.Job, client.Flags()},
		{"completion", "bash|zsh|fish", "print the completion for a shell\nbash: source <(dqd completion bash)\nzsh: dqd completion zsh > a folder of $fpath/_dqd\nfish: dqd completion fish > ~/.config/fish/completions/dqd.fish", completion, nil},
		{"man", "", "print the man page\ndqd man | man -l -", manPage, nil},
		{"version", "", "print the version", printVersion, nil},
		{"help", "[SUB-COMMAND]", "print this, or what a sub-command does and takes", help, nil},
	}
}

func findSubcommand(name string) *subcommand {
	for i := range subcommands {
		if subcommands[i].name == name {
			return &subcommands[i]
		}
	}
	return nil
}

// summary is the line of usage, details what follows it.
func (c *subcommand) summary() string {
	summary, _, _ := strings.Cut(c.usage, "\n")
	return summary
}

func (c *subcommand) details() string {
	_, details, _ := strings.Cut(c.usage, "\n")
	return details
}

func (c *subcommand) takesSettings() bool { return c.args == settingArgs }

// short is how the sub-command is written without its flags.
func (c *subcommand) short() string { return strings.TrimSpace("dqd " + c.name + " " + c.args) }

// synopsis is how the sub-command is written.
func (c *subcommand) synopsis() string {
	if c.flags != nil {
		return c.short() + " [--flag value]..."
	}
	return c.short()
}

// options are the flags that are its own, in alphabetical order.
func (c *subcommand) options() (list []option) {
	if c.flags == nil {
		return nil
	}
	c.flags.VisitAll(func(f *flag.Flag) {
		value, usage := flag.UnquoteUsage(f)
		o := option{name: f.Name, usage: usage, value: value}
		if value == "FILE" {
			o.path = "file"
		}
		list = append(list, o)
	})
	return list
}

// run runs a sub-command and returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	name := "serve"
	if len(args) > 0 {
		switch first := args[0]; {
		case first == "--version", first == "-v":
			name, args = "version", nil
		case first == "--help", first == "-h":
			name, args = "help", nil
		case !strings.HasPrefix(first, "-"):
			name, args = first, args[1:]
		default:
			if late := behindFlags(args); late != "" {
				flag, _, _ := strings.Cut(first, "=")
				return usageError(stderr, fmt.Errorf("the sub-command stands before its flags: write dqd %s %s", late, flag))
			}
		}
	}
	c := findSubcommand(name)
	if c == nil {
		return usageError(stderr, unknownSubcommand(name))
	}
	if slices.Contains(args, "--help") || slices.Contains(args, "-h") {
		return help([]string{name}, stdout, stderr)
	}
	if c.args == "" && c.flags == nil && len(args) > 0 {
		return usageError(stderr, fmt.Errorf("unexpected argument %q: write %s", args[0], c.synopsis()))
	}
	return c.run(args, stdout, stderr)
}

// behindFlags returns the sub-command that stands behind flags; empty = there is none, but
// perhaps a value that reads like one.
func behindFlags(args []string) string {
	for i := 0; i < len(args); i++ {
		name, isFlag := strings.CutPrefix(args[i], "-")
		switch {
		case !isFlag && findSubcommand(args[i]) != nil:
			return args[i]
		case !isFlag:
			return ""
		case !strings.Contains(name, "=") && takesValue(strings.TrimPrefix(name, "-")):
			i++
		}
	}
	return ""
}

// takesValue reports whether what follows a flag is its value: only the flags of
// sub-commands have none, and not all of those.
func takesValue(name string) bool {
	for _, c := range subcommands {
		for _, o := range c.options() {
			if o.name == name {
				return o.value != ""
			}
		}
	}
	return true
}

func unknownSubcommand(name string) error {
	return fmt.Errorf("unknown sub-command %q%s", name, client.DidYouMean(name, names(), strconv.Quote))
}

func usageError(stderr io.Writer, err error) int {
	fmt.Fprintf(stderr, "dqd: %v (see dqd help)\n", err)
	return exitUsage
}

func printVersion(_ []string, stdout, _ io.Writer) int {
	fmt.Fprintln(stdout, "dqd", buildVersion())
	return exitOK
}

// buildVersion is the release's, or what the toolchain noted.
func buildVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}

func help(args []string, w, stderr io.Writer) int {
	if len(args) > 0 {
		c := findSubcommand(args[0])
		if c == nil {
			return usageError(stderr, unknownSubcommand(args[0]))
		}
		fmt.Fprintf(w, "%s\n\n%s\n", c.synopsis(), c.usage)
		if c.takesSettings() {
			printSettings(w)
		}
		for i, o := range c.options() {
			if i == 0 {
				fmt.Fprintln(w)
			}
			fmt.Fprintf(w, "  %-22s %s\n", o.written(), o.usage)
		}
		return exitOK
	}
	fmt.Fprint(w, "dqd, a delay queue that speaks the Redis protocol\n\n")
	for _, c := range subcommands {
		fmt.Fprintf(w, "  %-38s %s\n", c.short(), c.summary())
	}
	printSettings(w)
	fmt.Fprint(w, "\nExit codes\n\n")
	for _, e := range exitCodes {
		fmt.Fprintf(w, "  %-3s %s\n", e.code, strings.Join(wrap(plain(e.meaning), 94), "\n      "))
	}
	return exitOK
}

func printSettings(w io.Writer) {
	for _, paragraph := range server.SettingRules {
		fmt.Fprintf(w, "\n%s\n", strings.Join(wrap(plain(paragraph), 100), "\n"))
	}
	fmt.Fprintf(w, "\nConfiguration\n\n  %-34s %s\n", "--"+configName+" FILE", configUsage)
	for _, group := range server.AllSettings() {
		fmt.Fprintf(w, "\n%s\n\n", group.Title)
		for _, s := range group.Settings {
			name := "--" + s.Name
			if s.Secret {
				name = s.Variable()
			}
			fmt.Fprintf(w, "  %-34s %s\n", strings.TrimSpace(name+" "+s.Default), s.Usage)
		}
	}
}

// configUsage is of the one flag that is no setting.
const configUsage = "configuration file (in the environment: " + configVariable + ")"

// plain makes quotes of the marks of Markdown.
func plain(text string) string { return strings.ReplaceAll(text, "`", "'") }
