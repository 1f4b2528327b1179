package commands

import "math"

type (
	// Role is ROLE.
	Role struct{}
	// Wait is WAIT; Local says that it is WAITAOF, which answers for this node too.
	Wait struct{ Local bool }
	// ReadOnly is READONLY and READWRITE: every node answers everything.
	ReadOnly struct{}
)

func (*Role) isRequest()     {}
func (*Wait) isRequest()     {}
func (*ReadOnly) isRequest() {}

var role = Command{
	Name: "role", Arity: 1, Flags: []string{"admin", "noscript", "loading", "stale", "fast"},
	Categories: []string{"@admin", "@fast", "@dangerous"},
	Group:      "server", Since: "1.0.0", Complexity: "O(1)",
	Summary: "Answers whether this node leads, and who follows it.",
	Parse:   func([][]byte, *Limits) (Request, error) { return &Role{}, nil },
}

var wait = Command{
	Name: "wait", Arity: 3, Flags: []string{"noscript"},
	Categories: []string{"@slow", "@connection"},
	Group:      "generic", Since: "1.0.0", Complexity: "O(1)",
	Summary: "Answers how many other nodes have what this connection wrote: 0, at once. What was answered is on disk already.",
	Args:    []Arg{{Name: "numreplicas", Type: "integer"}, {Name: "timeout", Type: "integer"}},
	Parse: func(args [][]byte, _ *Limits) (Request, error) {
		if _, ok := parseInt(args[1]); !ok {
			return nil, notInteger("numreplicas", args[1], 0, math.MaxInt64)
		}
		return parseWait(&Wait{}, args[2])
	},
}

var waitAOF = Command{
	Name: "waitaof", Arity: 4, Flags: []string{"noscript"},
	Categories: []string{"@slow", "@connection"},
	Group:      "generic", Since: "1.0.0", Complexity: "O(1)",
	Summary: "Answers on how many disks is what this connection wrote: 1 here and 0 elsewhere, at once.",
	Args:    []Arg{{Name: "numlocal", Type: "integer"}, {Name: "numreplicas", Type: "integer"}, {Name: "timeout", Type: "integer"}},
	Parse: func(args [][]byte, _ *Limits) (Request, error) {
		if n, ok := parseInt(args[1]); !ok || n < 0 || n > 1 {
			return nil, Error("ERR value is out of range, must be between 0 and 1")
		}
		if n, ok := parseInt(args[2]); !ok || n < 0 {
			return nil, Error("ERR value is out of range, must be positive")
		}
		return parseWait(&Wait{Local: true}, args[3])
	},
}

// parseWait checks the time-out, for which there is no use: nothing is waited for.
func parseWait(r *Wait, timeout []byte) (Request, error) {
	switch ms, ok := parseInt(timeout); {
	case !ok:
		return nil, Error("ERR timeout is not an integer or out of range")
	case ms < 0:
		return nil, Error("ERR timeout is negative")
	}
	return r, nil
}

var (
	readOnly  = readOnlyRow("readonly", "Accepted, without effect: for clients of a Redis Cluster.")
	readWrite = readOnlyRow("readwrite", "Accepted, without effect: for clients of a Redis Cluster.")
)

func readOnlyRow(name, summary string) Command {
	return Command{
		Name: name, Arity: 1, Flags: []string{"loading", "stale", "fast"},
		Categories: []string{"@fast", "@connection"},
		Group:      "cluster", Since: "1.0.0", Complexity: "O(1)",
		Summary: summary,
		Parse:   func([][]byte, *Limits) (Request, error) { return &ReadOnly{}, nil },
	}
}
