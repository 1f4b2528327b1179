package server

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// slowly sends a command whose answer the shard keeps back for so long.
func slowly(r *rig, c *client, command string, d time.Duration, reply string) {
	r.t.Helper()
	r.sh.setHold(true)
	c.send(command + "\r\n")
	synctest.Wait()
	time.Sleep(d)
	r.sh.setHold(false)
	c.expect(reply)
}

// reply reads one whole reply and returns its lines, without line ends.
func (c *client) reply() []string {
	c.t.Helper()
	line := c.line()
	lines := []string{line}
	n := 0
	fmt.Sscan(line[1:], &n)
	switch line[0] {
	case '$':
		if n >= 0 {
			b := make([]byte, n+2)
			if k, err := readFull(c, b); err != nil {
				c.t.Fatalf("%q, %v", b[:k], err)
			}
			return append(lines[:0], string(b[:n]))
		}
	case '%':
		n *= 2
		fallthrough
	case '*':
		for range n {
			lines = append(lines, c.reply()...)
		}
	}
	return lines
}

// What takes as long as the setting says gets into the slow log, newest first,
// with queue and id and nothing else of its arguments.
func TestSlowLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wall := int64(1_800_000_000_000_000_000)
		r := newRig(t, Options{Wall: func() int64 { return wall }}, false)
		c := r.client()
		c.ask("CLIENT SETNAME shop", "+OK\r\n")
		slowly(r, c, "DQADD orders o-1 canary DELAY 5s", 9_999*time.Microsecond, "$3\r\no-1\r\n")
		c.ask("SLOWLOG LEN", ":0\r\n")
		slowly(r, c, "DQADD orders o-2 canary DELAY 5s", 10*time.Millisecond, "$3\r\no-2\r\n")
		slowly(r, c, "dqack orders o-2 1", time.Second, ":0\r\n")
		c.ask("SLOWLOG LEN", ":2\r\n")
		c.send("SLOWLOG GET\r\n")
		want := strings.Fields(`*2 *6 :1 :1800000000 :1000000 *3 dqack orders _ pipe shop *6 :0 :1800000000 :10000 *4 DQADD orders o-2 _ pipe shop`)
		got := c.reply()
		got[8], got[19] = "_", "_"
		if !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
		c.send("SLOWLOG GET 1\r\n")
		if got := c.reply(); got[0] != "*1" || got[2] != ":1" {
			t.Errorf("%q", got)
		}
		c.ask("SLOWLOG GET 0", "*0\r\n")

		// A pop that may wait is not slow.
		c.send("DQPOP empty COUNT 10\r\n")
		c.reply()
		c.send("DQPOP empty BLOCK 20s\r\n")
		synctest.Wait()
		time.Sleep(time.Minute)
		other := r.client()
		other.ask("CLIENT UNBLOCK 1", ":1\r\n")
		c.reply()
		c.ask("SLOWLOG LEN", ":2\r\n")

		// The bound, and the numbers that go on over RESET.
		c.ask("CONFIG SET slowlog-max-len 1", "+OK\r\n")
		c.ask("SLOWLOG LEN", ":1\r\n")
		c.ask("SLOWLOG RESET", "+OK\r\n")
		c.ask("SLOWLOG LEN", ":0\r\n")
		for range 3 {
			slowly(r, c, "DQLEN orders", time.Second, ":0\r\n")
		}
		c.send("SLOWLOG GET -1\r\n")
		if got := c.reply(); got[0] != "*1" || got[2] != ":4" {
			t.Errorf("%q", got)
		}
		c.ask("CONFIG SET slowlog-max-len 0", "+OK\r\n")
		slowly(r, c, "DQLEN orders", time.Second, ":0\r\n")
		c.ask("CONFIG SET slowlog-max-len 5 slowlog-log-slower-than -1", "+OK\r\n")
		slowly(r, c, "DQLEN orders", time.Second, ":0\r\n")
		c.ask("SLOWLOG LEN", ":0\r\n")
		c.ask("CONFIG SET slowlog-log-slower-than 0", "+OK\r\n")
		c.ask("ECHO x", "$1\r\nx\r\n")
		c.send("SLOWLOG GET\r\n") // CONFIG SET itself, and ECHO
		if got := c.reply(); got[0] != "*2" || got[6] != "echo" || got[14] != "CONFIG" || got[15] != "SET" {
			t.Errorf("%q", got)
		}
	})
}

