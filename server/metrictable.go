package server

import (
	"fmt"
	"strings"

	"dqd/persist"
	"dqd/persist/record"
	"dqd/raftfsm"
	"dqd/server/guard"
	"dqd/server/shard"
)

// metricTable are all metrics of dqd's own, in the order of docs/metrics.md, which is
// made of it. A row without a reading at some moment is left out of the page.
var metricTable = []metricGroup{
	{title: "Server", rows: []metric{
		{name: "dqd_build_info", kind: gauge, help: "1; the label is the version that runs.", labels: []label{{"version", ""}},
			read: func(r *reading, put putter) { put(1, r.s.opts.Version) }},
		one("dqd_ready", gauge, "1 while the server answers job commands.", func(r *reading) int64 { return int64(bit(r.s.ready())) }),
		{name: "dqd_commands_total", kind: counter, help: "Commands answered, by name and kind of reply; gone: the client had left before it was done. A command that was never sent has none.",
			labels: []label{{"command", "lower case; of a sub-command the name behind `\\|`"}, {"outcome", strings.Join(outcomeNames[:], ", ")}},
			read: func(r *reading, put putter) {
				for _, row := range r.s.sortedRows() {
					if calls, _ := row.totals(); calls == 0 {
						continue
					}
					for i := range row.outcomes {
						put(float64(row.outcomes[i].Load()), row.name, outcomeNames[i])
					}
				}
			}},
		one("dqd_connections_received_total", counter, "Connections accepted.", func(r *reading) int64 { return r.s.counters.connections.Load() }),
		{name: "dqd_connections_rejected_total", kind: counter, help: "Connections not served.", labels: []label{{"reason", listed(rejectReasons)}},
			read: func(r *reading, put putter) {
				for i := range r.s.counters.rejected {
					put(float64(r.s.counters.rejected[i].Load()), rejectReason(i).String())
				}
			}},
		{name: "dqd_connections_closed_total", kind: counter, help: "Connections ended, by what ended them.", labels: []label{{"reason", listed(closeReasons)}},
			read: func(r *reading, put putter) {
				for i := range r.s.counters.closed {
					put(float64(r.s.counters.closed[i].Load()), closeReason(i).String())
				}
			}},
		one("dqd_connected_clients", gauge, "Open connections.", func(r *reading) int64 { return int64(r.s.connected()) }),
		one("dqd_max_clients", gauge, "Connections that are served at a time.", func(r *reading) int64 { return int64(r.s.live.Load().MaxClients) }),
		one("dqd_blocked_clients", gauge, "Connections with a pop that may wait.", func(r *reading) int64 { return r.s.counters.blocked.Load() }),
		one("dqd_client_buffers_bytes", gauge, "Memory that clients hold.", func(r *reading) int64 { return r.s.budget.used.Load() }),
		one("dqd_received_bytes_total", counter, "Read from clients.", func(r *reading) int64 { return r.s.counters.netIn.Load() }),
		one("dqd_sent_bytes_total", counter, "Written to clients.", func(r *reading) int64 { return r.s.counters.netOut.Load() }),
		one("dqd_accept_errors_total", counter, "Failed accepts.", func(r *reading) int64 { return r.s.counters.acceptErrors.Load() }),
		one("dqd_protocol_errors_total", counter, "Connections that broke the protocol.", func(r *reading) int64 { return r.s.counters.protocolErrors.Load() }),
		one("dqd_auth_failures_total", counter, "Wrong passwords.", func(r *reading) int64 { return r.s.counters.authFailures.Load() }),
		one("dqd_internal_errors_total", counter, "Bugs that were contained. Anything but 0 is worth a report.", func(r *reading) int64 { return r.s.counters.panics.Load() }),
	}},
	{title: "Jobs", intro: "Over all queues.", rows: []metric{
		{name: "dqd_jobs", kind: gauge, help: "Jobs, by state.", labels: []label{stateLabel},
			read: func(r *reading, put putter) { putStates(&r.gauges.Totals, put) }},
		one("dqd_stored_bytes", gauge, "Payloads of all jobs.", func(r *reading) int64 { return r.gauges.Totals.Bytes }),
		{name: "dqd_job_events_total", kind: counter, help: "What happened to jobs. It goes on over restarts; a queue that is dropped takes its part away.", labels: []label{eventLabel},
			read: func(r *reading, put putter) { putEvents(&r.gauges.Totals, put) }},
		one("dqd_queues", gauge, "Queues that exist.", func(r *reading) int64 { return r.gauges.Queues }),
		one("dqd_waiting_pops", gauge, "Pops that wait for a job.", func(r *reading) int64 { return r.gauges.Waiting }),
		{name: "dqd_oldest_ready_seconds", kind: gauge, help: "How long ago the oldest ready job was due, 0 if none is ready: how far the workers are behind. Of the 1,024 largest queues.",
			read: func(r *reading, put putter) {
				if r.survey == nil {
					return
				}
				oldest := int64(0)
				for i := range r.survey.Queues {
					oldest = max(oldest, r.survey.Queues[i].OldestReady)
				}
				put(inSeconds(oldest))
			}},
		{name: "dqd_queues_held", kind: gauge, help: "Queues that hold back pops, or refuse adds, by what makes them. Of the 1,024 largest queues.", labels: []label{holdLabel},
			read: func(r *reading, put putter) {
				if r.survey == nil {
					return
				}
				for _, h := range holds {
					n := 0
					for i := range r.survey.Queues {
						n += bit(h.is(&r.survey.Queues[i]))
					}
					put(float64(n), h.name)
				}
			}},
		{name: latenessName, kind: histogram, help: "From a job's due time to its delivery.", from: 1e-6},
	}},
	{title: "Queues", intro: fmt.Sprintf("Of the %d queues with most live jobs. What they are is looked up with each scrape, beside the shard. "+
		"The label is the queue's name; it stands in quotes, and escaped as in Go, if it is not printable UTF-8, begins with a quote, or is `%s`.", shownQueues, restLabel), rows: []metric{
		{name: "dqd_queue_jobs", kind: gauge, help: "Jobs of a queue, by state.", labels: []label{restedLabel, stateLabel},
			read: func(r *reading, put putter) {
				r.putRested(func(q *record.Queue, name string) {
					putStates(q, func(v float64, labels ...string) { put(v, name, labels[0]) })
				})
			}},
		{name: "dqd_queue_stored_bytes", kind: gauge, help: "Payloads of a queue's jobs.", labels: []label{restedLabel},
			read: func(r *reading, put putter) {
				r.putRested(func(q *record.Queue, name string) { put(float64(q.Bytes), name) })
			}},
		{name: "dqd_queue_job_events_total", kind: counter, help: "What happened to the jobs of a queue. It goes on over restarts.", labels: []label{queueLabelRow, eventLabel},
			read: ofQueues(func(q *shard.SurveyedQueue, put putter) { putEvents(&q.Queue, put) })},
		{name: "dqd_queue_waiting_pops", kind: gauge, help: "Pops that wait for a job of the queue.", labels: []label{queueLabelRow},
			read: ofQueues(func(q *shard.SurveyedQueue, put putter) { put(float64(q.Waiting)) })},
		{name: "dqd_queue_oldest_ready_seconds", kind: gauge, help: "How long ago the queue's oldest ready job was due, 0 if none is ready.", labels: []label{queueLabelRow},
			read: ofQueues(func(q *shard.SurveyedQueue, put putter) { put(inSeconds(q.OldestReady)) })},
		{name: "dqd_queue_held", kind: gauge, help: "1 while the queue holds back pops, or refuses adds, by what makes it.", labels: []label{queueLabelRow, holdLabel},
			read: ofQueues(func(q *shard.SurveyedQueue, put putter) {
				for _, h := range holds {
					put(float64(bit(h.is(q))), h.name)
				}
			})},
	}},
	{title: "Timers and clock", rows: []metric{
		{name: "dqd_wheel_timers", kind: gauge, help: "Wake-ups in memory: those of the next seconds. Those further ahead are on disk only.", labels: []label{timelineLabel},
			read: func(r *reading, put putter) {
				if r.survey != nil {
					for d, n := range r.survey.Timers {
						put(float64(n), timelines[d])
					}
				}
			}},
		{name: "dqd_wheel_occupied_slots", kind: gauge, help: "Slots of the timing wheel that have a wake-up, of 512 and the next 512 of each level. A slot of level 0 is 1 ns, of each further level 512 times as long.",
			labels: []label{timelineLabel, {"level", "0 to 7"}},
			read: func(r *reading, put putter) {
				if r.survey != nil {
					for d := range r.survey.Slots {
						for level, n := range r.survey.Slots[d] {
							put(float64(n), timelines[d], fmt.Sprint(level))
						}
					}
				}
			}},
		{name: timerErrorName, kind: histogram, help: "How late the timer woke.", from: 1e-7},
		one("dqd_clock_held", gauge, "1 while a step forwards of the system's wall clock is not followed.", func(r *reading) int64 { return int64(bit(r.gauges.Clock.State == "held")) }),
		one("dqd_clock_tsc", gauge, "1 while the clock reads the processor's counter.", func(r *reading) int64 { return int64(bit(r.gauges.Clock.Source == "tsc")) }),
		{name: "dqd_clock_offset_seconds", kind: gauge, help: "By how much the system's wall clock is ahead of dqd's: a held step, or what is being slewed.",
			read: func(r *reading, put putter) { put(float64(r.gauges.Clock.OffsetUs) / 1e6) }},
		{name: "dqd_clock_uncertainty_seconds", kind: gauge, help: "By how much the processor's counter may be off the system's clock; 0 if that is read.",
			read: func(r *reading, put putter) { put(float64(r.gauges.Clock.UncertaintyUs) / 1e6) }},
		one("dqd_clock_steps_total", counter, "Steps of the wall clock that were seen.", func(r *reading) int64 { return r.gauges.Clock.Steps }),
	}},
	{title: "Disk and memory", rows: []metric{
		{name: "dqd_adds_refused", kind: gauge, help: "1 while adds are refused, by what runs short.", labels: []label{guardLabel},
			read: func(r *reading, put putter) {
				for _, reason := range guarded {
					put(float64(bit(r.disk.Short[reason])), reason.String())
				}
			}},
		{name: "dqd_adds_refused_total", kind: counter, help: "Adds refused, by what ran short.", labels: []label{guardLabel},
			read: func(r *reading, put putter) {
				for _, reason := range guarded {
					put(float64(r.s.opts.Guard.Refused(reason)), reason.String())
				}
			}},
		one("dqd_disk_free_bytes", gauge, "Free space on the disk of the data; 0 without a guard.", func(r *reading) int64 { return r.disk.DiskFree }),
		one("dqd_disk_size_bytes", gauge, "Size of the disk of the data; 0 without a guard.", func(r *reading) int64 { return r.disk.DiskTotal }),
		one("dqd_disk_min_free_bytes", gauge, "Free space below which adds are refused.", func(r *reading) int64 { return r.disk.DiskMinFree }),
		one("dqd_disk_ballast_bytes", gauge, "Space that is held for a full disk; 0 when it was given up.", func(r *reading) int64 { return r.disk.Ballast }),
		one("dqd_memory_limit_bytes", gauge, "Memory of the process (process_resident_memory_bytes) beyond which adds are refused.", func(r *reading) int64 { return r.s.opts.Memory }),
	}},
	{title: "Backup", rows: []metric{
		one("dqd_backup_last_success_timestamp_seconds", gauge, "When a backup was last handed out whole, in Unix time; 0 = not since the start.", func(r *reading) int64 { return r.s.backups.last.Load() }),
	}},
	{title: "Log", intro: "The Raft log that every change goes through. An index is a position in it.", rows: []metric{
		ofNode("dqd_raft_leader", gauge, "1 while this node leads.", func(n *raftfsm.Stats) int64 { return int64(bit(n.Leader)) }),
		ofNode("dqd_raft_term", gauge, "The term; each election begins a new one.", func(n *raftfsm.Stats) int64 { return int64(n.Term) }),
		ofNode("dqd_raft_first_index", gauge, "The oldest entry in the log.", func(n *raftfsm.Stats) int64 { return int64(n.FirstIndex) }),
		ofNode("dqd_raft_last_index", gauge, "The newest entry in the log.", func(n *raftfsm.Stats) int64 { return int64(n.LastIndex) }),
		ofNode("dqd_raft_commit_index", gauge, "The newest entry that is committed.", func(n *raftfsm.Stats) int64 { return int64(n.CommitIndex) }),
		ofNode("dqd_raft_applied_index", gauge, "The newest entry that is in the state.", func(n *raftfsm.Stats) int64 { return int64(n.AppliedIndex) }),
		ofNode("dqd_raft_snapshot_index", gauge, "The newest entry in the last snapshot.", func(n *raftfsm.Stats) int64 { return int64(n.SnapshotIndex) }),
		ofNode("dqd_raft_since_snapshot_entries", gauge, "Entries behind the last snapshot.", func(n *raftfsm.Stats) int64 { return n.EntriesSinceShot }),
		ofNode("dqd_raft_since_snapshot_bytes", gauge, "Log behind the last snapshot.", func(n *raftfsm.Stats) int64 { return n.BytesSinceShot }),
		ofNode("dqd_raft_in_flight_entries", gauge, "Entries that are being written now.", func(n *raftfsm.Stats) int64 { return int64(n.InFlight) }),
		{name: fsyncName, kind: histogram, help: "A write of entries to the log with its fsync.", from: 1e-6},
		{name: applyName, kind: histogram, help: "Applying a batch of entries to the state.", from: 1e-6},
		{name: commitName, kind: histogram, help: "An entry's whole way: from its proposal, over log and state, to the answer.", from: 1e-6},
		{name: snapshotName, kind: histogram, help: "A snapshot, until it is durable.", from: 1e-4},
	}},
	{title: "Stores", intro: "The two Pebble stores: the log and the state.", rows: []metric{
		ofStores("dqd_store_disk_bytes", gauge, "Files of the store.", func(m *persist.StoreMetrics) float64 { return float64(m.DiskBytes) }),
		ofStores("dqd_store_memtable_bytes", gauge, "Newest writes, in memory.", func(m *persist.StoreMetrics) float64 { return float64(m.MemTableBytes) }),
		ofStores("dqd_store_tables", gauge, "Tables on disk.", func(m *persist.StoreMetrics) float64 { return float64(m.Tables) }),
		ofStores("dqd_store_read_amplification", gauge, "Places that a read may have to look at. Some tens say that merging does not keep up.", func(m *persist.StoreMetrics) float64 { return float64(m.ReadAmp) }),
		ofStores("dqd_store_compaction_debt_bytes", gauge, "What is left to merge, about.", func(m *persist.StoreMetrics) float64 { return float64(m.CompactionDebt) }),
		ofStores("dqd_store_compactions_running", gauge, "Merges that run now.", func(m *persist.StoreMetrics) float64 { return float64(m.Compacting) }),
		ofStores("dqd_store_compactions_total", counter, "Merges of tables.", func(m *persist.StoreMetrics) float64 { return float64(m.Compactions) }),
		ofStores("dqd_store_flushes_total", counter, "Memtables written to disk.", func(m *persist.StoreMetrics) float64 { return float64(m.Flushes) }),
		ofStores("dqd_store_written_bytes_total", counter, "Written to disk: write-ahead log, flushes and merges.", func(m *persist.StoreMetrics) float64 { return float64(m.WrittenBytes) }),
		ofStores("dqd_store_cache_hits_total", counter, "Blocks found in the cache.", func(m *persist.StoreMetrics) float64 { return float64(m.CacheHits) }),
		ofStores("dqd_store_cache_misses_total", counter, "Blocks read from disk.", func(m *persist.StoreMetrics) float64 { return float64(m.CacheMisses) }),
	}},
}

