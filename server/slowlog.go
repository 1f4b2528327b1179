package server

import (
	"sync"
	"time"

	"dqd/commands"
)

// slowLogMost is the most entries that the slow log can be told to keep.
const slowLogMost = 10_000

// slowLog keeps the latest commands that took long. It shows no more of them
// than Command.Logged lets through.
type slowLog struct {
	mu      sync.Mutex
	limit   int
	id      int64
	entries []slowEntry // a ring: the newest stands before next
	next    int
}

type slowEntry struct {
	id         int64
	at         int64 // Unix seconds
	took       time.Duration
	args       []string
	peer, name string
}

// setLimit keeps the newest of what there is.
func (l *slowLog) setLimit(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n != l.limit {
		kept := l.newest(n)
		l.entries = make([]slowEntry, 0, len(kept))
		for i := len(kept) - 1; i >= 0; i-- {
			l.entries = append(l.entries, kept[i])
		}
		l.limit, l.next = n, len(l.entries)
	}
}

func (l *slowLog) add(e slowEntry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.id = l.id
	l.id++
	switch {
	case l.limit == 0:
	case len(l.entries) < l.limit:
		l.entries = append(l.entries, e)
		l.next = len(l.entries)
	default:
		l.next %= l.limit
		l.entries[l.next] = e
		l.next++
	}
}

// newest returns n entries or all, the newest first. Called with mu held.
func (l *slowLog) newest(n int) []slowEntry {
	n = min(n, len(l.entries))
	list := make([]slowEntry, n)
	for i := range list {
		list[i] = l.entries[(l.next-1-i+2*len(l.entries))%len(l.entries)]
	}
	return list
}

func (l *slowLog) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.entries)
}

func (l *slowLog) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries, l.next = nil, 0
}

// slowlog is SLOWLOG.
func (s *Server) slowlog(r *commands.SlowLog) commands.Reply {
	switch r.Sub {
	case "len":
		return commands.Int(s.slow.len())
	case "reset":
		s.slow.reset()
		return commands.OK
	case "get":
		n := int64(slowLogMost)
		if r.Count >= 0 {
			n = min(n, r.Count)
		}
		s.slow.mu.Lock()
		list := s.slow.newest(int(n))
		s.slow.mu.Unlock()
		reply := commands.Array{}
		for _, e := range list {
			args := commands.Array{}
			for _, a := range e.args {
				args = append(args, commands.Bulk(a))
			}
			reply = append(reply, commands.Array{
				commands.Int(e.id), commands.Int(e.at), commands.Int(e.took / time.Microsecond), args, commands.Bulk(e.peer), commands.Bulk(e.name),
			})
		}
		return reply
	}
	panic("server: no SLOWLOG " + r.Sub)
}
