package server

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"dqd/commands"
	"dqd/server/guard"
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
	{name: "modules", write: func(*Server, *infoWriter) {}},
	{name: "commandstats", write: (*Server).infoCommandStats, extra: true},
	{name: "errorstats", write: (*Server).infoErrorStats},
	{name: "latencystats", write: (*Server).infoLatencyStats, extra: true},
	{name: "cluster", write: (*Server).infoCluster},
	{name: "keyspace", write: (*Server).infoKeyspace},
	{name: "dqd", write: (*Server).infoDqd},
	{name: "wheel", write: (*Server).infoWheel},
	{name: "clock", write: (*Server).infoClock},
	{name: "storage", write: (*Server).infoStorage},
}

// Fact is a line of INFO.
type Fact struct {
	Name  string
	Value any
}

// facts is a section of INFO that another part of the process has.
type facts struct {
	section string // lower case
	read    func() []Fact
}

// Show adds lines to a section of INFO, or a section: read returns them when it is
// asked for. It must be quick, and may be called from any goroutine.
func (s *Server) Show(section string, read func() []Fact) {
	for {
		was := s.facts.Load()
		now := []facts{{section, read}}
		if was != nil {
			now = append(slices.Clone(*was), now...)
		}
		if s.facts.CompareAndSwap(was, &now) {
			return
		}
	}
}

// info is INFO. A section that does not exist adds nothing.
func (s *Server) info(r *commands.Info) commands.Reply {
	named := func(name string) bool { return slices.Contains(r.Sections, name) }
	all := named("all") || named("everything")
	usual := len(r.Sections) == 0 || named("default")
	w := &infoWriter{gauges: s.gauges()}
	for _, part := range sections {
		if all || named(part.name) || usual && !part.extra {
			w.begin(part.name)
			part.write(s, w)
			s.writeFacts(w, part.name)
		}
	}
	if more := s.facts.Load(); more != nil {
		for _, part := range *more {
			own := slices.ContainsFunc(sections, func(o section) bool { return o.name == part.section })
			if !own && (all || usual || named(part.section)) {
				w.begin(part.section)
				s.writeFacts(w, part.section)
			}
		}
	}
	return commands.Bulk(w.String())
}

// writeFacts writes what other parts have to say in a section.
func (s *Server) writeFacts(w *infoWriter, section string) {
	if more := s.facts.Load(); more != nil {
		for _, part := range *more {
			if part.section == section {
				for _, fact := range part.read() {
					w.set(fact.Name, fact.Value)
				}
			}
		}
	}
}

// infoWriter collects the lines. All sections see the same gauges.
type infoWriter struct {
	strings.Builder
	gauges *shard.Gauges
}

func (w *infoWriter) begin(section string) {
	if w.Len() > 0 {
		w.WriteString("\r\n")
	}
	title := strings.ToUpper(section[:1]) + section[1:]
	if section == "cpu" {
		title = "CPU"
	}
	w.WriteString("# " + title + "\r\n")
}

func (w *infoWriter) set(name string, value any) { fmt.Fprintf(w, "%s:%v\r\n", name, value) }

func (s *Server) infoServer(w *infoWriter) {
	up := int64(time.Since(s.started) / time.Second)
	w.set("redis_version", compatVersion)
	w.set("redis_git_sha1", "00000000")
	w.set("redis_git_dirty", 0)
	w.set("redis_build_id", "0")
	w.set("dqd_version", s.opts.Version)
	w.set("redis_mode", s.mode())
	w.set("os", runtime.GOOS+" "+runtime.GOARCH)
	w.set("arch_bits", strconv.IntSize)
	w.set("go_version", runtime.Version())
	w.set("process_id", os.Getpid())
	w.set("process_supervised", "no")
	w.set("run_id", s.runID)
	w.set("tcp_port", s.port())
	w.set("server_time_usec", s.opts.Wall()/1000)
	w.set("uptime_in_seconds", up)
	w.set("uptime_in_days", up/86400)
	w.set("hz", 10)
	w.set("configured_hz", 10)
	w.set("lru_clock", 0)
	w.set("executable", executable())
	w.set("config_file", s.opts.ConfigFile)
	w.set("io_threads_active", 0)
}

// executable is the program's path.
func executable() string {
	path, _ := os.Executable()
	return path
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
	w.set("cluster_connections", 0)
	w.set("maxclients", s.live.Load().MaxClients)
	w.set("client_buffers", s.budget.used.Load())
	w.set("client_buffers_max", s.budget.limit.Load())
	w.set("blocked_clients", s.counters.blocked.Load())
	w.set("tracking_clients", 0)
	w.set("clients_in_timeout_table", 0)
}

