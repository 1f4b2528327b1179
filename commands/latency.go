package commands

// Latency is LATENCY. Names are events for history and reset, commands for
// histogram; none = all.
type Latency struct {
	Sub   string // latest history reset doctor histogram
	Names []string
}

func (*Latency) isRequest() {}

var latencyKind = kind{"server", []string{"admin", "noscript", "loading", "stale"}, []string{"@admin", "@slow", "@dangerous"}}

var latency = Command{
	Name: "latency", Arity: -2,
	Categories: []string{"@slow"},
	Group:      "server", Since: "1.0.0", Complexity: "O(1)",
	Summary: "Commands about what took long.",
	Subcommands: []*Command{
		latencyKind.row("latency|latest", 2, "Shows each kind of event that took long: its name, when it last did, for how many ms, and the longest.", parseLatency("latest")),
		latencyKind.row("latency|history", 3, "Shows when an event took long and for how many ms: command, fsync, apply or timer.", parseLatency("history"),
			Arg{Name: "event", Type: "string"}),
		latencyKind.row("latency|reset", -2, "Forgets events, all or those named, and answers how many.", parseLatency("reset"),
			Arg{Name: "event", Type: "string", Optional: true, Multiple: true}),
		latencyKind.row("latency|doctor", 2, "Says in words what took long and what may be done.", parseLatency("doctor")),
		latencyKind.row("latency|histogram", -2, "Shows for each command how many of its calls took at most how many µs.", parseLatency("histogram"),
			Arg{Name: "command", Type: "string", Optional: true, Multiple: true}),
		helpKind.row("latency|help", 2, "Shows these lines.", parseHelp("latency")),
	},
}

func parseLatency(sub string) func([][]byte, *Limits) (Request, error) {
	return func(args [][]byte, _ *Limits) (Request, error) {
		r := &Latency{Sub: sub}
		for _, arg := range args[2:] {
			var buf [keywordMax]byte
			// What is too long for a name becomes "", unknown as well.
			r.Names = append(r.Names, string(keyword(&buf, arg)))
		}
		return r, nil
	}
}