// The ring of the slow log, under changes of its length.
func TestSlowLogRing(t *testing.T) {
	l := &slowLog{}
	next := int64(0)
	for _, limit := range []int{3, 3, 5, 2, 0, 4, 1} {
		l.setLimit(limit)
		for range 7 {
			l.add(slowEntry{})
			next++
			for i, e := range l.newest(10) {
				if e.id != next-1-int64(i) {
					t.Fatalf("limit %d: entry %d is %d, want %d", limit, i, e.id, next-1-int64(i))
				}
			}
		}
		if l.len() != limit {
			t.Errorf("limit %d: %d entries", limit, l.len())
		}
	}
}

// LATENCY notes what took long, a sample a second, and tells it in words.
func TestLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := int64(1_800_000_000)
		r := newRig(t, Options{Wall: func() int64 { return at * 1e9 }}, false)
		c := r.client()
		c.ask("LATENCY LATEST", "*0\r\n")
		c.send("LATENCY DOCTOR\r\n")
		if got := c.bulk(); got != "Nothing took 100 ms or more.\n" {
			t.Errorf("%q", got)
		}
		o := r.Observer()
		o.Fsync(99_999_999)
		c.ask("LATENCY HISTORY fsync", "*0\r\n")
		o.Fsync(100_000_000)
		o.Fsync(250_000_000)
		o.Fsync(200_000_000)
		at++
		o.Fsync(150_000_000)
		o.Apply(300_000_000)
		o.Lateness(1e12) // says nothing about the server: nobody may have asked
		slowly(r, c, "DQLEN q", 2*time.Second, ":0\r\n")
		c.ask("LATENCY HISTORY fsync", "*2\r\n*2\r\n:1800000000\r\n:250\r\n*2\r\n:1800000001\r\n:150\r\n")
		c.ask("LATENCY HISTORY nothing", "*0\r\n")
		c.send("LATENCY LATEST\r\n")
		want := strings.Fields("*3 *4 command :1800000001 :2000 :2000 *4 fsync :1800000001 :150 :250 *4 apply :1800000001 :300 :300")
		if got := c.reply(); !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
		c.send("LATENCY DOCTOR\r\n")
		if got := c.bulk(); !strings.Contains(got, "fsync: 2 seconds with events of 100 ms and more, the longest of 250 ms.") {
			t.Errorf("%q", got)
		}
		for range 2 * samplesMax {
			at++
			o.Fsync(100_000_000)
		}
		c.send("LATENCY HISTORY FSYNC\r\n")
		if got := c.reply(); got[0] != fmt.Sprint("*", samplesMax) || got[len(got)-2] != fmt.Sprint(":", at) {
			t.Errorf("%q", got)
		}
		c.ask("LATENCY RESET apply nothing", ":1\r\n")
		c.ask("LATENCY RESET", ":2\r\n")
		c.ask("LATENCY LATEST", "*0\r\n")
		c.ask("CONFIG SET latency-monitor-threshold 0", "+OK\r\n")
		o.Fsync(1e12)
		c.ask("LATENCY LATEST", "*0\r\n")
		c.send("LATENCY DOCTOR\r\n")
		if got := c.bulk(); !strings.Contains(got, "CONFIG SET latency-monitor-threshold") {
			t.Errorf("%q", got)
		}
	})
}

