package commands

// The requests of transactions. The server queues what stands between MULTI and EXEC,
// and hands it over as one Transaction.
type (
	Multi   struct{}
	Exec    struct{}
	Discard struct{}
	Watch   struct{}
	Unwatch struct{}

	// Transaction takes effect as a whole or not at all. Its pops do not wait.
	Transaction struct{ Commands []Queued }

	// Queued is a command of a transaction.
	Queued struct {
		Name    string  // of its row
		Request Request // nil = the server answers it
		Reply   Reply   // then: what it answers, nil = that will be known later
	}

	// Results is the answer to a Transaction: one for each command, in order.
	Results []Reply
)

func (*Multi) isRequest()       {}
func (*Exec) isRequest()        {}
func (*Discard) isRequest()     {}
func (*Watch) isRequest()       {}
func (*Unwatch) isRequest()     {}
func (*Transaction) isRequest() {}

func (r Results) WriteReply(w Writer) { Array(r).WriteReply(w) }

// Bounds of a transaction; beyond them a command is refused when it is queued.
const (
	MaxQueued      = 4096     // commands
	MaxQueuedBytes = 16 << 20 // as they were sent
)

// The answers around MULTI.
const (
	Queueing         = Status("QUEUED")
	ErrMultiNested   = Error("ERR MULTI calls can not be nested")
	ErrMultiRefused  = Error("ERR MULTI was refused: this command does not run, send EXEC or DISCARD and begin anew")
	ErrExecAborted   = Error("EXECABORT Transaction discarded because of previous errors.")
	ErrExecAlone     = Error("ERR EXEC without MULTI")
	ErrDiscardAlone  = Error("ERR DISCARD without MULTI")
	ErrWatchInMulti  = Error("ERR WATCH inside MULTI is not allowed")
	ErrWatch         = Error("ERR WATCH is not supported: the commands of a MULTI run with nothing between them, and all or none; make them conditional instead (NX, XX, IDEM, tokens)")
	errNotInMulti    = "ERR Command not allowed inside a transaction: %s %s, send it alone"
	reasonReadsMuch  = "may read a lot"
	reasonInSlices   = "works in slices, each of which is whole by itself"
	reasonOwnTime    = "changes the time that the transaction runs at"
	reasonEnds       = "ends the server"
	reasonOneReply   = "would tear the answer of EXEC"
	errQueuedTooMany = "TOOBIG a transaction has at most %d commands: it is discarded, send it in parts"
	errQueuedTooBig  = "TOOBIG a transaction has at most %d bytes: it is discarded, send it in parts"
)

// ExecAborted is the answer to an EXEC that is itself not well formed.
func ExecAborted(err error) Error {
	text := err.Error()
	if len(text) > 4 && text[:4] == "ERR " {
		text = text[4:]
	}
	return Error("EXECABORT Transaction discarded because of: " + text)
}

// CheckQueued refuses what cannot be part of a transaction, or makes it one command
// too many; n and bytes are with it.
func CheckQueued(row *Command, request Request, n, bytes int) error {
	if why := notInMulti(row, request); why != "" {
		return errf(errNotInMulti, row.Name, why)
	}
	if n > MaxQueued {
		return errf(errQueuedTooMany, MaxQueued)
	}
	if bytes > MaxQueuedBytes {
		return errf(errQueuedTooBig, MaxQueuedBytes)
	}
	return nil
}

func notInMulti(row *Command, request Request) string {
	switch r := request.(type) {
	case *Stats:
		if r.Queue == nil {
			return "of all queues " + reasonReadsMuch
		}
	case *Clock:
		if r.Accept {
			return "ACCEPT " + reasonOwnTime
		}
	case *Requeue:
		if r.IDs == nil {
			return "ALL " + reasonInSlices
		}
	case *Backup:
		return reasonReadsMuch
	case *Client:
		if r.Sub == "reply" {
			return reasonOneReply
		}
	case *Hello:
		if r.Proto != 0 {
			return "with a version " + reasonOneReply
		}
	}
	switch {
	case !row.Has("no_multi"):
		return ""
	case row.Has("write"):
		return reasonInSlices
	case row.Has("admin"):
		return reasonEnds
	}
	return reasonReadsMuch
}

// DeliveriesIn returns the jobs that a reply hands out, pop by pop; nil = none.
func DeliveriesIn(r Reply) (all []*Deliveries) {
	switch r := r.(type) {
	case *Deliveries:
		return []*Deliveries{r}
	case Results:
		for _, one := range r {
			if d, ok := one.(*Deliveries); ok {
				all = append(all, d)
			}
		}
	}
	return all
}

