package server

import (
	"fmt"
	"net"
	"os"
	"runtime"
	runtimemetrics "runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"dqd/commands"
	"dqd/server/shard"
)

// Clients ask for INFO before anything else and wait for it, some at every
// connect. So it reads counters and gauges only, and answers while loading.

// section is one part of INFO.
type section struct {
	name  string
	write func(s *Server, w *infoWriter)
	extra bool // only when named, or with ALL or EVERYTHING
}

var sections = []section{
	{name: "server", write: (*Server).infoServer},
	{name: "clients", write: (*Server).infoClients},
	{name: "memory", write: (*Server).infoMemory},
	{name: "persistence", write: (*Server).infoPersistence},
	{name: "stats", write: (*Server).infoStats},
	{name: "replication", write: (*Server).infoReplication},
	{name: "cpu", write: (*Server).infoCPU},
	{name: "commandstats", write: (*Server).infoCommandStats, extra: true},
	{name: "cluster", write: (*Server).infoCluster},
	{name: "dqd", write: (*Server).infoDqd},
	{name: "keyspace", write: (*Server).infoKeyspace},
}

// info is INFO. A section that does not exist adds nothing.
func (s *Server) info(r *commands.Info) commands.Reply {
	named := func(name string) bool { return slices.Contains(r.Sections, name) }
	all := named("all") || named("everything")
	usual := len(r.Sections) == 0 || named("default")
	w := &infoWriter{gauges: s.gauges()}
	for _, part := range sections {
		if all || named(part.name) || usual && !part.extra {
			if w.Len() > 0 {
				w.WriteString("\r\n")
			}
			w.WriteString("# " + strings.ToUpper(part.name[:1]) + part.name[1:] + "\r\n")
			part.write(s, w)
		}
	}
	return commands.Bulk(w.String())
}

// infoWriter collects the lines. All sections see the same gauges.
type infoWriter struct {
	strings.Builder
	gauges *shard.Gauges
}

func (w *infoWriter) set(name string, value any) { fmt.Fprintf(w, "%s:%v\r\n", name, value) }

func (s *Server) infoServer(w *infoWriter) {
	up := int64(time.Since(s.started) / time.Second)
	w.set("redis_version", compatVersion)
	w.set("dqd_version", s.opts.Version)
	w.set("redis_mode", "standalone")
	w.set("os", runtime.GOOS)
	w.set("arch_bits", strconv.IntSize)
	w.set("go_version", runtime.Version())
	w.set("process_id", os.Getpid())
	w.set("run_id", s.runID)
	w.set("tcp_port", s.port())
	w.set("server_time_usec", s.opts.Wall()/1000)
	w.set("uptime_in_seconds", up)
	w.set("uptime_in_days", up/86400)
	w.set("config_file", s.opts.ConfigFile)
}

// port is that of the first TCP listener, 0 if there is none.
func (s *Server) port() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.listeners {
		if addr, ok := l.Addr().(*net.TCPAddr); ok {
			return addr.Port
		}
	}
	return 0
}

func (s *Server) infoClients(w *infoWriter) {
	w.set("connected_clients", s.connected())
	w.set("maxclients", s.opts.MaxClients)
	w.set("client_buffers", s.budget.used.Load())
	w.set("client_buffers_max", s.budget.limit)
	w.set("blocked_clients", s.counters.blocked.Load())
}

func (s *Server) infoMemory(w *infoWriter) {
	used := usedMemory()
	w.set("used_memory", used)
	w.set("used_memory_human", human(used))
	w.set("used_memory_rss", used)
	w.set("maxmemory", s.opts.Memory)
	w.set("maxmemory_human", human(s.opts.Memory))
	w.set("maxmemory_policy", "noeviction")
}

func (s *Server) infoPersistence(w *infoWriter) {
	w.set("loading", bit(!w.gauges.Leading))
	w.set("aof_enabled", 1)
	w.set("aof_rewrite_in_progress", 0)
	w.set("rdb_bgsave_in_progress", 0)
	w.set("durability", "fsync")
}

