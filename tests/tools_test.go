package tests

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sys/unix"

	"dqd/tests/dqdtest"
)

// terminal is a program at a terminal of its own.
type terminal struct {
	t      *testing.T
	screen *os.File
	before unix.Termios // the modes that it had when the program started
	cmd    *exec.Cmd
	mu     sync.Mutex // guards out
	out    strings.Builder
	ended  chan struct{} // closed when the program has
}

// openTerminal starts a program at a terminal of 300 columns; it ends with the test.
func openTerminal(t *testing.T, name string, args ...string) *terminal {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%s is missing: run ./test.sh once as root", name)
	}
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fd := int(screen.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 300})
	}
	if err != nil {
		t.Fatal("a terminal: ", err)
	}
	side, err := os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = side, side, side
	cmd.Env = append(os.Environ(), "TERM=xterm", "HOME="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	term := &terminal{t: t, screen: screen, cmd: cmd, ended: make(chan struct{})}
	term.before = term.modes()
	err = cmd.Start()
	side.Close()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		cmd.Wait()
		close(term.ended)
	}()
	read := make(chan struct{})
	go func() {
		defer close(read)
		buf := make([]byte, 4096)
		for {
			n, err := screen.Read(buf)
			term.mu.Lock()
			term.out.Write(buf[:n])
			term.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-term.ended
		<-read
		screen.Close()
	})
	return term
}

func (term *terminal) enter(keys string) {
	term.t.Helper()
	if _, err := term.screen.WriteString(keys); err != nil {
		term.t.Fatal(err)
	}
}

// wait waits for the end of the program.
func (term *terminal) wait() {
	term.t.Helper()
	select {
	case <-term.ended:
	case <-time.After(dqdtest.Deadline):
		term.t.Fatal("the program does not end")
	}
}

// modes are how the terminal treats what is typed and shown.
func (term *terminal) modes() unix.Termios {
	term.t.Helper()
	modes, err := unix.IoctlGetTermios(int(term.screen.Fd()), unix.TCGETS)
	if err != nil {
		term.t.Fatal(err)
	}
	return *modes
}

// shows waits until the terminal shows a text, behind that of the latest call.
func (term *terminal) shows(text string) {
	term.t.Helper()
	err := dqdtest.WaitFor(dqdtest.Deadline, func() error {
		term.mu.Lock()
		defer term.mu.Unlock()
		_, behind, ok := strings.Cut(term.out.String(), text)
		if !ok {
			return fmt.Errorf("the terminal does not show %q but %q", text, term.out.String())
		}
		term.out.Reset()
		term.out.WriteString(behind)
		return nil
	})
	if err != nil {
		term.t.Fatal(err)
	}
}

// A person at redis-cli gets hints while typing, names by Tab, and help.
func TestRedisCliHelps(t *testing.T) {
	server := dqdtest.Start(t, dqdtest.Options{})
	_, port, _ := strings.Cut(server.Addr, ":")
	const clear = "\x15" // Ctrl-U
	cli := openTerminal(t, "redis-cli", "-p", port)
	prompt := "127.0.0.1:" + port + "> "
	cli.shows(prompt)
	// What is typed before it prompts again is lost.
	run := func(keys string, shown ...string) {
		cli.enter(keys + "\r")
		for _, text := range append(shown, prompt) {
			cli.shows(text)
		}
	}
	cli.enter("dqpop ")
	cli.shows("queue [COUNT count] [BLOCK block] [LEASE lease] [NOACK] [WORKER worker] [FULL]")
	cli.enter("orders ")
	cli.shows("orders \x1b[0;90;49m[COUNT count] [BLOCK block] [LEASE lease] [NOACK] [WORKER worker] [FULL]")
	cli.enter(clear + "dqresch\t")
	cli.shows("DQRESCHEDULE\x1b[0;90;49m queue id DELAY delay|AT time|NOW [GT|LT] [PRI priority] [PAYLOAD payload]")
	cli.enter(clear + "config se\t")
	cli.shows("CONFIG SET\x1b[0;90;49m name value [name value ...]")
	run(clear+"help dqadd", "queue id payload [DELAY delay|AT time] [NX|XX|UPSERT|IDEM]", "Adds a job that is delivered when its time has come.")
	run("help @delay", "DQRESCHEDULE")
	run("help slowlog get", "SLOWLOG GET", "Shows the latest slow commands")
	run("DQADD orders o-1 x", `"o-1"`)
}