var multi = Command{
	Name: "multi", Arity: 1, Flags: []string{"noscript", "loading", "stale", "fast", "allow_busy"},
	Categories: []string{"@fast", "@transaction"},
	Group:      "transactions", Since: "1.0.0", Complexity: "O(1)",
	Summary: "Starts a transaction: the commands behind it are queued until EXEC.",
	Syntax:  "MULTI",
	Replies: []string{"OK; then `QUEUED` to each command, until EXEC or DISCARD"},
	Notes: "A command that is refused when it is queued makes EXEC discard all; so does a MULTI that is itself refused, by a wrong number of arguments or before AUTH: nothing of what follows it runs. " +
		"Refused are those that read a lot (DQPEEK, DQRANGE, DQCOUNT, DQSCAN, DQQUEUES, DQDEAD, SCAN, DQSTATS without a queue), those that work in slices (DQPURGE, DQDROP, DQRELEASE, DQREQUEUE ALL), " +
		"SHUTDOWN, DQCLOCK ACCEPT, CLIENT REPLY and HELLO with a version. A transaction has at most 4,096 commands and 16 MiB.",
	Errors: []string{
		"ERR: MULTI inside MULTI; the transaction goes on",
		"TOOBIG: answers the command that is one too many",
	},
	Resend: "Clients send MULTI, the commands and EXEC again together: see EXEC.",
	Example: `
> DQADD mail m1 "Hello Ann" DELAY 1h
"m1"
> MULTI
OK
> DQCANCEL mail m1
QUEUED
> DQADD mail m2 "Hello Bob"
QUEUED
> EXEC
1) (integer) 1
2) "m2"
`,
	Parse: func([][]byte, *Limits) (Request, error) { return &Multi{}, nil },
}

var exec = Command{
	Name: "exec", Arity: 1, Flags: []string{"noscript", "loading", "stale", "skip_slowlog"},
	Categories: []string{"@slow", "@transaction"},
	Group:      "transactions", Since: "1.0.0", Complexity: "O(1) and that of the commands",
	Summary: "Runs the queued commands at one moment, each on what those before it leave, all or none.",
	Syntax:  "EXEC",
	Replies: []string{"an array of their replies, in order"},
	Notes: "It is one entry of the log: no other command runs between them, and after a crash all of them have taken effect, or none. A DQ command that would be answered with an error discards all; null, 0 and other codes are no errors. " +
		"BLOCK does not block. The server's own commands, such as CLIENT SETNAME, take effect behind the DQ commands, and their errors discard nothing. The replies have at most 16 MiB of payloads, and 64 MiB are written.",
	Errors: []string{
		"EXECABORT: nothing happened; the text names the command and its error, unless one was refused when it was queued",
		"ERR: there is no MULTI",
	},
	Resend: "The commands run again, each as if it was sent again alone. Make them conditional (NX, XX, IDEM, tokens), so that the second time does no harm, or is discarded as a whole.",
	Example: `
> DQADD mail m1 "Hello Ann" DELAY 1h
"m1"
> MULTI
OK
> DQADD mail m2 "Hello Bob" DELAY 1h
QUEUED
> DQADD mail m1 "Hello again"
QUEUED
> EXEC
(error) EXECABORT Transaction discarded: command 2 (dqadd): DUPID id "m1" is live: state delayed, due ... ms, accepted ... ms ago; nothing was changed
> DQLEN mail
(integer) 1
`,
	Parse: func([][]byte, *Limits) (Request, error) { return &Exec{}, nil },
}

var discard = Command{
	Name: "discard", Arity: 1, Flags: []string{"noscript", "loading", "stale", "fast", "allow_busy"},
	Categories: []string{"@fast", "@transaction"},
	Group:      "transactions", Since: "1.0.0", Complexity: "O(1)",
	Summary: "Ends a transaction: the queued commands do not run.",
	Syntax:  "DISCARD",
	Replies: []string{"OK"},
	Errors:  []string{"ERR: there is no MULTI"},
	Resend:  "Refused, as the transaction ended with the connection: harmless.",
	Example: `
> MULTI
OK
> DQADD mail m1 "Hello Ann"
QUEUED
> DISCARD
OK
> DQLEN mail
(integer) 0
`,
	Parse: func([][]byte, *Limits) (Request, error) { return &Discard{}, nil },
}

var watch = Command{
	Name: "watch", Arity: -2, Flags: []string{"noscript", "loading", "stale", "fast", "allow_busy"},
	FirstKey: 1, LastKey: 1, Step: 1,
	Categories: []string{"@fast", "@transaction"},
	Group:      "transactions", Since: "1.0.0", Complexity: "O(1)",
	Summary: "Refused: conditions of the commands (NX, XX, IDEM, tokens) take its place.",
	Args:    []Arg{{Name: "key", Type: "key", Multiple: true}},
	Parse:   func([][]byte, *Limits) (Request, error) { return &Watch{}, nil },
}

var unwatch = Command{
	Name: "unwatch", Arity: 1, Flags: []string{"noscript", "loading", "stale", "fast", "allow_busy"},
	Categories: []string{"@fast", "@transaction"},
	Group:      "transactions", Since: "1.0.0", Complexity: "O(1)",
	Summary: "Answers OK: nothing is watched.",
	Parse:   func([][]byte, *Limits) (Request, error) { return &Unwatch{}, nil },
}
