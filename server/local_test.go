package server

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/redis/go-redis/v9"

	"dqd/commands"
)

// session plays lines of "> command" and the reply behind them, as they appear on
// the wire with CRLF left out.
func session(r *rig, text string) {
	r.t.Helper()
	c := r.client()
	for _, part := range strings.Split("\n"+strings.TrimSpace(text), "\n> ")[1:] {
		cmd, reply, answered := strings.Cut(part, "\n")
		var want strings.Builder
		if answered {
			want.WriteString(strings.ReplaceAll(reply, "\n", "\r\n") + "\r\n")
		}
		c.send(cmd + "\r\n")
		got := make([]byte, want.Len())
		c.SetReadDeadline(time.Now().Add(patience))
		n, err := readFull(c, got)
		if string(got[:n]) != want.String() {
			r.t.Fatalf("%s\ngot  %q (%v)\nwant %q", cmd, got[:n], err, want.String())
		}
	}
	c.Close()
}

func readFull(c *client, b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		var k int
		k, err = c.r.Read(b[n:])
		n += k
	}
	return n, err
}

func TestConnectionCommands(t *testing.T) {
	both(t, Options{Wall: func() int64 { return 1_800_000_000_123_456_789 }}, func(r *rig) {
		session(r, `
> PING
+PONG
> ping hello
$5
hello
> PING a b
-ERR wrong number of arguments for 'ping' command
> ECHO "\x00\r"
$2
`+"\x00\r"+`
> SELECT 0
+OK
> SELECT 1
-ERR DB index is out of range
> SELECT x
-ERR value is not an integer or out of range
> TIME
*2
$10
1800000000
$6
123456
> AUTH pw
-ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?
> AUTH default anything
+OK
> AUTH somebody pw
-WRONGPASS invalid username-password pair or user is disabled.
> HELLO 4
-NOPROTO unsupported protocol version
> HELLO x
-ERR Protocol version is not an integer or out of range
> CLIENT GETNAME
$-1
> CLIENT SETNAME "a b"
-ERR Client names cannot contain spaces, newlines or special characters.
> CLIENT SETNAME me
+OK
> CLIENT GETNAME
$2
me
> CLIENT SETINFO LIB-NAME go-redis(,go1.26)
+OK
> client setinfo LIB-VER 9
+OK
> CLIENT NO-EVICT on
+OK
> CLIENT NO-TOUCH ON
+OK
> CLIENT TRACKING ON OPTIN
+OK
> CLIENT MAINT_NOTIFICATIONS on moving-endpoint-type internal-ip
-ERR unknown subcommand 'MAINT_NOTIFICATIONS'. Try CLIENT HELP.
> CLIENT KILL 1.2.3.4:5
-ERR No such client
> CLIENT KILL ID 999
:0
> CLIENT UNBLOCK 999
:0
> RESET
+RESET
> CLIENT GETNAME
$-1
> EXEC
-ERR EXEC without MULTI
> DISCARD
-ERR DISCARD without MULTI
> MULTI
+OK
> DQADD q a x
+QUEUED
> PING
+QUEUED
> NOSUCH
-ERR unknown command 'NOSUCH', with args beginning with: 
> EXEC
-EXECABORT Transaction discarded because of previous errors.
> MULTI
+OK
> DQADD q a x
+QUEUED
> DISCARD
+OK
> MULTI x
-ERR wrong number of arguments for 'multi' command
> DQADD q a x
-`+string(commands.ErrMultiRefused)+`
> RESET
+RESET
> DQADD q b x
$1
b
> CLIENT REPLY SKIP
> PING a
> PING b
$1
b
> CLIENT REPLY OFF
> PING
> DQADD q c x
> CLIENT REPLY ON
+OK
> CONFIG GET save
*2
$4
save
$0

> CONFIG GET requirepass
*0
> CONFIG GET APPEND* save nosuch
*6
$11
appendfsync
$6
always
$10
appendonly
$3
yes
$4
save
$0

> CONFIG SET databases 5
-ERR CONFIG SET failed (possibly related to argument 'databases') - can't set immutable config: dqd has this value and no other
> CONFIG SET nosuch 5
-ERR Unknown option or number of arguments for CONFIG SET - 'nosuch'
> CONFIG RESETSTAT
+OK
> INFO nosuch
$0

> COMMAND COUNT
:`+itoa(len(commands.All()))+`
> COMMAND GETKEYS DQADD q a x
*1
$1
q
> QUIT
+OK
`)
		if submitted, _, _, _ := r.sh.counts(); submitted != 2 {
			r.t.Error("submitted", submitted)
		}
	})
}

