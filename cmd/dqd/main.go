// Command dqd is a delay queue that speaks the Redis protocol.
//
//	dqd serve                run the server (also dqd alone)
//	dqd check DIR            verify the data of a server that is not running, or a backup
//	dqd backup, dqd restore  back up a running server, make the folder of a server of it
//	dqd top, queue, job      show what a running server has
//	dqd version              print the version
//	dqd help                 print the settings
//
// Exit codes: 0 = ended as asked; 1 = could not start or serve, or damaged data; 2 = wrong usage
// or configuration; 70 = a fatal storage error, the data needs attention.
package main

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"dqd/cmd/dqd/client"
)

const (
	exitOK    = 0
	exitFail  = 1
	exitUsage = 2
)

// version is set by the release build: -ldflags "-X main.version=…".
var version = ""

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// subcommand is one of the things that dqd does.
type subcommand struct {
	name  string
	args  string // how they are written
	usage string // a line
	run   func(args []string, stdout, stderr io.Writer) (exit int)
}

// subcommands in the order of the help, filled in by init: help prints it.
var subcommands []subcommand

func init() {
	subcommands = []subcommand{
		{"serve", "[--setting value]...", "run the server (also: dqd alone)", serve},
		{"check", "DIR | FILE", "verify the data of a server that is not running, or a backup", check},
		{"backup", "FILE [--port n]...", "back up a running server into a new file", client.Backup},
		{"restore", "FILE DIR", "make the folder of a server out of a backup", restore},
		{"top", "[--once] [--port n]...", "show what is ready, late, leased, dead, now", client.Top},
		{"queue", "ls [PATTERN] | show QUEUE", "list queues, or show one", client.Queue},
		{"job", "show QUEUE ID", "show a job", client.Job},
		{"version", "", "print the version", printVersion},
		{"help", "", "print this", help},
	}
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
		}
	}
	names := make([]string, len(subcommands))
	for i, c := range subcommands {
		if names[i] = c.name; c.name == name {
			return c.run(args, stdout, stderr)
		}
	}
	fmt.Fprintf(stderr, "dqd: unknown sub-command %q%s (see dqd help)\n", name, didYouMean(name, names))
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

func help(_ []string, w, _ io.Writer) int {
	fmt.Fprint(w, "dqd, a delay queue that speaks the Redis protocol\n\n")
	for _, c := range subcommands {
		fmt.Fprintf(w, "  %-38s %s\n", strings.TrimSpace("dqd "+c.name+" "+c.args), c.usage)
	}
	fmt.Fprint(w, `
Settings, as flags or as lines "setting value" of the file given by --config. A
flag wins over the environment, that over the file, that over the default.

`)
	for _, s := range settings {
		flag := "--" + s.name
		if s.secret {
			flag = s.name
		}
		fmt.Fprintf(w, "  %-18s %s", flag, s.usage)
		if s.value != "" {
			fmt.Fprintf(w, " (%s)", s.value)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, `
Environment: %s is the same as requirepass, which is no flag because everybody
on the machine can read those. No other setting is read from the environment.
In the file a comment has a line of its own, which begins with #; a value with
blanks stands in double quotes.
Exit codes: 0 ended as asked, 1 could not start or serve, or damaged data, 2
wrong usage or configuration, 70 fatal storage error.
`, envPassword)
	return exitOK
}