// What INFO says of commands and errors: calls, those refused before anything was
// tried, those that failed, and how long they took.
func TestCommandStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{}, false)
		c := r.client()
		slowly(r, c, "DQADD q a x", 3*time.Millisecond, "$1\r\na\r\n")
		slowly(r, c, "DQADD q b x", time.Millisecond, "$1\r\nb\r\n")
		c.send("DQADD q\r\n")
		if got := c.line(); !strings.HasPrefix(got, "-ERR wrong number of arguments for 'dqadd' command: DQADD queue id payload [DELAY dur") {
			t.Error(got)
		}
		c.ask("CLIENT KILL 1.2.3.4:5", "-ERR No such client\r\n")
		c.ask("NOSUCH", "-ERR unknown command 'NOSUCH', with args beginning with: \r\n")
		c.ask("DQADD q c x DELAY 1.5", "-BADTIME DELAY '1.5' has a fraction: write whole numbers in a smaller unit, such as 1500ms\r\n")
		c.send("INFO everything\r\n")
		info := c.bulk()
		for _, line := range []string{
			"cmdstat_dqadd:calls=2,usec=4000,usec_per_call=2000.00,rejected_calls=2,failed_calls=0",
			"cmdstat_client|kill:calls=1,usec=0,usec_per_call=0.00,rejected_calls=0,failed_calls=1",
			"errorstat_ERR:count=3", "errorstat_BADTIME:count=1", "total_error_replies:4",
			"latency_percentiles_usec_dqadd:p50=1023,p99=3071,p99.9=3071",
		} {
			if !strings.Contains(info, "\r\n"+line+"\r\n") {
				t.Errorf("INFO has no %s\n%s", line, info)
			}
		}
		c.ask("LATENCY HISTOGRAM dqadd nosuch", "*2\r\n$5\r\ndqadd\r\n*4\r\n$5\r\ncalls\r\n:2\r\n$14\r\nhistogram_usec\r\n*4\r\n:1023\r\n:1\r\n:4095\r\n:2\r\n")
		c.send("LATENCY HISTOGRAM client\r\n")
		if got := c.reply(); got[1] != "client|kill" {
			t.Errorf("%q", got)
		}
		c.ask("CONFIG RESETSTAT", "+OK\r\n")
		c.send("INFO everything\r\n")
		if info := c.bulk(); strings.Contains(info, "cmdstat_dqadd") || strings.Contains(info, "errorstat_") || !strings.Contains(info, "total_error_replies:0") {
			t.Error(info)
		}
		c.ask("LATENCY HISTOGRAM dqadd", "*0\r\n")
	})
}

// Sections are found in any case and combination; others may add some.
func TestInfoSections(t *testing.T) {
	both(t, Options{Cluster: true}, func(r *rig) {
		r.Show("raft", func() []Fact { return []Fact{{"raft_term", 7}} })
		r.Show("storage", func() []Fact { return []Fact{{"log_tables", 3}} })
		c := r.client()
		titles := regexp.MustCompile(`# (\w+)`)
		for asked, want := range map[string]string{
			"":                      "Server Clients Memory Persistence Stats Replication CPU Modules Errorstats Cluster Keyspace Dqd Wheel Clock Storage Raft",
			" default":              "Server Clients Memory Persistence Stats Replication CPU Modules Errorstats Cluster Keyspace Dqd Wheel Clock Storage Raft",
			" ALL":                  "Server Clients Memory Persistence Stats Replication CPU Modules Commandstats Errorstats Latencystats Cluster Keyspace Dqd Wheel Clock Storage Raft",
			" everything":           "Server Clients Memory Persistence Stats Replication CPU Modules Commandstats Errorstats Latencystats Cluster Keyspace Dqd Wheel Clock Storage Raft",
			" Raft":                 "Raft",
			" storage nosuch CPU":   "CPU Storage",
			" nosuch":               "",
			" default latencystats": "Server Clients Memory Persistence Stats Replication CPU Modules Errorstats Latencystats Cluster Keyspace Dqd Wheel Clock Storage Raft",
		} {
			c.send("INFO" + asked + "\r\n")
			info := c.bulk()
			var got []string
			for _, m := range titles.FindAllStringSubmatch(info, -1) {
				got = append(got, m[1])
			}
			if strings.Join(got, " ") != want {
				r.t.Errorf("INFO%s: %v", asked, got)
			}
			for _, line := range strings.Split(strings.TrimSpace(info), "\r\n") { // what parsers of INFO take
				if line != "" && !strings.HasPrefix(line, "# ") && !regexp.MustCompile(`^[a-zA-Z0-9_|.]+:`).MatchString(line) {
					r.t.Errorf("%q", line)
				}
			}
		}
		c.send("INFO raft\r\n")
		if info := c.bulk(); info != "# Raft\r\nraft_term:7\r\n" {
			r.t.Errorf("%q", info)
		}
	})
}