// Without the password only AUTH, HELLO, QUIT and RESET do anything, within
// Redis's limits; with it everything does.
func TestPassword(t *testing.T) {
	const secret = "canary-7f3a"
	both(t, Options{Password: secret}, func(r *rig) {
		session(r, `
> PING
-NOAUTH Authentication required.
> DQADD q a x
-NOAUTH Authentication required.
> NOSUCH
-ERR unknown command 'NOSUCH', with args beginning with: 
> HELLO 3
-NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time
> AUTH wrong
-WRONGPASS invalid username-password pair or user is disabled.
> HELLO 3 AUTH default wrong
-WRONGPASS invalid username-password pair or user is disabled.
> AUTH other `+secret+`
-WRONGPASS invalid username-password pair or user is disabled.
> MULTI
-NOAUTH Authentication required.
> DISCARD
-NOAUTH Authentication required.
> AUTH `+secret+`
+OK
> PING
+PONG
> RESET
+RESET
> PING
-NOAUTH Authentication required.
> AUTH default `+secret+`
+OK
> CONFIG GET requirepass
*0
`)
		c := r.client()
		c.send("*11\r\n")
		if got := c.expectClosed(); got != "-ERR Protocol error: unauthenticated multibulk length\r\n" {
			r.t.Errorf("%q", got)
		}
		c = r.client()
		c.send("*1\r\n$16385\r\n")
		if got := c.expectClosed(); got != "-ERR Protocol error: unauthenticated bulk length\r\n" {
			r.t.Errorf("%q", got)
		}
		// The limits end with AUTH, also within one write.
		c = r.client()
		big := strings.Repeat("x", 20_000)
		c.sends("AUTH " + secret + "\r\n" + respCommand("DQMADD", "q", "JOBS", "3", "a", big, "0", "b", big, "0", "c", big, "0") + "PING\r\n")
		c.expect("+OK\r\n-BADTIME")
		c.line()
		c.expect("+PONG\r\n")
		for _, cmd := range []string{"INFO everything", "CONFIG GET *", "CLIENT LIST"} {
			c.send(cmd + "\r\nECHO end\r\n")
			var all string
			for !strings.Contains(all, "$3\r\nend") {
				all += c.line() + "\r\n"
			}
			if strings.Contains(all, secret) {
				r.t.Error(cmd, "shows the password")
			}
		}
		if strings.Contains(r.logs.String(), secret) || strings.Contains(fmt.Sprintf("%+v", r.opts), secret) {
			r.t.Error("the password was logged")
		}
		if n := r.counters.authFailures.Load(); n != 3 {
			r.t.Error(n)
		}
	})
}

// A refused MULTI never lets its commands run, also before AUTH.
func TestRefusedMultiRunsNothing(t *testing.T) {
	both(t, Options{Password: "p"}, func(r *rig) {
		c := r.client()
		c.send("MULTI\r\nDQADD q a x\r\nEXEC\r\nAUTH p\r\nMULTI x\r\nDQADD q b x\r\nHELLO\r\nDQADD q c x\r\nEXEC\r\nPING\r\n")
		c.expect("-NOAUTH Authentication required.\r\n-NOAUTH Authentication required.\r\n-EXECABORT Transaction discarded because of: NOAUTH Authentication required.\r\n+OK\r\n")
		c.expect("-ERR wrong number of arguments for 'multi' command\r\n")
		for range 3 {
			c.expect("-" + string(commands.ErrMultiRefused) + "\r\n")
		}
		c.expect("-" + string(commands.ErrExecAborted) + "\r\n+PONG\r\n")
		for _, login := range []string{"AUTH p", "HELLO 2 AUTH default p", "AUTH wrong\r\nAUTH p", "DQADD q a x\r\nAUTH p"} {
			c := r.client()
			for line := range strings.SplitSeq("MULTI\r\n"+login, "\r\n") {
				c.send(line + "\r\n")
				if reply := c.line(); reply[0] == '*' { // HELLO's
					for c.line() != "*0" {
					}
				}
			}
			c.ask("DQADD q a x", "-"+string(commands.ErrMultiRefused)+"\r\n")
			c.ask("EXEC", "-"+string(commands.ErrExecAborted)+"\r\n")
			c.ask("PING", "+PONG\r\n")
		}
		c = r.client()
		c.ask("MULTI", "-NOAUTH Authentication required.\r\n")
		c.ask("DISCARD", "-NOAUTH Authentication required.\r\n")
		c.ask("AUTH p", "+OK\r\n")
		c.ask("PING", "+PONG\r\n")
		if n, _, _, _ := r.sh.counts(); n != 0 {
			r.t.Error(n, "commands ran")
		}
	})
}

