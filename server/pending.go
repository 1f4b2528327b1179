package server

import (
	"time"

	"dqd/commands"
	"dqd/server/shard"
)

// entry is one command of a connection that is not answered yet.
type entry struct {
	call  *shard.Call    // at the shard; nil for a command that the server answers
	reply commands.Reply // of such a command
	row   *rowCounters   // what counts it; nil = not counted
	args  [][]byte       // for the slow log; nil for the simplest commands, which are not measured
	bytes int            // of the request, which stay in use
	begun time.Duration  // when a call went to the shard, on the server's clock
	took  time.Duration  // of a command that the server answers; the simplest are not measured
	bad   bool           // refused before anything was tried
	done  bool           // may be encoded once it is first
	last  bool           // the connection ends with this reply
	mute  bool           // CLIENT REPLY OFF: the reply is thrown away
	block bool           // a pop that may wait
	alone bool           // nothing behind it is parsed before it is answered
	multi *transaction   // of an EXEC
	held  bool           // the shard has answered, local commands of multi must run
}

// answer returns the reply of a done entry.
func (e *entry) answer() commands.Reply {
	if e.call != nil {
		return e.call.Reply
	}
	return e.reply
}

// pending are the unanswered commands of a connection in the order in which they
// came, which is the order of their replies.
//
//	head ≤ next ≤ len: [head, next) may be encoded, next waits for the shard.
type pending struct {
	entries    []entry
	head, next int
	bytes      int
	blocked    bool // there is a pop that may wait (then it is the last entry)
}

// pendingKeep is the capacity that an idle connection keeps.
const pendingKeep = 32

func (p *pending) empty() bool { return p.head == len(p.entries) }
func (p *pending) len() int    { return len(p.entries) - p.head }

// push appends an entry.
func (p *pending) push(e entry) {
	p.entries = append(p.entries, e)
	p.bytes += e.bytes
	p.blocked = p.blocked || e.block
	p.advance()
}

// deliver marks the next call as answered; false = it is another one.
func (p *pending) deliver(c *shard.Call) bool {
	if p.next == len(p.entries) || p.entries[p.next].call != c {
		return false
	}
	e := &p.entries[p.next]
	e.held = e.multi != nil && len(e.multi.later) > 0
	e.done = !e.held
	p.advance()
	return true
}

// held reports that the next entry is an EXEC that the shard has answered and that
// local commands still belong to.
func (p *pending) held() bool { return p.next < len(p.entries) && p.entries[p.next].held }

// letGo lets a held entry be encoded.
func (p *pending) letGo() {
	if p.held() {
		p.entries[p.next].held, p.entries[p.next].done = false, true
		p.advance()
	}
}

func (p *pending) advance() {
	for p.next < len(p.entries) && p.entries[p.next].done {
		p.next++
	}
}

// pop removes the first entry if it may be encoded.
func (p *pending) pop() (e entry, ok bool) {
	if p.head == p.next {
		return entry{}, false
	}
	e = p.entries[p.head]
	p.entries[p.head] = entry{} // let go of the request
	p.head++
	p.bytes -= e.bytes
	if e.block {
		p.blocked = false
	}
	switch {
	case p.head == len(p.entries):
		p.entries, p.head, p.next = p.entries[:0], 0, 0
		if cap(p.entries) > pendingKeep {
			p.entries = nil
		}
	case p.head >= 1024 && p.head > len(p.entries)/2:
		n := copy(p.entries, p.entries[p.head:])
		clear(p.entries[n:])
		p.entries, p.next, p.head = p.entries[:n], p.next-p.head, 0
	}
	return e, true
}
