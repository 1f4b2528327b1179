package server

import (
	"fmt"
	"strings"
	"testing"

	"dqd/commands"
)

// transaction makes the fake shard answer each job command with 0, pops with what is there.
func (f *fakeShard) transaction(t *commands.Transaction) commands.Reply {
	results := make(commands.Results, len(t.Commands))
	for i, q := range t.Commands {
		switch r := q.Request.(type) {
		case nil:
			results[i] = q.Reply
		case *commands.Pop:
			results[i] = f.pop(r)
		case *commands.Add:
			if string(r.Job.ID) == "refused" {
				return commands.Error("EXECABORT Transaction discarded: DUPID")
			}
			results[i] = commands.Bulk(r.Job.ID)
		default:
			results[i] = commands.Int(0)
		}
	}
	return results
}

// A transaction is one call. The server's own commands run when it has taken effect, and
// what stands behind EXEC comes behind its answer.
func TestTransactionIsOneCall(t *testing.T) {
	both(t, Options{}, func(r *rig) {
		c := r.client()
		c.send("MULTI\r\nDQLEN q\r\nPING\r\nCLIENT SETNAME a\r\nDQLEN q\r\nCLIENT GETNAME\r\nEXEC\r\nCLIENT GETNAME\r\nDQLEN q\r\n")
		c.expect("+OK\r\n" + strings.Repeat("+QUEUED\r\n", 5) + "*5\r\n:0\r\n+PONG\r\n+OK\r\n:0\r\n$1\r\na\r\n$1\r\na\r\n:0\r\n")
		if n, _, _, _ := r.sh.counts(); n != 2 {
			r.t.Error(n, "calls")
		}
		c.send("MULTI\r\nDQADD q refused x\r\nCLIENT SETNAME b\r\nEXEC\r\nCLIENT GETNAME\r\n")
		c.expect("+OK\r\n+QUEUED\r\n+QUEUED\r\n-EXECABORT Transaction discarded: DUPID\r\n$1\r\na\r\n")
		// While the shard has not answered, and nothing more comes in.
		r.sh.setHold(true)
		c.send("MULTI\r\nDQLEN q\r\nCLIENT GETNAME\r\nEXEC\r\n")
		c.expect("+OK\r\n+QUEUED\r\n+QUEUED\r\n")
		until(r.t, "submitted", func() bool { n, _, _, _ := r.sh.counts(); return n == 4 })
		r.sh.setHold(false)
		c.expect("*2\r\n:0\r\n$1\r\na\r\n")
		// Half closed, with local commands still to run.
		c = r.client()
		c.send("MULTI\r\nCLIENT ID\r\nDQLEN q\r\nEXEC\r\nQUIT\r\n")
		c.expect("+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:2\r\n:0\r\n+OK\r\n")
		c.expectClosed()
		// Each command is counted when it runs.
		var got [3]int64
		for i, name := range []string{"dqlen", "ping", "exec"} {
			got[i] = r.rows[commands.Lookup([]byte(name))].outcomes[outcomeOK].Load()
		}
		if got != [3]int64{5, 1, 3} {
			r.t.Error(got)
		}
	})
}

// Jobs of an EXEC that the client does not get go back, also while its local commands
// have not run.
func TestTransactionUndelivered(t *testing.T) {
	for _, local := range []string{"PING", "CLIENT ID"} {
		both(t, Options{}, func(r *rig) {
			c, admin := r.client(), r.client()
			c.ask("CLIENT ID", ":1\r\n")
			c.ask("DQADD q a x", "$1\r\na\r\n")
			r.sh.setHold(true)
			c.send("MULTI\r\n" + local + "\r\nDQPOP q BLOCK 20s\r\nEXEC\r\n")
			c.expect("+OK\r\n+QUEUED\r\n+QUEUED\r\n")
			until(r.t, "submitted", func() bool { n, _, _, _ := r.sh.counts(); return n == 2 })
			admin.ask("CLIENT KILL ID 1", ":1\r\n")
			until(r.t, "gone", func() bool { _, _, _, gone := r.sh.counts(); return gone > 0 })
			r.sh.setHold(false)
			until(r.t, "given back", func() bool { _, _, lost, _ := r.sh.counts(); return lost == 1 })
			r.sh.mu.Lock()
			defer r.sh.mu.Unlock()
			if d := commands.DeliveriesIn(r.sh.lost[0].Reply); len(d) != 1 || string(d[0].Jobs[0].Payload) != "x" {
				r.t.Error(d)
			}
		})
	}
}

// 4,096 commands and 16 MiB fit; one command or byte more is refused, and all with it.
func TestTransactionLimits(t *testing.T) {
	r := newRig(t, Options{}, true)
	for _, over := range []int{-1, 0, 1} {
		c := r.client()
		n := commands.MaxQueued + over
		c.sends("MULTI\r\n" + strings.Repeat("DQLEN q\r\n", n) + "EXEC\r\n")
		c.expect("+OK\r\n" + strings.Repeat("+QUEUED\r\n", min(n, commands.MaxQueued)))
		if over > 0 {
			c.expect("-TOOBIG a transaction has at most 4096 commands: it is discarded, send it in parts\r\n-" + string(commands.ErrExecAborted) + "\r\n")
		} else {
			c.expect(fmt.Sprintf("*%d\r\n", n) + strings.Repeat(":0\r\n", n))
		}

		c = r.client()
		left := commands.MaxQueuedBytes + over
		var all strings.Builder
		for i := 17; i > 0; i-- {
			size := left / i
			frame := len(respCommand("ECHO", strings.Repeat("x", 900_000))) - 900_000
			cmd := respCommand("ECHO", strings.Repeat("x", size-frame))
			left -= len(cmd)
			all.WriteString(cmd)
		}
		if left != 0 {
			t.Fatal(left, "bytes are left")
		}
		c.sends("MULTI\r\n" + all.String() + "EXEC\r\n")
		c.expect("+OK\r\n" + strings.Repeat("+QUEUED\r\n", 16))
		if over > 0 {
			c.expect("-TOOBIG a transaction has at most 16777216 bytes: it is discarded, send it in parts\r\n-" + string(commands.ErrExecAborted) + "\r\n")
		} else {
			c.expect("+QUEUED\r\n*17\r\n$9")
		}
		c.Close()
	}
}

// What is queued is charged to its client, and let go of with it.
func TestTransactionIsCharged(t *testing.T) {
	r := newRig(t, Options{}, true)
	c := r.client()
	c.ask("MULTI", "+OK\r\n")
	for range 4 {
		c.send(respCommand("DQADD", "q", "a", strings.Repeat("x", 900_000)))
		c.expect("+QUEUED\r\n")
	}
	admin := r.client()
	admin.send("CLIENT LIST\r\n")
	if list := admin.bulk(); !strings.Contains(list, " flags=x ") || !strings.Contains(list, " multi=4 ") || !strings.Contains(list, " multi=-1 ") {
		t.Error(list)
	}
	until(t, "charged", func() bool { return r.budget.used.Load() > 3_600_000 })
	c.ask("DISCARD", "+OK\r\n")
	c.ask("PING", "+PONG\r\n")
	until(t, "let go", func() bool { return r.budget.used.Load() < 2_000_000 })
}

// A shard that is not there yet: EXEC waits for it like any command.
func TestTransactionWhileLoading(t *testing.T) {
	r := newRig(t, Options{Dir: "loading"}, true)
	c := r.client()
	c.send("MULTI\r\nDQLEN q\r\nEXEC\r\n")
	c.expect("+OK\r\n+QUEUED\r\n")
	r.Attach(r.sh)
	c.expect("*1\r\n:0\r\n")
}