// The fields that redis-cli --stat, redis_exporter and RedisInsight read.
func TestInfoHasWhatToolsRead(t *testing.T) {
	r := newRig(t, Options{}, true)
	c := r.client()
	c.send("INFO everything\r\n")
	info := c.bulk()
	for _, name := range strings.Fields(`
		redis_version redis_build_id redis_mode os arch_bits process_id run_id tcp_port uptime_in_seconds uptime_in_days hz config_file executable server_time_usec
		connected_clients blocked_clients maxclients tracking_clients clients_in_timeout_table
		used_memory used_memory_human used_memory_rss used_memory_rss_human used_memory_peak used_memory_peak_human used_memory_lua used_memory_overhead
		used_memory_dataset maxmemory maxmemory_human maxmemory_policy total_system_memory total_system_memory_human mem_fragmentation_ratio mem_fragmentation_bytes
		mem_clients_normal mem_clients_slaves mem_allocator active_defrag_running lazyfree_pending_objects
		loading async_loading rdb_changes_since_last_save rdb_bgsave_in_progress rdb_last_save_time rdb_last_bgsave_status rdb_last_bgsave_time_sec rdb_current_bgsave_time_sec
		aof_enabled aof_rewrite_in_progress aof_rewrite_scheduled aof_last_rewrite_time_sec aof_current_rewrite_time_sec aof_last_bgrewrite_status aof_last_write_status
		total_connections_received total_commands_processed instantaneous_ops_per_sec total_net_input_bytes total_net_output_bytes instantaneous_input_kbps
		instantaneous_output_kbps rejected_connections sync_full sync_partial_ok sync_partial_err expired_keys evicted_keys keyspace_hits keyspace_misses
		pubsub_channels pubsub_patterns latest_fork_usec migrate_cached_sockets total_error_replies unexpected_error_replies total_reads_processed total_writes_processed
		role connected_slaves master_replid master_repl_offset second_repl_offset repl_backlog_active repl_backlog_size repl_backlog_first_byte_offset repl_backlog_histlen
		used_cpu_sys used_cpu_user used_cpu_sys_children used_cpu_user_children cluster_enabled db0`) {
		if n := strings.Count(info, "\r\n"+name+":"); n != 1 {
			t.Errorf("INFO has %s %d times", name, n)
		}
	}
	if regexp.MustCompile(`total_(net_input_bytes|reads_processed):0\r`).MatchString(info) {
		t.Error("input is not counted")
	}
}

// INFO and the like answer while the data is loaded.
func TestWhileLoading(t *testing.T) {
	both(t, Options{Dir: "loading"}, func(r *rig) {
		c := r.client()
		c.send("INFO persistence\r\n")
		if info := c.bulk(); !strings.Contains(info, "\r\nloading:1\r\n") {
			r.t.Error(info)
		}
		c.ask("ROLE", "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n")
		c.ask("SLOWLOG LEN", ":0\r\n")
		c.ask("READONLY", "+OK\r\n")
		c.send("MEMORY STATS\r\n")
		if got := c.reply(); got[1] != "peak.allocated" {
			r.t.Errorf("%q", got)
		}
		c.send("MEMORY DOCTOR\r\n")
		if got := c.bulk(); !strings.Contains(got, "That is fine.") {
			r.t.Errorf("%q", got)
		}
	})
}