// Names of the histograms, which Observer feeds.
const (
	latenessName   = "dqd_delivery_lateness_seconds"
	timerErrorName = "dqd_timer_error_seconds"
	fsyncName      = "dqd_log_fsync_seconds"
	applyName      = "dqd_entry_apply_seconds"
	commitName     = "dqd_entry_commit_seconds"
	snapshotName   = "dqd_snapshot_seconds"
)

// histogramBuckets is how many buckets a histogram has, each twice as wide as the one before.
const histogramBuckets = 24

// metricGroup is a section of docs/metrics.md.
type metricGroup struct {
	title, intro string
	rows         []metric
}

// metric is a row of /metrics and of docs/metrics.md.
type metric struct {
	name   string
	kind   metricKind
	help   string
	labels []label
	read   func(r *reading, put putter) // of a counter or gauge
	from   float64                      // of a histogram: where its first bucket ends, in seconds
}

type metricKind string

const (
	counter   metricKind = "counter"
	gauge     metricKind = "gauge"
	histogram metricKind = "histogram"
)

// label is a label and, in words, its values.
type label struct{ name, values string }

// putter takes a value, with a value for each label of its row.
type putter func(value float64, labels ...string)

func (m *metric) labelNames() []string {
	var names []string
	for _, l := range m.labels {
		names = append(names, l.name)
	}
	return names
}

