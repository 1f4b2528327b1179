// Command dqd is a delay queue that speaks the Redis protocol.
//
//	dqd serve      run the server (also dqd alone)
//	dqd check DIR  verify the data of a server that is not running
//	dqd version    print the version
//	dqd help       print the settings
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
)

const (
	exitOK    = 0
	exitFail  = 1
	exitUsage = 2
)

// version is set by the release build: -ldflags "-X main.version=…".
var version = ""

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run runs a sub-command and returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	name := "serve"
	if len(args) > 0 && (!strings.HasPrefix(args[0], "-") || args[0] == "--version" || args[0] == "-v") {
		name, args = args[0], args[1:]
	}
	switch name {
	case "serve":
		return serve(args, stdout, stderr)
	case "check":
		return check(args, stdout, stderr)
	case "version", "--version", "-v":
		fmt.Fprintln(stdout, "dqd", buildVersion())
		return exitOK
	case "help":
		help(stdout)
		return exitOK
	}
	fmt.Fprintf(stderr, "dqd: unknown sub-command %q%s (see dqd help)\n", name, didYouMean(name, []string{"serve", "check", "version", "help"}))
	return exitUsage
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

func help(w io.Writer) {
	fmt.Fprint(w, `dqd, a delay queue that speaks the Redis protocol

  dqd serve [--setting value]...   run the server (also: dqd alone)
  dqd check DIR                    verify the data of a server that is not running
  dqd version                      print the version
  dqd help                         print this

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
}