// redis-cli --stat and --latency.
func TestRedisCliWatches(t *testing.T) {
	server := dqdtest.Start(t, dqdtest.Options{})
	_, port, _ := strings.Cut(server.Addr, ":")
	if _, err := server.Dial().Must("DQADD", "orders", "o-1", "x"); err != nil {
		t.Fatal(err)
	}
	stat := openTerminal(t, "redis-cli", "-p", port, "--stat", "-i", "0.05")
	stat.shows("keys       mem      clients blocked requests            connections")
	stat.shows("1          ") // one key, which is a queue
	stat.shows("(+1)")        // and INFO itself as the request
	latency := openTerminal(t, "redis-cli", "-p", port, "--latency")
	latency.shows("samples")
}

// SHUTDOWN ends the process as SIGTERM does: no reply, exit code 0, nothing lost.
func TestShutdownByACommand(t *testing.T) {
	server := dqdtest.Start(t, dqdtest.Options{})
	waiting := server.Dial()
	if err := waiting.Send("DQPOP", "none", "BLOCK", "20s"); err != nil {
		t.Fatal(err)
	}
	redisCli(t, server.Addr, "", "DQADD", "orders", "o-1", "x")
	if got := redisCli(t, server.Addr, "SHUTDOWN NOSAVE\n"); strings.Contains(got, "ERR") {
		t.Errorf("SHUTDOWN is answered %q", got)
	}
	if !server.EndsBySelf() {
		t.Fatal("the process goes on")
	}
	if v, err := waiting.Receive(dqdtest.Deadline); err != nil || v.NullKind == 0 {
		t.Errorf("the waiting pop is answered %+v, %v", v, err)
	}
	if err := server.Stop(); err != nil { // looks at the exit code
		t.Error(err)
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	if v, err := server.Dial().Must("DQLEN", "orders"); err != nil || v.Int() != 1 {
		t.Errorf("after SHUTDOWN: %+v, %v", v, err)
	}
}

// What an operator does through go-redis, whose types read each reply, in both protocols.
func TestGoRedisOperates(t *testing.T) {
	for _, protocol := range []int{2, 3} {
		t.Run(fmt.Sprintf("RESP%d", protocol), func(t *testing.T) {
			server := dqdtest.Start(t, dqdtest.Options{})
			rdb := redis.NewClient(&redis.Options{Addr: server.Addr, Protocol: protocol, ClientName: "operator", MaxRetries: -1})
			defer rdb.Close()
			ctx := t.Context()
			must := func(what string, err error) {
				t.Helper()
				if err != nil {
					t.Errorf("%s: %v", what, err)
				}
			}
			must("CONFIG SET", rdb.ConfigSet(ctx, "slowlog-log-slower-than", "0").Err())
			must("DQADD", rdb.Do(ctx, "DQADD", "orders", "o-1", "a payload").Err())
			if got, err := rdb.ConfigGet(ctx, "slowlog*").Result(); err != nil || got["slowlog-log-slower-than"] != "0" {
				t.Errorf("CONFIG GET: %v, %v", got, err)
			}
			logs, err := rdb.SlowLogGet(ctx, -1).Result()
			if err != nil || len(logs) == 0 {
				t.Fatalf("SLOWLOG GET: %v, %v", logs, err)
			}
			found := false
			for _, l := range logs {
				found = found || strings.Join(l.Args, " ") == "DQADD orders o-1 ... (1 more arguments)" && l.ClientName == "operator" && l.Duration > 0
			}
			if !found {
				t.Errorf("SLOWLOG GET: %+v", logs)
			}
			if n, err := rdb.MemoryUsage(ctx, "orders").Result(); err != nil || n < 100 {
				t.Errorf("MEMORY USAGE: %d, %v", n, err)
			}
			if n, err := rdb.Wait(ctx, 1, 0).Result(); err != nil || n != 0 {
				t.Errorf("WAIT: %d, %v", n, err)
			}
			if info, err := rdb.ClientInfo(ctx).Result(); err != nil || info.Name != "operator" || info.LastCmd != "client|info" || info.Resp != protocol {
				t.Errorf("CLIENT INFO: %+v, %v", info, err)
			}
			if n, err := rdb.ClientKillByFilter(ctx, "USER", "nobody").Result(); err != nil || n != 0 {
				t.Errorf("CLIENT KILL: %d, %v", n, err)
			}
			if all, err := rdb.Command(ctx).Result(); err != nil || all["memory"] == nil || all["dqadd"].FirstKeyPos != 1 {
				t.Errorf("COMMAND: %v", err)
			}
			if keys, err := rdb.CommandGetKeys(ctx, "DQACK", "orders", "o-1", "1").Result(); err != nil || len(keys) != 1 || keys[0] != "orders" {
				t.Errorf("COMMAND GETKEYS: %v, %v", keys, err)
			}
			if names, err := rdb.CommandList(ctx, &redis.FilterBy{Pattern: "dqm*"}).Result(); err != nil || len(names) < 3 {
				t.Errorf("COMMAND LIST: %v, %v", names, err)
			}
			if info, err := rdb.InfoMap(ctx, "raft", "storage").Result(); err != nil || info["Raft"]["raft_state"] != "leader" || info["Storage"]["log_disk_bytes"] == "" {
				t.Errorf("INFO: %v, %v", info, err)
			}
			must("LATENCY", rdb.Latency(ctx).Err())
			must("ROLE", rdb.Do(ctx, "ROLE").Err())
			must("CONFIG RESETSTAT", rdb.ConfigResetStat(ctx).Err())
			if err := rdb.ClusterInfo(ctx).Err(); err == nil || err.Error() != "ERR This instance has cluster support disabled" {
				t.Errorf("CLUSTER INFO: %v", err)
			}
			must("SHUTDOWN", rdb.ShutdownNoSave(ctx).Err())
			if !server.EndsBySelf() {
				t.Error("the process goes on")
			}
		})
	}
}

// A client that insists on a cluster finds one of one node.
func TestGoRedisClusterClient(t *testing.T) {
	server := dqdtest.Start(t, dqdtest.Options{Config: map[string]string{"cluster-enabled": "yes"}})
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{server.Addr}})
	defer rdb.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*dqdtest.Deadline)
	defer cancel()
	for _, queue := range []string{"orders", "mail", "{shop}:pay"} {
		if id, err := rdb.Do(ctx, "DQADD", queue, "a", "x").Text(); id != "a" || err != nil {
			t.Fatalf("DQADD %s: %q, %v", queue, id, err)
		}
		if jobs, err := rdb.Do(ctx, "DQPOP", queue).Slice(); err != nil || len(jobs) != 1 {
			t.Errorf("DQPOP %s: %v, %v", queue, jobs, err)
		}
	}
	if n, err := rdb.ClusterKeySlot(ctx, "foo").Result(); n != 12182 || err != nil {
		t.Errorf("CLUSTER KEYSLOT: %d, %v", n, err)
	}
	if shards, err := rdb.ClusterShards(ctx).Result(); err != nil || len(shards) != 1 || shards[0].Slots[0].End != 16383 || shards[0].Nodes[0].Health != "online" {
		t.Errorf("CLUSTER SHARDS: %+v, %v", shards, err)
	}
	if got := redisCli(t, server.Addr, "", "-c", "DQLEN", "orders"); got != "1\n" {
		t.Errorf("redis-cli -c prints %q", got)
	}
}