// one is a metric without labels.
func one(name string, kind metricKind, help string, value func(r *reading) int64) metric {
	return metric{name: name, kind: kind, help: help, read: func(r *reading, put putter) { put(float64(value(r))) }}
}

// ofNode is a metric of the node below.
func ofNode(name string, kind metricKind, help string, value func(n *raftfsm.Stats) int64) metric {
	return metric{name: name, kind: kind, help: help, read: func(r *reading, put putter) {
		if r.node != nil {
			put(float64(value(r.node)))
		}
	}}
}

// ofStores is a metric of both stores.
func ofStores(name string, kind metricKind, help string, value func(m *persist.StoreMetrics) float64) metric {
	return metric{name: name, kind: kind, help: help, labels: []label{{"store", "log, state"}}, read: func(r *reading, put putter) {
		if r.node != nil {
			put(value(&r.node.LogStore), "log")
			put(value(&r.node.DataStore), "state")
		}
	}}
}

// ofQueues reads a metric of each queue that is shown; its first label is the queue.
func ofQueues(read func(q *shard.SurveyedQueue, put putter)) func(*reading, putter) {
	return func(r *reading, put putter) {
		for i := range r.shown {
			read(&r.shown[i], func(v float64, labels ...string) { put(v, append([]string{r.names[i]}, labels...)...) })
		}
	}
}

