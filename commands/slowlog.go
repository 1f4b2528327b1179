package commands

import (
	"strconv"
	"strings"
)

// SlowLog is SLOWLOG. Count is how many entries get wants, -1 = all.
type SlowLog struct {
	Sub   string // get len reset help
	Count int64
}

func (*SlowLog) isRequest() {}

var (
	slowlogKind = kind{"server", []string{"admin", "loading", "stale"}, []string{"@admin", "@slow", "@dangerous"}}
	helpKind    = kind{"server", []string{"loading", "stale"}, []string{"@slow"}}
)

var slowlog = Command{
	Name: "slowlog", Arity: -2,
	Categories: []string{"@slow"},
	Group:      "server", Since: "1.0.0", Complexity: "O(1)",
	Summary: "Commands about the commands that took long.",
	Subcommands: []*Command{
		slowlogKind.row("slowlog|get", -2, "Shows the latest slow commands, 10 or as many as asked, -1 = all. Of their arguments it shows queue and id only.", parseSlowLogGet,
			Arg{Name: "count", Type: "integer", Optional: true}),
		slowlogKind.row("slowlog|len", 2, "Answers how many are kept.", parseSlowLog("len")),
		slowlogKind.row("slowlog|reset", 2, "Forgets them.", parseSlowLog("reset")),
		helpKind.row("slowlog|help", 2, "Shows these lines.", parseHelp("slowlog")),
	},
}

func parseSlowLog(sub string) func([][]byte, *Limits) (Request, error) {
	return func([][]byte, *Limits) (Request, error) { return &SlowLog{Sub: sub}, nil }
}

func parseSlowLogGet(args [][]byte, _ *Limits) (Request, error) {
	r := &SlowLog{Sub: "get", Count: 10}
	switch {
	case len(args) > 3:
		return nil, Error("ERR unknown subcommand or wrong number of arguments for '" + oneLine(args[1], 128) + "'. Try SLOWLOG HELP.")
	case len(args) == 3:
		n, ok := parseInt(args[2])
		if !ok || n < -1 {
			return nil, Error("ERR count should be greater than or equal to -1")
		}
		r.Count = n
	}
	return r, nil
}

// loggedMax is how many bytes of an argument a log shows, as in Redis.
const loggedMax = 128

// Logged returns what a log may show of a command with row c: its name, and the
// queue and the id where they stand in front. Payloads, passwords and all else
// are counted only. Without args, which are not kept for the simplest commands,
// it is the name.
func (c *Command) Logged(args [][]byte) []string {
	if len(args) == 0 {
		return strings.Split(c.Name, "|")
	}
	n := 1 + strings.Count(c.Name, "|")
	for i := range c.Args {
		a := &c.Args[i]
		if a.Type != "key" && a.Name != "id" || a.Token != "" || a.Optional || a.Multiple {
			break
		}
		n++
	}
	n = min(n, len(args))
	shown := make([]string, 0, n+1)
	for _, arg := range args[:n] {
		if more := len(arg) - loggedMax; more > 0 {
			shown = append(shown, string(arg[:loggedMax])+"... ("+strconv.Itoa(more)+" more bytes)")
		} else {
			shown = append(shown, string(arg))
		}
	}
	if more := len(args) - n; more > 0 {
		shown = append(shown, "... ("+strconv.Itoa(more)+" more arguments)")
	}
	return shown
}