func TestUnblock(t *testing.T) {
	both(t, Options{}, func(r *rig) {
		worker, admin := r.client(), r.client()
		worker.ask("CLIENT ID", ":1\r\n")
		for mode, want := range map[string]string{"": "*-1\r\n", " TIMEOUT": "*-1\r\n", " ERROR": "-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n"} {
			admin.ask("CLIENT UNBLOCK 1"+mode, ":0\r\n")
			worker.send("DQPOP q BLOCK 20s\r\n")
			until(r.t, "blocked", func() bool { return r.counters.blocked.Load() == 1 })
			admin.send("CLIENT LIST ID 1\r\n")
			if line := admin.bulk(); !strings.Contains(line, " flags=b ") {
				r.t.Error(line)
			}
			admin.ask("CLIENT UNBLOCK 1"+mode, ":1\r\n")
			worker.expect(want)
		}
		admin.ask("CLIENT UNBLOCK x", "-ERR value is not an integer or out of range: client id 'x', use 1 to 9223372036854775807\r\n")
	})
}

func TestKill(t *testing.T) {
	both(t, Options{}, func(r *rig) {
		a, b, waiting := r.client(), r.client(), r.client()
		a.ask("CLIENT ID", ":1\r\n")
		b.ask("CLIENT ID", ":2\r\n")
		waiting.ask("CLIENT ID", ":3\r\n")
		waiting.send("DQPOP q BLOCK 20s\r\n")
		a.ask("CLIENT KILL ID 2", ":1\r\n")
		b.expectClosed()
		a.ask("CLIENT KILL TYPE normal", ":1\r\n")
		waiting.expectClosed()
		until(r.t, "forgotten", func() bool { return len(r.connections()) == 1 })
		a.ask("CLIENT KILL ID 1 SKIPME no", ":1\r\n")
		if got := a.expectClosed(); got != "" {
			r.t.Errorf("%q", got)
		}
	})
}

// INFO holds what clients and redis-cli --stat look for.
func TestInfo(t *testing.T) {
	both(t, Options{Version: "1.2.3"}, func(r *rig) {
		c := r.client()
		c.send("INFO\r\n")
		info := c.bulk()
		for _, field := range strings.Fields(`redis_version:7.4.0 dqd_version:1.2.3 redis_mode:standalone run_id: tcp_port: uptime_in_seconds:
			connected_clients:1 blocked_clients:0 used_memory: used_memory_human: maxmemory_policy:noeviction loading:0 role:master connected_slaves:0
			cluster_enabled:0 total_connections_received:1 total_commands_processed: instantaneous_ops_per_sec: aof_enabled: rdb_bgsave_in_progress:0
			db0:keys=1,expires=0,avg_ttl=0 jobs_ready:2 clock_state:ok durability:fsync`) {
			if !strings.Contains(info, "\r\n"+field) {
				r.t.Errorf("no %s in\n%s", field, info)
			}
		}
		for _, section := range strings.Fields("Server Clients Memory Persistence Stats Replication CPU Modules Errorstats Cluster Keyspace Dqd Wheel Clock") {
			if !strings.Contains(info, "# "+section+"\r\n") {
				r.t.Error("no section", section)
			}
		}
		if strings.Contains(info, "cmdstat_") {
			r.t.Error("commandstats by default")
		}
		c.send("INFO SERVER commandstats\r\n")
		if info := c.bulk(); !strings.Contains(info, "cmdstat_info:calls=1,") || strings.Contains(info, "# Clients") {
			r.t.Error(info)
		}
	})
}

