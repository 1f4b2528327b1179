package tests

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"dqd/tests/dqdtest"
)

// redisCli runs redis-cli against a server and returns what it prints.
func redisCli(t *testing.T, addr, stdin string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath("redis-cli")
	if err != nil {
		t.Fatal("redis-cli is missing: install Debian's redis-tools, or run ./test.sh once as root")
	}
	_, port, _ := net.SplitHostPort(addr)
	ctx, cancel := context.WithTimeout(t.Context(), 2*dqdtest.Deadline)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, append([]string{"-p", port}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "REDISCLI_AUTH=") })
	out, err := cmd.CombinedOutput()
	if err != nil && len(out) == 0 {
		t.Fatalf("redis-cli %q: %v", args, err)
	}
	return string(out)
}

// redis-cli: one command a call, RESP3, a session on standard input, and its
// bulk loader.
func TestRedisCli(t *testing.T) {
	server := dqdtest.Start(t, dqdtest.Options{})
	cli := func(stdin string, args ...string) string { return redisCli(t, server.Addr, stdin, args...) }
	check := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("redis-cli prints\n%s\nwant\n%s", got, want)
		}
	}
	check(cli("", "--no-raw", "DQADD", "orders", "order-42", `{"total":99}`, "DELAY", "10s"), "\"order-42\"\n")
	check(cli("", "--no-raw", "DQPOP", "orders"), "(nil)\n")
	check(cli("", "--no-raw", "DQCANCEL", "orders", "order-42"), "(integer) 1\n")
	check(cli("", "--no-raw", "DQGET", "orders", "order-42"), "(nil)\n")
	check(cli("", "DQADD", "orders", "a", "hello"), "a\n")
	if got := cli("", "-3", "--no-raw", "DQSTATS", "orders"); !strings.Contains(got, `"ready" => (integer) 1`) || !strings.Contains(got, `"added" => (integer) 2`) {
		t.Errorf("redis-cli -3 prints\n%s", got)
	}
	if got := cli("", "--no-raw", "DQADD", "orders", "a", "again"); !strings.HasPrefix(got, "(error) DUPID ") {
		t.Errorf("redis-cli prints %q", got)
	}

	// A session on standard input, as in a shell script.
	check(cli("DQADD s a 1\nDQADD s b 2 DELAY 1h\nDQLEN s\n"), "a\nb\n2\n")

	// A transaction; redis-cli follows what is queued.
	check(cli("MULTI\nDQADD tx a 1\nDQADD tx a 2 NX\nDQLEN tx\nEXEC\n", "--no-raw"), "OK\nQUEUED\nQUEUED\nQUEUED\n1) \"a\"\n2) (nil)\n3) (integer) 1\n")
	check(cli("MULTI\nDQADD tx b 1\nDISCARD\nDQLEN tx\n", "--no-raw"), "OK\nQUEUED\nOK\n(integer) 1\n")
	if got := cli("MULTI\nDQADD tx b 1\nDQADD tx a 1\nEXEC\n", "--no-raw"); !strings.Contains(got, "(error) EXECABORT Transaction discarded: command 2 (dqadd): DUPID ") {
		t.Errorf("redis-cli prints\n%s", got)
	}

	// --pipe ends with an ECHO of random bytes and compares.
	var load strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&load, "DQADD bulk job-%d payload DELAY 1h\r\n", i)
	}
	if got := cli(load.String(), "--pipe"); !strings.Contains(got, "errors: 0, replies: 1000") {
		t.Errorf("redis-cli --pipe prints\n%s", got)
	}
	check(cli("", "DQLEN", "bulk"), "1000\n")

	// Queues are keys.
	check(cli("", "--scan"), "orders\ns\ntx\nbulk\n")
	check(cli("", "--scan", "--pattern", "b*"), "bulk\n")
	if got := cli("", "--bigkeys"); !strings.Contains(got, "Sampled 4 keys in the keyspace!") || !strings.Contains(got, "4 dqueues") {
		t.Errorf("redis-cli --bigkeys prints\n%s", got)
	}
	if got := cli("", "--no-raw", "PING"); got != "PONG\n" {
		t.Errorf("redis-cli PING prints %q", got)
	}
	if got := cli("", "--no-raw", "-n", "0", "PING"); got != "PONG\n" {
		t.Errorf("redis-cli -n 0 PING prints %q", got)
	}
}

