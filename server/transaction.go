package server

import (
	"dqd/commands"
	"dqd/server/shard"
)

// transaction is what a connection has queued since MULTI. The job commands go to the
// shard with EXEC, as one call. The commands that the server answers itself are answered
// then: at once where nothing bears upon them, else when the shard's part has taken effect.
type transaction struct {
	queued  commands.Transaction
	rows    []*rowCounters // of the commands
	local   []localCommand // of the server's own
	later   []localCommand // of these, at EXEC: those that run behind the shard's part
	jobs    bool           // there are job commands
	refused bool           // MULTI itself was, and what follows is too
	aborted bool           // nothing of it will run
	bytes   int            // of the commands
}

// localCommand is the server's own command of a transaction, with its place there.
type localCommand struct {
	index   int
	request commands.Request
}

// size returns the bytes that the transaction holds.
func (t *transaction) size() int {
	if t == nil {
		return 0
	}
	return t.bytes
}

// len returns the number of queued commands; -1 = there is no MULTI.
func (t *transaction) len() int {
	if t == nil {
		return -1
	}
	return len(t.rows)
}

// count counts the answers of a transaction that took place.
func (t *transaction) count(r commands.Reply) {
	if results, ok := r.(commands.Results); ok && t != nil {
		for i, one := range results {
			t.rows[i].count(one)
		}
	}
}

// inMulti takes a command behind MULTI. Clients send MULTI, the commands and EXEC in one
// write, and repeat them all when something was refused: nothing of a refused transaction
// may ever run.
func (c *conn) inMulti(row *commands.Command, request commands.Request, args [][]byte, err error) (need waitFor, stop bool) {
	t := c.multi
	if err == nil {
		switch request.(type) {
		case *commands.Exec:
			return c.exec(row)
		case *commands.Discard:
			c.multi = nil
			return waitNothing, c.answer(row, commands.OK)
		case *commands.Multi:
			return waitNothing, c.answer(row, commands.ErrMultiNested)
		case *commands.Watch:
			return waitNothing, c.answer(row, commands.ErrWatchInMulti)
		case *commands.Quit, *commands.Reset:
			return c.alone(row, request, args)
		}
		if err = commands.CheckQueued(row, request, len(t.rows)+1, t.bytes+c.frame.Len); err == nil && c.unheard(request) {
			err = errUnheard
		}
	} else if row != nil && row.Name == "exec" {
		return waitNothing, c.refuse(row, c.refusal(row, err))
	}
	switch {
	case err != nil:
		c.multi = &transaction{aborted: true, refused: t.refused} // what it held is let go of
		return waitNothing, c.refuse(row, err.(commands.Error))
	case t.refused:
		return waitNothing, c.answer(row, commands.ErrMultiRefused)
	case !t.aborted:
		c.queue(row, request)
	}
	c.add(entry{reply: commands.Queueing, done: true}) // it is counted when it runs
	return waitNothing, false
}

// refusal is the answer to a command that is not well formed, or not allowed. A MULTI
// that is refused makes what follows refused too, also behind an AUTH: a client that
// pipelines it means all or nothing. To an EXEC the answer is, as in Redis, that
// nothing was executed, and it ends the transaction; so does a DISCARD.
func (c *conn) refusal(row *commands.Command, err error) commands.Error {
	switch {
	case row == nil:
	case row.Name == "multi" && c.multi == nil:
		c.multi = &transaction{refused: true, aborted: true}
	case row.Name == "discard" && !c.authed:
		c.multi = nil
	case row.Name == "exec":
		c.multi = nil
		return commands.ExecAborted(err)
	}
	return err.(commands.Error)
}

// logsIn reports whether a request may log a client in.
func logsIn(request commands.Request) bool {
	switch request.(type) {
	case *commands.Auth, *commands.Hello:
		return true
	}
	return false
}

// queue adds a command to the transaction. It aliases the input, as a call's request does.
func (c *conn) queue(row *commands.Command, request commands.Request) {
	t := c.multi
	c.in.lent, c.argsLent = true, true
	t.bytes += c.frame.Len
	q := commands.Queued{Name: row.Name}
	if answersItself(request) {
		t.local = append(t.local, localCommand{len(t.rows), request})
	} else {
		if pop, ok := request.(*commands.Pop); ok {
			pop.Block = 0
		}
		q.Request, t.jobs = request, true
	}
	t.queued.Commands = append(t.queued.Commands, q)
	t.rows = append(t.rows, c.srv.rows[row])
}

// exec runs the transaction.
func (c *conn) exec(row *commands.Command) (need waitFor, stop bool) {
	t := c.multi
	if t.aborted {
		c.multi = nil
		return waitNothing, c.answer(row, commands.ErrExecAborted)
	}
	if t.jobs && c.srv.shard.Load() == nil {
		return c.loadingFor(row)
	}
	t.later = t.later[:0]
	for _, l := range t.local {
		reply := c.simple(l.request)
		if t.queued.Commands[l.index].Reply = reply; reply == nil {
			t.later = append(t.later, l)
		}
	}
	e := entry{row: c.srv.rows[row], bytes: t.bytes, multi: t}
	if t.jobs {
		e.call = &shard.Call{Request: &t.queued, Client: c, Size: t.bytes}
		e.alone = len(t.later) > 0
	} else {
		if c.commit(); len(t.later) > 0 && !c.ready(waitEmpty) {
			return waitEmpty, false
		}
		results := make(commands.Results, len(t.rows))
		for i := range results {
			results[i] = t.queued.Commands[i].Reply
		}
		c.answerLater(t, results)
		e.reply, e.done = results, true
	}
	c.multi = nil
	c.add(e)
	return waitNothing, false
}

// runLater runs the local commands of an EXEC whose other commands have taken effect, and
// lets its answer go. If they have not, these do not run either.
func (c *conn) runLater() {
	c.mu.Lock()
	e := c.pending.entries[c.pending.next]
	c.mu.Unlock()
	if results, ok := e.call.Reply.(commands.Results); ok {
		c.answerLater(e.multi, results)
	}
	c.mu.Lock()
	c.pending.letGo()
	lost := c.encode()
	c.send()
	c.mu.Unlock()
	c.undelivered(lost)
}

func (c *conn) answerLater(t *transaction, results commands.Results) {
	for _, l := range t.later {
		results[l.index] = c.answerLocal(l.request)
	}
}