// A real client connects in both protocols, with its own handshake, and its
// transactions run nothing.
func TestGoRedis(t *testing.T) {
	for _, protocol := range []int{2, 3} {
		for _, password := range []string{"", "pw"} {
			t.Run(fmt.Sprint(protocol, password), func(t *testing.T) {
				r := newRig(t, Options{Password: password}, true)
				c := redis.NewClient(&redis.Options{Addr: r.addr, Protocol: protocol, Password: password, ClientName: "me"})
				defer c.Close()
				ctx, cancel := context.WithTimeout(context.Background(), patience)
				defer cancel()
				if err := c.Ping(ctx).Err(); err != nil {
					t.Fatal(err)
				}
				if name := c.ClientGetName(ctx).Val(); name != "me" {
					t.Error(name)
				}
				if id, err := c.Do(ctx, "DQADD", "q", "a", "payload").Text(); id != "a" || err != nil {
					t.Error(id, err)
				}
				got, err := c.Do(ctx, "DQPOP", "q", "BLOCK", "1000").Slice()
				if err != nil || fmt.Sprint(got) != "[[q id payload 1 1 0]]" {
					t.Error(got, err)
				}
				if err := c.Do(ctx, "DQPOP", "q").Err(); err != redis.Nil {
					t.Error(err)
				}
				if all := c.Command(ctx).Val(); all["dqadd"] == nil || all["dqadd"].FirstKeyPos != 1 {
					t.Error(all)
				}
				if save, err := c.ConfigGet(ctx, "save").Result(); err != nil || len(save) != 1 {
					t.Error(save, err)
				}
				if lines := c.ClientList(ctx).Val(); !strings.Contains(lines, "lib-name=go-redis") {
					t.Error(lines)
				}
				before, _, _, _ := r.sh.counts()
				_, err = c.TxPipelined(ctx, func(p redis.Pipeliner) error {
					p.Do(ctx, "DQADD", "q", "t", "x")
					return nil
				})
				if after, _, _, _ := r.sh.counts(); err != nil || after != before+1 {
					t.Error(err, after-before)
				}
				cmds, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
					for i := range 1000 {
						p.Do(ctx, "DQADD", "q", i, "x")
					}
					return nil
				})
				if err != nil || cmds[999].(*redis.Cmd).Val() != "999" {
					t.Error(err)
				}
				for _, cmd := range []string{"TIME", "INFO", "ECHO x", "SELECT 0", "COMMAND DOCS", "CLIENT INFO"} {
					var args []any
					for _, a := range strings.Fields(cmd) {
						args = append(args, a)
					}
					if err := c.Do(ctx, args...).Err(); err != nil {
						t.Error(cmd, err)
					}
				}
			})
		}
	}
}

// Every command of the table is either answered here or goes to the shard: none
// falls between.
func TestEveryCommandIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{}, false)
		var try func(rows []*commands.Command)
		try = func(rows []*commands.Command) {
			for _, row := range rows {
				if row.Subcommands != nil {
					try(row.Subcommands)
				}
				for _, filler := range []string{"1", "on", "id"} {
					args := strings.Split(row.Name, "|")
					for n := max(row.Arity, -row.Arity); len(args) < n; {
						args = append(args, filler)
					}
					c := r.client()
					c.send(respCommand(args...) + respCommand("CLIENT", "REPLY", "ON") + respCommand("ECHO", "end"))
					for line := ""; line != "end" && row.Name != "quit" && row.Name != "multi"; {
						if line = c.line(); strings.HasPrefix(line, "-ERR internal") {
							t.Error(args, line)
							break
						}
					}
					c.Close()
				}
			}
		}
		try(commands.All())
	})
}

func TestHTTP(t *testing.T) {
	r := newRig(t, Options{Dir: "loading"}, true)
	web := httptest.NewServer(r.HTTP().Handler)
	defer web.Close()
	get := func(path string) (int, string) {
		resp, err := http.Get(web.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var b strings.Builder
		if err := resp.Write(&b); err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, b.String()
	}
	for path, want := range map[string]int{"/livez": 200, "/readyz": 503, "/metrics": 200, "/": 404} {
		if code, _ := get(path); code != want {
			t.Error(path, code)
		}
	}
	r.Attach(r.sh)
	if code, _ := get("/readyz"); code != 200 {
		t.Error("/readyz", code)
	}
	c := r.client()
	c.ask("DQADD q a x", "$1\r\na\r\n")
	c.ask("DQPOP q COUNT 0", "-ERR value is not an integer or out of range: COUNT '0', use 1 to 1000\r\n")
	o := r.Observer()
	o.Lateness(1_500_000)
	o.TimerError(100)
	o.Fsync(200_000)
	o.Apply(5_000)
	_, text := get("/metrics")
	for _, want := range []string{
		`dqd_commands_total{command="dqadd",outcome="ok"} 1`, `dqd_commands_total{command="dqpop",outcome="error"} 1`,
		`dqd_connected_clients 1`, `dqd_jobs{state="ready"} 2`, `dqd_delivery_lateness_seconds_count 1`, `dqd_delivery_lateness_seconds_sum 0.0015`,
		`dqd_log_fsync_seconds_count 1`, `dqd_timer_error_seconds_count 1`, `dqd_entry_apply_seconds_count 1`, `dqd_ready 1`, `go_goroutines`, `process_open_fds`,
		`dqd_connections_closed_total{reason="output-buffer"} 0`,
	} {
		if !strings.Contains(text, want) {
			t.Error("no", want)
		}
	}
	families, err := r.metrics.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "dqd_") {
			t.Error(p.Metric, p.Text)
		}
	}
}

// Wrong options are refused with their name.
func TestOptions(t *testing.T) {
	if _, err := New(Options{MaxClients: -1}); err == nil || !regexp.MustCompile(`MaxClients is -1`).MatchString(err.Error()) {
		t.Error(err)
	}
	if _, err := New(Options{}); err != nil {
		t.Error(err)
	}
}