// redis-cli with a password.
func TestRedisCliAuthenticates(t *testing.T) {
	server := dqdtest.Start(t, dqdtest.Options{Password: password})
	if got := redisCli(t, server.Addr, "", "--no-raw", "DQLEN", "q"); got != "(error) NOAUTH Authentication required.\n" {
		t.Errorf("without a password redis-cli prints %q", got)
	}
	if got := redisCli(t, server.Addr, "", "--no-auth-warning", "-a", password, "--no-raw", "DQLEN", "q"); got != "(integer) 0\n" {
		t.Errorf("with the password redis-cli prints %q", got)
	}
	if got := redisCli(t, server.Addr, "", "--no-auth-warning", "-3", "--user", "default", "--pass", password, "--no-raw", "DQLEN", "q"); got != "(integer) 0\n" {
		t.Errorf("with user and password redis-cli -3 prints %q", got)
	}
}

// go-redis with its default options, through all that an application does.
func TestGoRedis(t *testing.T) {
	for _, protocol := range []int{2, 3} {
		t.Run(fmt.Sprintf("RESP%d", protocol), func(t *testing.T) {
			server := dqdtest.Start(t, dqdtest.Options{})
			rdb := redis.NewClient(&redis.Options{Addr: server.Addr, Protocol: protocol})
			defer rdb.Close()
			ctx := t.Context()

			if err := rdb.Ping(ctx).Err(); err != nil {
				t.Fatal(err)
			}
			id, err := rdb.Do(ctx, "DQADD", "orders", "order-42", `{"total":99}`).Text()
			if id != "order-42" || err != nil {
				t.Fatalf("DQADD: %q, %v", id, err)
			}
			jobs, err := rdb.Do(ctx, "DQPOP", "orders").Slice()
			if err != nil || len(jobs) != 1 {
				t.Fatalf("DQPOP: %v, %v", jobs, err)
			}
			job := jobs[0].([]any)
			if job[0] != "orders" || job[1] != "order-42" || job[2] != `{"total":99}` || job[4] != int64(1) {
				t.Errorf("DQPOP: %v", job)
			}
			if n, err := rdb.Do(ctx, "DQACK", "orders", "order-42", job[3]).Int(); n != 1 || err != nil {
				t.Errorf("DQACK: %v, %v", n, err)
			}

			// Null is redis.Nil, an error keeps its code.
			if err := rdb.Do(ctx, "DQPOP", "orders").Err(); !errors.Is(err, redis.Nil) {
				t.Errorf("DQPOP of an empty queue: %v", err)
			}
			if err := rdb.Do(ctx, "DQGET", "orders", "none").Err(); !errors.Is(err, redis.Nil) {
				t.Errorf("DQGET of an unknown job: %v", err)
			}
			if err := rdb.Do(ctx, "DQADD", "orders", "a", "x", "DELAY", "1.5").Err(); err == nil || !strings.HasPrefix(err.Error(), "BADTIME ") {
				t.Errorf("DQADD with a bad delay: %v", err)
			}

			// A map is a map in RESP3, pairs in RESP2; MapStringInterface-like readers take both.
			stats, err := rdb.Do(ctx, "DQSTATS", "orders").Result()
			if err != nil {
				t.Fatal(err)
			}
			if added := field(stats, "added"); added != int64(1) {
				t.Errorf("DQSTATS: added is %v in %v", added, stats)
			}

			// A worker that blocks, on a connection of its own.
			popped := make(chan error, 1)
			go func() {
				got, err := rdb.Do(ctx, "DQPOP", "orders", "BLOCK", "4s").Slice()
				if err == nil && (len(got) != 1 || got[0].([]any)[1] != "due-soon") {
					err = fmt.Errorf("popped %v", got)
				}
				popped <- err
			}()
			if err := rdb.Do(ctx, "DQADD", "orders", "due-soon", "x", "DELAY", "50ms").Err(); err != nil {
				t.Fatal(err)
			}
			if err := <-popped; err != nil {
				t.Errorf("blocking DQPOP: %v", err)
			}

			// One MiB of every byte.
			binary := bytes.Repeat([]byte("\x00\x01\xfe\xff\r\n$*"), 1<<20/8)
			if err := rdb.Do(ctx, "DQADD", "big", "a", binary).Err(); err != nil {
				t.Fatal(err)
			}
			got, err := rdb.Do(ctx, "DQPOP", "big").Slice()
			if err != nil || got[0].([]any)[2] != string(binary) {
				t.Errorf("a payload of 1 MiB came back changed: %v", err)
			}

			pipeline(t, rdb)
		})
	}
}