func (s *Server) infoStats(w *infoWriter) {
	c := &s.counters
	w.set("total_connections_received", c.connections.Load())
	w.set("total_commands_processed", c.commands.Load())
	w.set("instantaneous_ops_per_sec", s.rate.read(c.commands.Load(), time.Now()))
	var rejected int64
	for i := range c.rejected {
		rejected += c.rejected[i].Load()
	}
	w.set("rejected_connections", rejected)
	for i := range c.closed {
		w.set("closed_"+strings.ReplaceAll(closeReason(i).String(), "-", "_"), c.closed[i].Load())
	}
	w.set("protocol_errors", c.protocolErrors.Load())
	w.set("auth_failures", c.authFailures.Load())
	w.set("accept_errors", c.acceptErrors.Load())
	w.set("internal_errors", c.panics.Load())
}

func (s *Server) infoReplication(w *infoWriter) {
	w.set("role", "master")
	w.set("connected_slaves", 0)
	w.set("master_replid", s.runID)
	w.set("master_repl_offset", 0)
}

func (s *Server) infoCPU(w *infoWriter) {
	user, sys := cpuTime()
	w.set("used_cpu_sys", fmt.Sprintf("%.6f", sys.Seconds()))
	w.set("used_cpu_user", fmt.Sprintf("%.6f", user.Seconds()))
}

func (s *Server) infoCommandStats(w *infoWriter) {
	for _, row := range s.sortedRows() {
		calls, failed := row.totals()
		if calls > 0 {
			w.set("cmdstat_"+row.name, fmt.Sprintf("calls=%d,failed_calls=%d", calls, failed))
		}
	}
}

func (s *Server) infoCluster(w *infoWriter) { w.set("cluster_enabled", 0) }

func (s *Server) infoDqd(w *infoWriter) {
	g := w.gauges
	w.set("queues", g.Queues)
	w.set("jobs_delayed", g.Totals.Delayed)
	w.set("jobs_ready", g.Totals.Ready)
	w.set("jobs_leased", g.Totals.Leased)
	w.set("jobs_dead", g.Totals.Dead)
	w.set("jobs_bytes", g.Totals.Bytes)
	w.set("waiting_pops", g.Waiting)
	w.set("window_wakes", g.Window)
	w.set("clock_source", g.Clock.Source)
	w.set("clock_state", g.Clock.State)
	w.set("clock_steps", g.Clock.Steps)
	w.set("clock_offset_us", g.Clock.OffsetUs)
	w.set("clock_uncertainty_us", g.Clock.UncertaintyUs)
}

func (s *Server) infoKeyspace(w *infoWriter) {
	if n := w.gauges.Queues; n > 0 {
		w.set("db0", fmt.Sprintf("keys=%d,expires=0,avg_ttl=0", n))
	}
}

// totals adds up the outcomes.
func (c *rowCounters) totals() (calls, failed int64) {
	for i := range c.outcomes {
		calls += c.outcomes[i].Load()
	}
	return calls, c.outcomes[outcomeError].Load()
}

// sortedRows returns the counters by name.
func (s *Server) sortedRows() []*rowCounters {
	rows := make([]*rowCounters, 0, len(s.rows))
	for _, row := range s.rows {
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b *rowCounters) int { return strings.Compare(a.name, b.name) })
	return rows
}

// rate tells commands per second without a ticker: over the time between two
// readings that are a second apart or more.
type rate struct {
	mu   sync.Mutex
	at   time.Time
	n    int64
	last int64
}

func (r *rate) read(n int64, now time.Time) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch passed := now.Sub(r.at); {
	case r.at.IsZero() || n < r.n: // the first reading, or CONFIG RESETSTAT
		r.at, r.n = now, n
	case passed >= time.Second:
		r.last = int64(float64(n-r.n) / passed.Seconds())
		r.at, r.n = now, n
	}
	return r.last
}

// usedMemory is what the Go runtime holds, less what it gave back.
func usedMemory() int64 {
	samples := []runtimemetrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	runtimemetrics.Read(samples)
	return int64(samples[0].Value.Uint64() - samples[1].Value.Uint64())
}

// human writes bytes as Redis does: 1.50M.
func human(n int64) string {
	units := "BKMGT"
	f, i := float64(n), 0
	for f >= 1024 && i < len(units)-1 {
		f /= 1024
		i++
	}
	return fmt.Sprintf("%.2f%c", f, units[i])
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
