package commands

type (
	// Memory is MEMORY DOCTOR and MEMORY STATS.
	Memory struct{ Sub string }
	// Usage is MEMORY USAGE, which the shard answers.
	Usage struct{ Queue []byte }
)

func (*Memory) isRequest() {}
func (*Usage) isRequest()  {}

var memoryKind = kind{"server", []string{"loading", "stale"}, []string{"@slow"}}

var memory = Command{
	Name: "memory", Arity: -2,
	Categories: []string{"@slow"},
	Group:      "server", Since: "1.0.0", Complexity: "O(1)",
	Summary: "Commands about memory.",
	Subcommands: []*Command{
		{
			Name: "memory|usage", Arity: -3, Flags: []string{"readonly"},
			FirstKey: 2, LastKey: 2, Step: 1,
			Categories: []string{"@read", "@slow"},
			Group:      "server", Since: "1.0.0", Complexity: "O(1)",
			Summary: "Answers about how many bytes a queue takes in the store, null if it is unknown: its payloads, and 128 for each job.",
			Args:    []Arg{argQueue, {Name: "count", Type: "integer", Token: "SAMPLES", Optional: true}},
			Parse:   parseUsage,
		},
		memoryKind.row("memory|doctor", 2, "Says in words how memory stands.", parseMemory("doctor")),
		memoryKind.row("memory|stats", 2, "Shows numbers about memory.", parseMemory("stats")),
		helpKind.row("memory|help", 2, "Shows these lines.", parseHelp("memory")),
	},
}

func parseMemory(sub string) func([][]byte, *Limits) (Request, error) {
	return func([][]byte, *Limits) (Request, error) { return &Memory{Sub: sub}, nil }
}

// parseUsage takes SAMPLES n and has no use for it: nothing is sampled.
func parseUsage(args [][]byte, lim *Limits) (Request, error) {
	if err := checkQueue(args[2], lim); err != nil {
		return nil, err
	}
	if len(args) > 3 {
		if len(args) != 5 || !isKeyword(args[3], "samples") {
			return nil, syntaxf("write MEMORY USAGE queue [SAMPLES count]")
		}
		if n, ok := parseInt(args[4]); !ok || n < 0 {
			return nil, syntaxf("SAMPLES %s is no number of samples", quote(args[4]))
		}
	}
	return &Usage{Queue: args[2]}, nil
}