// go-redis sends MULTI, the commands and EXEC in one write; what a refused command
// stands among has not happened.
func TestGoRedisTransactions(t *testing.T) {
	for _, protocol := range []int{2, 3} {
		t.Run(fmt.Sprintf("RESP%d", protocol), func(t *testing.T) {
			server := dqdtest.Start(t, dqdtest.Options{})
			rdb := redis.NewClient(&redis.Options{Addr: server.Addr, Protocol: protocol})
			defer rdb.Close()
			ctx := t.Context()
			answers, err := rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
				p.Do(ctx, "DQADD", "orders", "order-42", "x")
				p.Do(ctx, "DQADD", "mail", "m1", "x", "DELAY", "1h")
				p.Do(ctx, "DQPOP", "orders")
				p.Do(ctx, "DQSTATS", "mail")
				p.Ping(ctx)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if id, err := answers[0].(*redis.Cmd).Text(); id != "order-42" || err != nil {
				t.Errorf("DQADD: %q, %v", id, err)
			}
			jobs, err := answers[2].(*redis.Cmd).Slice()
			if err != nil || len(jobs) != 1 || jobs[0].([]any)[1] != "order-42" {
				t.Errorf("DQPOP: %v, %v", jobs, err)
			}
			if stats, err := answers[3].(*redis.Cmd).Result(); field(stats, "delayed") != int64(1) || err != nil {
				t.Errorf("DQSTATS: %v, %v", stats, err)
			}
			_, err = rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
				p.Do(ctx, "DQADD", "orders", "order-43", "x")
				p.Do(ctx, "DQADD", "mail", "m1", "x")
				return nil
			})
			if err == nil || !strings.HasPrefix(err.Error(), "EXECABORT Transaction discarded: command 2 (dqadd): DUPID ") {
				t.Errorf("a transaction with an error: %v", err)
			}
			_, err = rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
				p.Do(ctx, "DQADD", "orders", "order-43", "x")
				p.Do(ctx, "DQADD", "mail", "m2", "x", "DELAY", "1.5")
				return nil
			})
			if err == nil || !strings.HasPrefix(err.Error(), "BADTIME ") && !strings.HasPrefix(err.Error(), "EXECABORT ") {
				t.Errorf("a transaction with a refused command: %v", err)
			}
			if n, err := rdb.Do(ctx, "DQLEN", "orders").Int(); n != 1 || err != nil {
				t.Errorf("%d orders, %v", n, err)
			}
			err = rdb.Watch(ctx, func(*redis.Tx) error { t.Error("it goes on"); return nil }, "orders")
			if err == nil || !strings.HasPrefix(err.Error(), "ERR WATCH is not supported") {
				t.Errorf("Watch: %v", err)
			}
		})
	}
}

// pipeline adds 10,000 jobs in one pipeline, then takes and acks them.
func pipeline(t *testing.T, rdb *redis.Client) {
	t.Helper()
	const n = 10_000
	ctx := t.Context()
	adds, err := rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range n {
			p.Do(ctx, "DQADD", "pipe", fmt.Sprintf("job-%d", i), i, "PRI", 7)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("pipeline: %v", err)
	}
	for i, add := range adds {
		if id, err := add.(*redis.Cmd).Text(); id != fmt.Sprintf("job-%d", i) || err != nil {
			t.Fatalf("answer %d of the pipeline: %q, %v", i, id, err)
		}
	}
	seen := 0
	for seen < n {
		jobs, err := rdb.Do(ctx, "DQPOP", "pipe", "COUNT", 1000).Slice()
		if err != nil {
			t.Fatalf("DQPOP after %d jobs: %v", seen, err)
		}
		args := []any{"DQACK", "pipe"}
		for _, j := range jobs {
			job := j.([]any)
			if want := fmt.Sprintf("job-%d", seen); job[1] != want {
				t.Fatalf("job %d is %v, want %s", seen, job[1], want)
			}
			seen++
			args = append(args, job[1], job[3])
		}
		if acked, err := rdb.Do(ctx, args...).Int(); acked != len(jobs) || err != nil {
			t.Fatalf("DQACK of %d jobs: %d, %v", len(jobs), acked, err)
		}
	}
}