// The real program: neither its password nor a payload is in anything that shows
// what goes on, in its log at the most talkative level, or in its command line.
func TestProgramShowsNoSecrets(t *testing.T) {
	const payload = "payload-canary-31c9"
	server := dqdtest.Start(t, dqdtest.Options{Password: password, Args: []string{"--loglevel", "debug"}})
	c := server.Dial()
	for _, command := range []string{
		"CONFIG SET slowlog-log-slower-than 0 slowlog-max-len 1000",
		"CONFIG SET requirepass " + password, "AUTH " + password, "AUTH default wrong-" + password, "HELLO 2 AUTH default " + password,
		"DQADD q a " + payload, "DQADD q a " + payload, "DQADD q b x META user " + payload, "DQADD q c x DELAY " + payload, "DQPOP q COUNT 10",
		"DQNACK q a * REASON " + payload, "DQGET q a", "NOSUCH " + payload, "ECHO " + payload, "CONFIG SET timeout " + password,
	} {
		if _, err := c.Do(strings.Fields(command)...); err != nil {
			t.Fatal(command, err)
		}
	}
	for _, command := range []string{"CLIENT LIST", "SLOWLOG GET -1", "CONFIG GET *", "INFO everything", "LATENCY HISTOGRAM", "MEMORY STATS", "COMMAND DOCS"} {
		v, err := c.Must(strings.Fields(command)...)
		if err != nil {
			t.Fatal(err)
		}
		if shown := fmt.Sprintf("%+v", v); strings.Contains(shown, password) || strings.Contains(shown, payload) {
			t.Errorf("%s shows\n%s", command, shown)
		}
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", server.Pid()))
	if err != nil {
		t.Fatal(err)
	}
	for what, shown := range map[string]string{"the log": server.Log(), "the command line": string(line)} {
		if strings.Contains(shown, password) || strings.Contains(shown, payload) {
			t.Errorf("%s shows\n%s", what, shown)
		}
	}
}