// CLUSTER as without a cluster, and as a cluster of one node at the address that
// the client connected to.
func TestCluster(t *testing.T) {
	r := newRig(t, Options{}, true)
	c := r.client()
	for _, sub := range []string{"INFO", "SLOTS", "SHARDS", "NODES", "MYID", "KEYSLOT q", "COUNTKEYSINSLOT x", "HELP"} {
		c.ask("CLUSTER "+sub, "-ERR This instance has cluster support disabled\r\n")
	}

	r = newRig(t, Options{Cluster: true}, true)
	c = r.client()
	_, port, _ := strings.Cut(r.addr, ":")
	c.send("CLUSTER SLOTS\r\n")
	if got, want := c.reply(), []string{"*1", "*3", ":0", ":16383", "*4", "127.0.0.1", ":" + port, r.runID, "*0"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	c.send("CLUSTER SHARDS\r\n")
	if got, want := strings.Join(c.reply(), " "), "*1 *4 slots *2 :0 :16383 nodes *1 *14 id "+r.runID+" port :"+port+" ip 127.0.0.1 endpoint 127.0.0.1 role master replication-offset :0 health online"; got != want {
		t.Errorf("%q", got)
	}
	c.send("CLUSTER NODES\r\n")
	var n int
	fmt.Sscan(port, &n)
	if got, want := c.bulk(), fmt.Sprintf("%s 127.0.0.1:%d@%d myself,master - 0 0 1 connected 0-16383\n", r.runID, n, n+10000); got != want {
		t.Errorf("%q", got)
	}
	c.send("CLUSTER INFO\r\n")
	if got := c.bulk(); !strings.Contains(got, "cluster_state:ok\r\n") || !strings.Contains(got, "cluster_slots_ok:16384\r\n") {
		t.Errorf("%q", got)
	}
	c.ask("CLUSTER KEYSLOT {foo}bar", ":12182\r\n")
	c.ask("CLUSTER COUNTKEYSINSLOT 16384", "-ERR Invalid slot\r\n")
	c.send("HELLO\r\n")
	if got := strings.Join(c.reply(), " "); !strings.Contains(got, " mode cluster ") {
		t.Errorf("%q", got)
	}
	c.send("INFO server cluster\r\n")
	if got := c.bulk(); !strings.Contains(got, "redis_mode:cluster\r\n") || !strings.Contains(got, "cluster_enabled:1\r\n") {
		t.Errorf("%q", got)
	}
}

// SHUTDOWN asks the process to end, once, and closes without a reply; what was
// sent before it is answered, what stands behind it is not.
func TestShutdownCommand(t *testing.T) {
	var asked atomic.Int32
	both(t, Options{Stop: func() { asked.Add(1) }}, func(r *rig) {
		asked.Store(0)
		c := r.client()
		c.ask("SHUTDOWN ABORT", "-ERR No shutdown in progress.\r\n")
		c.ask("SHUTDOWN SOON", "-ERR syntax error: 'SOON' is none of NOSAVE, SAVE, NOW, FORCE, ABORT\r\n")
		if asked.Load() != 0 {
			r.t.Error("asked by a refused command")
		}
		c.sends("DQADD q a x\r\nSHUTDOWN NOSAVE\r\nPING\r\n")
		if got := c.expectClosed(); got != "$1\r\na\r\n" {
			r.t.Errorf("%q", got)
		}
		if got := func() string { c := r.client(); c.send("SHUTDOWN\r\n"); return c.expectClosed() }(); got != "" || asked.Load() != 1 {
			r.t.Errorf("%q, asked %d times", got, asked.Load())
		}
	})
	both(t, Options{}, func(r *rig) {
		r.client().ask("SHUTDOWN", "-ERR Errors trying to SHUTDOWN: this server ends with the program that it is part of\r\n")
	})
}

// CLIENT LIST has the fields of Redis, with the latest command; its filters; and
// texts of a bounded length.
func TestClientList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{}, false)
		a, b := r.client(), r.client()
		a.ask("HELLO 3 SETNAME one", "%7\r\n")
		for a.line() != "*0" {
		}
		b.send("DQPOP q BLOCK 20s\r\n")
		synctest.Wait()
		time.Sleep(5 * time.Second)
		a.send("CLIENT LIST\r\n")
		lines := strings.Split(strings.TrimSuffix(a.bulk(), "\n"), "\n")
		if len(lines) != 2 || !strings.Contains(lines[0], "id=1 addr=pipe laddr=pipe name=one age=5 idle=5 flags=N ") || !strings.Contains(lines[0], " cmd=client|list user=default redir=-1 resp=3 ") ||
			!strings.Contains(lines[1], "flags=b ") || !strings.Contains(lines[1], " cmd=dqpop ") {
			t.Errorf("%q", lines)
		}
		for _, line := range lines {
			for _, field := range strings.Fields("id addr laddr name age idle flags db sub psub ssub multi watch qbuf qbuf-free argv-mem multi-mem obl oll omem tot-mem events cmd user redir resp lib-name lib-ver") {
				if strings.Count(" "+line, " "+field+"=") != 1 {
					t.Errorf("%s in %s", field, line)
				}
			}
		}
		for filter, want := range map[string]int{"TYPE normal": 2, "TYPE pubsub": 0, "TYPE replica": 0, "ID 2": 1, "ID 1 2 3": 2, "ID 9": 0} {
			a.send("CLIENT LIST " + filter + "\r\n")
			if got := strings.Count(a.bulk(), "\n"); got != want {
				t.Errorf("%s: %d", filter, got)
			}
		}
		a.ask("CLIENT LIST ID 0", "-ERR client-id should be greater than 0\r\n")
		for n, want := range map[int]string{255: "+OK\r\n", 256: "-ERR the client name has 256 bytes: use at most 255\r\n"} {
			a.ask("CLIENT SETNAME "+strings.Repeat("n", n), want)
			a.ask("CLIENT SETINFO lib-name "+strings.Repeat("n", n), strings.Replace(want, "client name", "lib-name", 1))
		}
		a.ask("CLIENT KILL MAXAGE 6", ":0\r\n")
		a.ask("CLIENT KILL MAXAGE 5 USER somebody", ":0\r\n")
		a.ask("CLIENT KILL MAXAGE 5 USER default LADDR pipe ADDR pipe TYPE normal SKIPME yes", ":1\r\n")
		b.expectClosed()
		a.ask("CLIENT KILL pipe", "+OK\r\n")
		a.expectClosed()
	})
}