// putRested calls put with each queue that is shown, and with the sums over all others.
func (r *reading) putRested(put func(q *record.Queue, name string)) {
	if r.survey == nil {
		return
	}
	rest := r.survey.Totals
	for i := range r.shown {
		rest.Subtract(&r.shown[i].Queue)
		put(&r.shown[i].Queue, r.names[i])
	}
	put(&rest, restLabel)
}

var (
	queueLabelRow = label{"queue", "names"}
	restedLabel   = label{"queue", "names; `" + restLabel + "` for all other queues together"}
	stateLabel    = label{"state", "delayed, ready, leased, dead"}
	eventLabel    = label{"event", "added, delivered, acked, noack, nacked, lease-timeout, expired, cancelled, purged, pruned"}
	holdLabel     = label{"by", holdNames()}
	timelineLabel = label{"timeline", strings.Join(timelines[:], ", ")}
	guardLabel    = label{"reason", "disk, memory"}
)

var timelines = [...]string{record.Progress: "progress", record.Wall: "wall"}

var guarded = []guard.Reason{guard.Disk, guard.Memory}

// holds are what may hold a queue back.
var holds = []struct {
	name string
	is   func(q *shard.SurveyedQueue) bool
}{
	{"pause-in", func(q *shard.SurveyedQueue) bool { return q.PauseIn }},
	{"pause-out", func(q *shard.SurveyedQueue) bool { return q.PauseOut }},
	{"max-len", func(q *shard.SurveyedQueue) bool { return q.MaxLen }},
	{"max-inflight", func(q *shard.SurveyedQueue) bool { return q.MaxInflight }},
	{"rate", func(q *shard.SurveyedQueue) bool { return q.Rate }},
}

func holdNames() string {
	var names []string
	for _, h := range holds {
		names = append(names, h.name)
	}
	return strings.Join(names, ", ")
}

func putStates(q *record.Queue, put putter) {
	put(float64(q.Delayed), "delayed")
	put(float64(q.Ready), "ready")
	put(float64(q.Leased), "leased")
	put(float64(q.Dead), "dead")
}

func putEvents(q *record.Queue, put putter) {
	put(float64(q.Added), "added")
	put(float64(q.Delivered), "delivered")
	put(float64(q.Acked), "acked")
	put(float64(q.Noack), "noack")
	put(float64(q.Nacked), "nacked")
	put(float64(q.LeaseTimeouts), "lease-timeout")
	put(float64(q.Expired), "expired")
	put(float64(q.Cancelled), "cancelled")
	put(float64(q.Purged), "purged")
	put(float64(q.Pruned), "pruned")
}

// inSeconds are ns as seconds.
func inSeconds(ns int64) float64 { return float64(ns) / 1e9 }

// listed are all values of a kind of reason, n of them.
func listed[R interface {
	~int
	String() string
}](n R) string {
	var names []string
	for r := range n {
		names = append(names, r.String())
	}
	return strings.Join(names, ", ")
}
