package commands

// Multi, Exec and Discard are the requests of transactions. They are not built
// yet: the server refuses MULTI. It must then also refuse, and never run, what
// follows until EXEC or DISCARD, because clients send MULTI, the commands and
// EXEC in one write, and repeat them all when MULTI was refused. EXEC and
// DISCARD end that state; EXEC answers EXECABORT, DISCARD answers OK.
// Without a MULTI before they are errors, as in Redis (ErrExecAlone, ErrDiscardAlone).
type (
	Multi   struct{}
	Exec    struct{}
	Discard struct{}
)

func (*Multi) isRequest()   {}
func (*Exec) isRequest()    {}
func (*Discard) isRequest() {}

// The answers around a refused MULTI.
const (
	ErrMulti        = Error("ERR MULTI is not supported yet: nothing runs until EXEC or DISCARD, send the commands without it")
	ErrInMulti      = Error("ERR MULTI was refused: this command does not run")
	ErrExecAborted  = Error("EXECABORT Transaction discarded because of previous errors.")
	ErrExecAlone    = Error("ERR EXEC without MULTI")
	ErrDiscardAlone = Error("ERR DISCARD without MULTI")
)

var multi = Command{
	Name: "multi", Arity: 1, Flags: []string{"noscript", "loading", "stale", "fast", "allow_busy"},
	Categories: []string{"@fast", "@transaction"},
	Group:      "transactions", Since: "1.0.0", Complexity: "O(1)",
	Summary: "Starts a transaction.",
	Replies: []string{"an error: transactions are not there yet. Nothing runs then until EXEC, which answers EXECABORT, or DISCARD"},
	Parse:   func([][]byte, *Limits) (Request, error) { return &Multi{}, nil },
}

var exec = Command{
	Name: "exec", Arity: 1, Flags: []string{"noscript", "loading", "stale", "skip_slowlog"},
	Categories: []string{"@slow", "@transaction"},
	Group:      "transactions", Since: "1.0.0", Complexity: "O(1)",
	Summary: "Executes a transaction.",
	Parse:   func([][]byte, *Limits) (Request, error) { return &Exec{}, nil },
}

var discard = Command{
	Name: "discard", Arity: 1, Flags: []string{"noscript", "loading", "stale", "fast", "allow_busy"},
	Categories: []string{"@fast", "@transaction"},
	Group:      "transactions", Since: "1.0.0", Complexity: "O(1)",
	Summary: "Discards a transaction.",
	Parse:   func([][]byte, *Limits) (Request, error) { return &Discard{}, nil },
}