func (s *Server) infoMemory(w *infoWriter) {
	m := s.memoryNow()
	w.set("used_memory", m.used)
	w.set("used_memory_human", human(m.used))
	w.set("used_memory_rss", m.rss)
	w.set("used_memory_rss_human", human(m.rss))
	w.set("used_memory_peak", m.peak)
	w.set("used_memory_peak_human", human(m.peak))
	w.set("used_memory_peak_perc", fmt.Sprintf("%.2f%%", 100*float64(m.used)/float64(m.peak)))
	w.set("used_memory_overhead", m.used-m.heap)
	w.set("used_memory_dataset", m.heap)
	w.set("used_memory_lua", 0)
	w.set("total_system_memory", m.machine)
	w.set("total_system_memory_human", human(m.machine))
	w.set("maxmemory", s.opts.Memory)
	w.set("maxmemory_human", human(s.opts.Memory))
	w.set("maxmemory_policy", "noeviction")
	w.set("mem_fragmentation_ratio", fmt.Sprintf("%.2f", float64(m.rss)/float64(m.used)))
	w.set("mem_fragmentation_bytes", m.rss-m.used)
	w.set("mem_clients_normal", s.budget.used.Load())
	w.set("mem_clients_slaves", 0)
	w.set("mem_allocator", runtime.Version())
	w.set("active_defrag_running", 0)
	w.set("lazyfree_pending_objects", 0)
	w.set("maxmemory_guard", guardState(s.opts.Guard.Status().Short[guard.Memory]))
}

// infoStorage is about the disk.
func (s *Server) infoStorage(w *infoWriter) {
	g := s.opts.Guard.Status()
	w.set("disk_guard", guardState(g.Short[guard.Disk]))
	w.set("disk_free", g.DiskFree)
	w.set("disk_total", g.DiskTotal)
	w.set("disk_min_free", g.DiskMinFree)
	w.set("disk_ballast", g.Ballast)
	for _, reason := range []guard.Reason{guard.Disk, guard.Memory} {
		w.set("adds_refused_"+reason.String(), s.opts.Guard.Refused(reason))
	}
}

func guardState(short bool) string {
	if short {
		return "refuses-adds"
	}
	return "ok"
}

func (s *Server) infoPersistence(w *infoWriter) {
	w.set("loading", bit(!w.gauges.Leading))
	w.set("async_loading", 0)
	w.set("rdb_changes_since_last_save", 0)
	w.set("rdb_bgsave_in_progress", 0)
	w.set("rdb_last_save_time", s.started.Unix())
	w.set("rdb_last_bgsave_status", "ok")
	w.set("rdb_last_bgsave_time_sec", -1)
	w.set("rdb_current_bgsave_time_sec", -1)
	w.set("aof_enabled", 1)
	w.set("aof_rewrite_in_progress", 0)
	w.set("aof_rewrite_scheduled", 0)
	w.set("aof_last_rewrite_time_sec", -1)
	w.set("aof_current_rewrite_time_sec", -1)
	w.set("aof_last_bgrewrite_status", "ok")
	w.set("aof_last_write_status", "ok")
	w.set("durability", "fsync")
	for _, k := range []latencyKind{latencyFsync, latencyApply} {
		times := &s.latency.times[k]
		w.set(k.String()+"s", times.n.Load())
		w.set(k.String()+"_p50_us", times.permille(500))
		w.set(k.String()+"_p99_us", times.permille(990))
	}
}

func (s *Server) infoStats(w *infoWriter) {
	c := &s.counters
	w.set("total_connections_received", c.connections.Load())
	w.set("total_commands_processed", c.commands.Load())
	now, in, out := time.Now(), c.netIn.Load(), c.netOut.Load()
	w.set("instantaneous_ops_per_sec", s.rates.commands.read(c.commands.Load(), now))
	w.set("total_net_input_bytes", in)
	w.set("total_net_output_bytes", out)
	w.set("instantaneous_input_kbps", fmt.Sprintf("%.2f", float64(s.rates.in.read(in, now))/1024))
	w.set("instantaneous_output_kbps", fmt.Sprintf("%.2f", float64(s.rates.out.read(out, now))/1024))
	w.set("total_reads_processed", c.reads.Load())
	w.set("total_writes_processed", c.writes.Load())
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
	_, _, errs := s.errors.read()
	w.set("total_error_replies", errs)
	w.set("unexpected_error_replies", c.panics.Load())
	w.set("acl_access_denied_auth", c.authFailures.Load())
	w.set("evicted_clients", c.closed[closedMemory].Load())
	w.set("slowlog_length", s.slow.len())
	// What tools ask for and there is none of: keys neither expire nor are
	// evicted, nothing forks, publishes or replicates.
	for _, name := range []string{
		"expired_keys", "evicted_keys", "keyspace_hits", "keyspace_misses", "pubsub_channels", "pubsub_patterns", "pubsubshard_channels",
		"latest_fork_usec", "total_forks", "sync_full", "sync_partial_ok", "sync_partial_err", "migrate_cached_sockets",
		"total_net_repl_input_bytes", "total_net_repl_output_bytes", "tracking_total_keys", "tracking_total_items", "tracking_total_prefixes",
	} {
		w.set(name, 0)
	}
}