// No password and no payload is in anything that shows what goes on, nor in the log.
func TestNothingShowsSecrets(t *testing.T) {
	const canary = "canary-9b27"
	both(t, Options{Password: canary, SlowerThan: 1, LatencyEvent: 1}, func(r *rig) {
		c := r.client()
		c.ask("AUTH "+canary, "+OK\r\n")
		c.ask("CONFIG SET slowlog-log-slower-than 0 slowlog-max-len 1000", "+OK\r\n")
		for _, command := range []string{
			"AUTH " + canary, "AUTH default " + canary, "AUTH wrong-" + canary, "HELLO 2 AUTH default " + canary, "HELLO 3 AUTH wrong wrong-" + canary,
			"CONFIG SET requirepass " + canary, "CONFIG SET timeout " + canary, "CONFIG SET nosuch " + canary, "CONFIG GET " + canary,
			"ECHO " + canary, "PING " + canary, "DQADD q a " + canary, "DQADD q b x META user " + canary, "DQADD q c x DELAY " + canary,
			"DQMADD q JOBS 1 d " + canary + " 0", "DQNACK q a 1 REASON " + canary, "DQRESCHEDULE q a NOW PAYLOAD " + canary, "DQPOP q COUNT 10", "DQGET q a", "NOSUCH " + canary,
			"MULTI", "DQADD q e " + canary, "EXEC", "INFO " + canary, "SLOWLOG GET " + canary, "CLIENT KILL " + canary, "DEBUG " + canary, "COMMAND GETKEYS DQADD q a " + canary,
			"LATENCY HISTORY " + canary, "LATENCY RESET " + canary, "LATENCY HISTOGRAM " + canary, "SHUTDOWN " + canary,
		} {
			c.send(command + "\r\n")
			c.reply()
		}
		c.send("SLOWLOG LEN\r\n")
		if n := c.reply()[0]; len(n) < 3 {
			r.t.Error("the slow log has", n)
		}
		for _, command := range []string{
			"CLIENT LIST", "CLIENT INFO", "SLOWLOG GET -1", "CONFIG GET *", "INFO everything", "LATENCY LATEST", "LATENCY HISTOGRAM", "LATENCY DOCTOR",
			"MEMORY STATS", "MEMORY DOCTOR", "COMMAND DOCS", "ROLE", "HELLO",
		} {
			c.send(command + "\r\n")
			if got := strings.Join(c.reply(), "\n"); strings.Contains(got, canary) || got == "" {
				r.t.Errorf("%s shows\n%s", command, got)
			}
		}
		if strings.Contains(r.logs.String(), canary) {
			r.t.Error(r.logs.String())
		}
		if strings.Contains(fmt.Sprintf("%+v %+v", r.opts, r.live.Load()), canary) {
			r.t.Error("the options print the password")
		}
	})
}
