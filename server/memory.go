package server

import (
	"fmt"
	runtimemetrics "runtime/metrics"
	"strings"

	"dqd/commands"
)

// memoryNumbers say what the process takes, in bytes.
type memoryNumbers struct {
	used    int64 // what the Go runtime holds, less what it gave back
	heap    int64 // of it, objects
	peak    int64 // the largest used that was seen
	rss     int64 // what the system counts; used where it does not tell
	machine int64 // what the machine has, 0 where it does not tell
}

func (s *Server) memoryNow() memoryNumbers {
	samples := []runtimemetrics.Sample{
		{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}, {Name: "/memory/classes/heap/objects:bytes"},
	}
	runtimemetrics.Read(samples)
	m := memoryNumbers{
		used: int64(samples[0].Value.Uint64() - samples[1].Value.Uint64()),
		heap: int64(samples[2].Value.Uint64()),
	}
	m.rss, m.machine = systemMemory()
	if m.rss == 0 {
		m.rss = m.used
	}
	for {
		m.peak = s.peak.Load()
		if m.used <= m.peak {
			return m
		}
		s.peak.CompareAndSwap(m.peak, m.used)
	}
}

// memory is MEMORY DOCTOR and MEMORY STATS.
func (s *Server) memory(r *commands.Memory) commands.Reply {
	m := s.memoryNow()
	g := s.gauges()
	jobs := g.Totals.Live() + g.Totals.Dead
	switch r.Sub {
	case "doctor":
		var b strings.Builder
		fmt.Fprintf(&b, "dqd uses %s of the %s that it may (maxmemory), %s of it for clients. ", human(m.used), human(s.opts.Memory), human(s.budget.used.Load()))
		if m.used > s.opts.Memory/10*9 {
			b.WriteString("That is near the limit: raise maxmemory, or see with CLIENT LIST who holds large buffers (tot-mem).\n")
		} else {
			b.WriteString("That is fine. Jobs are kept on disk: their number takes next to no memory.\n")
		}
		return commands.Bulk(b.String())
	case "stats":
		return fields{
			{"peak.allocated", commands.Int(m.peak)},
			{"total.allocated", commands.Int(m.used)},
			{"startup.allocated", commands.Int(0)},
			{"replication.backlog", commands.Int(0)},
			{"clients.slaves", commands.Int(0)},
			{"clients.normal", commands.Int(s.budget.used.Load())},
			{"cluster.links", commands.Int(0)},
			{"aof.buffer", commands.Int(0)},
			{"overhead.total", commands.Int(m.used - m.heap)},
			{"keys.count", commands.Int(g.Queues)},
			{"keys.bytes-per-key", commands.Int(g.Totals.Bytes / max(g.Queues, 1))},
			{"dataset.bytes", commands.Int(m.heap)},
			{"jobs.count", commands.Int(jobs)},
			{"jobs.bytes", commands.Int(g.Totals.Bytes)},
			{"allocator.allocated", commands.Int(m.heap)},
			{"allocator.active", commands.Int(m.used)},
			{"allocator.resident", commands.Int(m.rss)},
		}
	}
	panic("server: no MEMORY " + r.Sub)
}