func (s *Server) infoReplication(w *infoWriter) {
	w.set("role", "master")
	w.set("connected_slaves", 0)
	w.set("master_failover_state", "no-failover")
	w.set("master_replid", s.runID)
	w.set("master_replid2", strings.Repeat("0", len(s.runID)))
	w.set("master_repl_offset", 0)
	w.set("second_repl_offset", -1)
	w.set("repl_backlog_active", 0)
	w.set("repl_backlog_size", 0)
	w.set("repl_backlog_first_byte_offset", 0)
	w.set("repl_backlog_histlen", 0)
}

func (s *Server) infoCPU(w *infoWriter) {
	user, sys := cpuTime()
	w.set("used_cpu_sys", fmt.Sprintf("%.6f", sys.Seconds()))
	w.set("used_cpu_user", fmt.Sprintf("%.6f", user.Seconds()))
	w.set("used_cpu_sys_children", "0.000000")
	w.set("used_cpu_user_children", "0.000000")
}

func (s *Server) infoCommandStats(w *infoWriter) {
	for _, row := range s.sortedRows() {
		answered, failed := row.totals()
		if answered == 0 {
			continue
		}
		refused := row.refused.Load()
		calls, us := answered-refused, row.times.ns.Load()/1000
		w.set("cmdstat_"+row.name, fmt.Sprintf("calls=%d,usec=%d,usec_per_call=%.2f,rejected_calls=%d,failed_calls=%d",
			calls, us, float64(us)/float64(max(calls, 1)), refused, failed-refused))
	}
}

func (s *Server) infoErrorStats(w *infoWriter) {
	codes, counts, _ := s.errors.read()
	for i, code := range codes {
		w.set("errorstat_"+code, fmt.Sprintf("count=%d", counts[i]))
	}
}

func (s *Server) infoLatencyStats(w *infoWriter) {
	for _, row := range s.sortedRows() {
		if t := &row.times; t.n.Load() > 0 {
			w.set("latency_percentiles_usec_"+row.name, fmt.Sprintf("p50=%d,p99=%d,p99.9=%d", t.permille(500), t.permille(990), t.permille(999)))
		}
	}
}

func (s *Server) infoCluster(w *infoWriter) { w.set("cluster_enabled", bit(s.opts.Cluster)) }

func (s *Server) infoDqd(w *infoWriter) {
	g := w.gauges
	w.set("queues", g.Queues)
	w.set("jobs_delayed", g.Totals.Delayed)
	w.set("jobs_ready", g.Totals.Ready)
	w.set("jobs_leased", g.Totals.Leased)
	w.set("jobs_dead", g.Totals.Dead)
	w.set("jobs_bytes", g.Totals.Bytes)
	t := &g.Totals
	for _, fact := range []Fact{
		{"added", t.Added}, {"delivered", t.Delivered}, {"acked", t.Acked}, {"noack", t.Noack}, {"nacked", t.Nacked},
		{"cancelled", t.Cancelled}, {"expired", t.Expired}, {"purged", t.Purged}, {"pruned", t.Pruned}, {"lease_timeouts", t.LeaseTimeouts},
	} {
		w.set("total_"+fact.Name, fact.Value)
	}
	w.set("waiting_pops", g.Waiting)
	w.set("late_p50_us", s.late.permille(500))
	w.set("late_p99_us", s.late.permille(990))
}

func (s *Server) infoWheel(w *infoWriter) {
	w.set("window_wakes", w.gauges.Window)
	timer := &s.latency.times[latencyTimer]
	w.set("timer_wakes", timer.n.Load())
	w.set("timer_error_p50_us", timer.permille(500))
	w.set("timer_error_p99_us", timer.permille(990))
}

func (s *Server) infoClock(w *infoWriter) {
	g := w.gauges
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

// rates are those that INFO shows.
type rates struct{ commands, in, out rate }

// rate tells how many a second without a ticker: over the time between two
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
