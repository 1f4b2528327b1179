package commands

// To the tools of Redis a queue is a key of the type dqueue.

// KeyType is what TYPE answers for a queue.
const KeyType = "dqueue"

type (
	// DBSize is DBSIZE.
	DBSize struct{}
	// Exists is EXISTS.
	Exists struct{ Keys [][]byte }
	// Type is TYPE.
	Type struct{ Key []byte }
)

func (*DBSize) isRequest() {}
func (*Exists) isRequest() {}
func (*Type) isRequest()   {}

var dbsize = Command{
	Name: "dbsize", Arity: 1, Flags: []string{"readonly", "fast"},
	Categories: []string{"@keyspace", "@read", "@fast"},
	Group:      "server", Since: "1.0.0", Complexity: "O(1)",
	Summary: "Counts the queues.",
	Parse:   func([][]byte, *Limits) (Request, error) { return &DBSize{}, nil },
}

var exists = Command{
	Name: "exists", Arity: -2, Flags: []string{"readonly", "fast"},
	FirstKey: 1, LastKey: -1, Step: 1,
	Categories: []string{"@keyspace", "@read", "@fast"},
	Group:      "generic", Since: "1.0.0", Complexity: "O(M) with M names",
	Summary: "Counts how many of the names, up to 10000, are those of queues.",
	Args:    []Arg{{Name: "key", Type: "key", Multiple: true}},
	Parse: func(args [][]byte, lim *Limits) (Request, error) {
		if n := len(args) - 1; n > lim.MaxIDs {
			return nil, errf("ERR %d names in one command, the limit is %d: send several commands", n, lim.MaxIDs)
		}
		return &Exists{Keys: args[1:]}, nil
	},
}

var typeOf = Command{
	Name: "type", Arity: 2, Flags: []string{"readonly", "fast"},
	FirstKey: 1, LastKey: 1, Step: 1,
	Categories: []string{"@keyspace", "@read", "@fast"},
	Group:      "generic", Since: "1.0.0", Complexity: "O(1)",
	Summary: "Answers dqueue for a queue, else none.",
	Args:    []Arg{{Name: "key", Type: "key"}},
	Parse:   func(args [][]byte, _ *Limits) (Request, error) { return &Type{Key: args[1]}, nil },
}

var scan = Command{
	Name: "scan", Arity: -2, Flags: []string{"readonly", "no_multi"},
	Categories: []string{"@keyspace", "@read", "@slow"},
	Group:      "generic", Since: "1.0.0", Complexity: "O(log Q + M) a call with M queues looked at and Q queues in all",
	Summary: "Walks over all queues as DQQUEUES does; COUNT is 10 if left out.",
	Args: []Arg{
		argCursor,
		argMatch("names"),
		argListCount("names"),
		{Name: "type", Type: "string", Token: "TYPE", Optional: true},
	},
	Parse: parseKeyScan,
}

var keyScanOptions = []option{
	{"match", groupMatch, true},
	{"count", groupCount, true},
	{"type", groupType, true},
}

func parseKeyScan(args [][]byte, lim *Limits) (Request, error) {
	return parseQueueWalk(args, lim, keyScanOptions, 10)
}
