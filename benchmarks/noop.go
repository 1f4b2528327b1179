package main

import (
	"flag"
	"fmt"
	"strings"

	"github.com/tidwall/redcon"
)

// noopMain serves the bar for what a Go server on redcon could do at all: it
// answers every add as dqd does and keeps nothing.
func noopMain(args []string) error {
	fs := flag.NewFlagSet("benchmarks noop", flag.ContinueOnError)
	port := fs.Int("port", 0, "TCP `port` on 127.0.0.1")
	if err := fs.Parse(args); err != nil {
		return err
	}
	return redcon.ListenAndServe(fmt.Sprintf("127.0.0.1:%d", *port), noopHandle, nil, nil)
}

func noopHandle(c redcon.Conn, cmd redcon.Command) {
	switch {
	case len(cmd.Args) > 2: // DQADD queue id …
		c.WriteBulk(cmd.Args[2])
	case strings.EqualFold(string(cmd.Args[0]), "ping"):
		c.WriteString("PONG")
	default:
		c.WriteString("OK")
	}
}