// field reads a field of a map reply, RESP2 or RESP3.
func field(reply any, name string) any {
	switch reply := reply.(type) {
	case map[any]any:
		return reply[name]
	case []any:
		for i := 0; i+1 < len(reply); i += 2 {
			if reply[i] == name {
				return reply[i+1]
			}
		}
	}
	return nil
}

// A server that comes back: go-redis connects again by itself, and nothing is lost.
func TestGoRedisReconnects(t *testing.T) {
	server := dqdtest.Start(t, dqdtest.Options{})
	addr := server.Addr
	// The server comes back on another port; the dialer follows.
	rdb := redis.NewClient(&redis.Options{Dialer: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{Timeout: dqdtest.Deadline}).DialContext(ctx, "tcp", addr)
	}})
	defer rdb.Close()
	ctx := t.Context()
	if err := rdb.Do(ctx, "DQADD", "q", "a", "x").Err(); err != nil {
		t.Fatal(err)
	}
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	addr = server.Addr
	err := dqdtest.WaitFor(dqdtest.Deadline, func() error {
		n, err := rdb.Do(ctx, "DQLEN", "q").Int()
		if err == nil && n != 1 {
			err = dqdtest.Stop(fmt.Errorf("DQLEN is %d after a restart", n))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// go-redis with a password, a name, and the database 0.
func TestGoRedisAuthenticates(t *testing.T) {
	server := dqdtest.Start(t, dqdtest.Options{Password: password})
	ctx := t.Context()
	for _, o := range []*redis.Options{
		{Password: password},
		{Username: "default", Password: password, ClientName: "shop"},
		{Password: password, Protocol: 2, ClientName: "shop"},
	} {
		o.Addr = server.Addr
		rdb := redis.NewClient(o)
		defer rdb.Close()
		if n, err := rdb.Do(ctx, "DQLEN", "q").Int(); n != 0 || err != nil {
			t.Errorf("%+v: DQLEN: %v, %v", o, n, err)
		}
		if name, err := rdb.ClientGetName(ctx).Result(); o.ClientName != "" && (name != o.ClientName || err != nil) {
			t.Errorf("CLIENT GETNAME: %q, %v", name, err)
		}
	}
	for _, o := range []*redis.Options{{}, {Password: "wrong"}} {
		o.Addr = server.Addr
		o.MaxRetries = -1
		rdb := redis.NewClient(o)
		defer rdb.Close()
		err := rdb.Do(ctx, "DQLEN", "q").Err()
		if err == nil || !strings.HasPrefix(err.Error(), "NOAUTH") && !strings.HasPrefix(err.Error(), "WRONGPASS") {
			t.Errorf("without the right password: %v", err)
		}
	}
}

// A client that dies while it waits gets no job: go-redis re-sends a blocking
// pop when its own time-out is shorter, and the job must reach the last one.
func TestAbandonedPopsGetNothing(t *testing.T) {
	server := dqdtest.Start(t, dqdtest.Options{})
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr, ReadTimeout: 200 * time.Millisecond, MaxRetries: 2})
	defer rdb.Close()
	ctx := t.Context()
	if err := rdb.Do(ctx, "DQPOP", "q", "BLOCK", "20s").Err(); err == nil {
		t.Fatal("popped something from an empty queue")
	}
	control := server.Dial()
	err := dqdtest.WaitFor(dqdtest.Deadline, func() error {
		v, err := control.Must("INFO", "clients")
		if err == nil && !strings.Contains(v.Text, "blocked_clients:0\r\n") {
			err = errors.New("abandoned pops still wait")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := control.Must("DQADD", "q", "a", "x"); err != nil {
		t.Fatal(err)
	}
	v, err := control.Must("DQPOP", "q")
	if err != nil || len(v.Items) != 1 || v.Items[0].Items[4].Int() != 1 {
		t.Errorf("the job did not come at its first attempt: %+v, %v", v, err)
	}
}
