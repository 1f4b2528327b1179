package commands

import "strconv"

type (
	// Backup is DQBACKUP, which the server answers itself.
	Backup struct{ Cursor uint64 }
	// BackupPart is its reply.
	BackupPart struct {
		Cursor uint64 // 0 = it is the last part
		Bytes  []byte
	}
)

func (*Backup) isRequest() {}

func (p *BackupPart) WriteReply(w Writer) {
	w.Array(2)
	w.BulkString(strconv.FormatUint(p.Cursor, 10))
	w.Bulk(p.Bytes)
}

var dqbackup = Command{
	Name: "dqbackup", Arity: 2, Flags: []string{"readonly", "admin", "noscript", "no_multi"},
	Categories: []string{"@read", "@admin", "@slow", "@dangerous", "@dq-admin"},
	Group:      "delay", Since: "1.0.0", Complexity: "O(N) for all calls of a backup, with N the bytes of the store",
	Summary: "Hands out a backup, a part at a time: it is what `dqd backup` sends.",
	Syntax:  "DQBACKUP cursor",
	Args:    []Arg{argCursor},
	Replies: []string{"an array `[cursor, part]`: the cursor for the next call, as a string, `0` with the last part; and the bytes of the part, about 1 MiB, or more where a job is larger"},
	Errors: []string{
		"BUSY: another connection has a backup at work",
		"LOADING: the server is still loading: nothing was done",
	},
	Notes: "All parts behind each other are the file that `dqd restore` takes; `raftfsm/archive` describes it. Cursor `0` begins a backup of all that was acknowledged by then: live and dead jobs, queues with settings, pauses and counters, the memory of `IDEM`. What happens meanwhile is not in it.\n\n" +
		"A backup belongs to its connection and ends with it, with another `0`, and when nobody has asked for a minute. While it is at work the store keeps what is deleted or replaced, at most once the size that it had at the beginning.",
	Resend: "With cursor `0` begins anew; with another one is refused.",
	Example: `
> DQADD mail m1 "Hello Ann" DELAY 15m
"m1"
> DQBACKUP 0
1) "0"
2) ...
`,
	Parse: parseBackup,
}

func parseBackup(args [][]byte, _ *Limits) (Request, error) {
	at, err := parseCursor(args[1])
	if err != nil {
		return nil, err
	}
	return &Backup{Cursor: at}, nil
}
