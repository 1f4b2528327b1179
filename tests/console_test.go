package tests

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"dqd/tests/dqdtest"
)

// masked replaces what differs from run to run: times, durations, addresses.
func masked(s string) string {
	for _, m := range []struct{ pattern, with string }{
		{`\d{4}-\d\d-\d\dT[\d:.]+Z`, "TIME"},
		{`127\.0\.0\.1:\d+`, "ADDR"},
		{`\b\d+(\.\d+)?(ms|s|m\d\ds|h\d\dm)\b`, "SPAN"},
		{`dqd \S+ at`, "dqd VERSION at"},
		{` +`, " "},
	} {
		s = regexp.MustCompile(m.pattern).ReplaceAllString(s, m.with)
	}
	return s
}

// The session of somebody who looks at a server, into a file or a pipe.
func TestConsole(t *testing.T) {
	server := dqdtest.Start(t, dqdtest.Options{Password: "secret"})
	t.Setenv("DQD_REQUIREPASS", "secret")
	show(t, server.Dial(),
		"DQADD orders o-0 bad", "DQPOP orders", "DQNACK orders o-0 1 DEAD REASON no-such-shop",
		"DQADD orders o-1 paid DELAY 1h META shop north", "DQADD orders o-2 unpaid", "DQADD orders o-3 x PRI 0 LEASE 1h", "DQPOP orders WORKER w1",
		"DQADD mail m-1 hello DELAY 25d ATTEMPTS 0", "DQCONFIG SET mail max-len 9", "DQPAUSE mail",
		"DQADD esc \x1b[2J x DELAY 1h",
	)
	for _, test := range []struct {
		code int
		args string
		want string
	}{
		{0, "queue ls", `QUEUE READY LATE LEASED DELAYED NEXT DEAD WAITING PAUSED
esc 0 - 0 1 SPAN 0 0 -
mail 0 - 0 1 24d23h 0 0 out
orders 1 SPAN 1 1 SPAN 1 0 -
`},
		{0, "queue ls m*", `QUEUE READY LATE LEASED DELAYED NEXT DEAD WAITING PAUSED
mail 0 - 0 1 24d23h 0 0 out
`},
		{0, "queue show mail", `queue mail
ready 0
leased 0
delayed 1
dead 0
late -
next due TIME (in 24d23h)
waiting pops 0
paused out
payloads 5 B
added 1
delivered 0
acked 0
noack 0
nacked 0
lease-timeouts 0
expired 0
cancelled 0
purged 0
pruned 0
late p50 / p99 - / -
run p50 / p99 - / -

settings (durations in ms): max-len 9, else the defaults

FIRST JOBS DUE ATTEMPT
m-1 TIME (in 24d23h) 0
`},
		{0, "queue show orders", `queue orders
ready 1
leased 1
delayed 1
dead 1
late SPAN
next due TIME (in SPAN)
waiting pops 0
paused none
payloads 14 B
added 4
delivered 2
acked 0
noack 0
nacked 1
lease-timeouts 0
expired 0
cancelled 0
purged 0
pruned 0
late p50 / p99 SPAN / SPAN
run p50 / p99 - / -

settings: the defaults

FIRST JOBS DUE ATTEMPT
o-2 TIME (SPAN ago) 0
o-1 TIME (in SPAN) 0

FIRST LEASED TOKEN ATTEMPT WORKER LEASE UNTIL
o-3 2 1 w1 TIME (in SPAN)

FIRST DEAD DIED ATTEMPT CAUSE REASON
o-0 TIME (SPAN ago) 1 nack no-such-shop
`},
		{0, "job show orders o-1", `id o-1
queue orders
state delayed
due TIME (in SPAN)
created TIME (SPAN ago)
attempt 0
max-attempts 25
token -
lease-until -
worker -
pri 128
backoff exp:1000:3600000:2:0%
expire-at -
reason -
late -
size 4 B
meta shop=north

paid
`},
		{1, "job show orders o-9", "dqd: queue orders has no job o-9, neither live nor dead\n"},
		{1, "queue show none", "dqd: there is no queue none\n"},
		{2, "queue", "dqd: write dqd queue ls [PATTERN], or dqd queue show QUEUE\n"},
		{2, "job show orders", "dqd: an argument is missing: write dqd job show QUEUE ID [--host h] [--port n] [--password-file f]\n"},
		{2, "queue ls --prot 1", "dqd: unknown flag --prot, did you mean --port?: write dqd queue ls [PATTERN] [--host h] [--port n] [--password-file f]\n"},
		{2, "queue lsit", "dqd: unknown word \"lsit\", did you mean \"ls\"?: write dqd queue ls [PATTERN], or dqd queue show QUEUE\n"},
		{2, "job shw orders o-1", "dqd: unknown word \"shw\", did you mean \"show\"?: write dqd job show QUEUE ID\n"},
		{2, "top --onec", "dqd: unknown flag --onec, did you mean --once?: write dqd top [--once] [--host h] [--port n] [--password-file f]\n"},
		{2, "top --passwordfile f", "dqd: unknown flag --passwordfile, did you mean --password-file?: write dqd top [--once] [--host h] [--port n] [--password-file f]\n"},
		{2, "top --port 65536", "dqd: --port 65536: write a number from 1 to 65535, such as --port 7711\n"},
		{2, "top --port x", "dqd: --port x: write a number from 1 to 65535, such as --port 7711\n"},
		{2, "queue ls --port 127.0.0.1:7711", "dqd: --port ADDR: write a number from 1 to 65535, such as --port 7711\n"},
		{2, "top --host localhost:7711", "dqd: --host localhost:7711: there is a port in it: write --host localhost --port 7711\n"},
		{2, "job show orders o-1 --host [::1]:7711", "dqd: --host [::1]:7711: there is a port in it: write --host ::1 --port 7711\n"},
		{2, "backup --host redis://localhost new", "dqd: --host redis://localhost: write a name or an IP address, such as --host 127.0.0.1; the port has a flag of its own, --port 7711\n"},
		{2, "top --host [::1]", "dqd: --host [::1]: write a name or an IP address, such as --host 127.0.0.1; the port has a flag of its own, --port 7711\n"},
		{2, "top --host=", "dqd: --host \"\": write a name or an IP address, such as --host 127.0.0.1; the port has a flag of its own, --port 7711\n"},
		{2, "--port 7711 top", "dqd: the sub-command stands before its flags: write dqd top --port (see dqd help)\n"},
		{2, "top --password secret", "dqd: --password would show the password to everybody on this machine: give it in the environment as DQD_REQUIREPASS, or name its file by --password-file\n"},
		{0, "top", `dqd VERSION at ADDR up SPAN clients 2, waiting pops 0 clock ok
jobs ready 1 late SPAN leased 1 delayed 3 dead 1 payloads 20 B
lateness of deliveries p50 SPAN p99 SPAN max SPAN
totals since the first job added 6 delivered 2 acked 0 nacked 1 lease-timeouts 0 cancelled 0 expired 0

QUEUE READY LATE LEASED DELAYED NEXT DEAD WAITING PAUSED
orders 1 SPAN 1 1 SPAN 1 0 -
esc 0 - 0 1 SPAN 0 0 -
mail 0 - 0 1 24d23h 0 0 out
`},
	} {
		out, code := tool(t, append(strings.Fields(test.args), at(server)...)...)
		if got := masked(out); code != test.code || got != test.want {
			t.Errorf("dqd %s: exit code %d\n%s\nwant %d\n%s", test.args, code, got, test.code, test.want)
		}
	}
	if out := mustTool(t, append([]string{"queue", "show", "esc"}, at(server)...)...); strings.Contains(out, "\x1b") || !strings.Contains(out, `"\x1b[2J"`) {
		t.Errorf("an id reaches the terminal as it is: %q", out)
	}
	t.Setenv("DQD_REQUIREPASS", "wrong")
	refused := func(want string, args ...string) {
		t.Helper()
		if out, code := tool(t, args...); code != 1 || masked(out) != want {
			t.Errorf("dqd %v: exit code %d\n%s\nwant\n%s", args, code, out, want)
		}
	}
	refused("dqd: the server refuses the password of DQD_REQUIREPASS in the environment: it is not the one that the server has by its setting requirepass (WRONGPASS invalid username-password pair or user is disabled.)\n", append([]string{"top"}, at(server)...)...)
	t.Setenv("DQD_REQUIREPASS", "")
	refused("dqd: the server wants its password: give it in the environment as DQD_REQUIREPASS, or name its file by --password-file (NOAUTH Authentication required.)\n", append([]string{"top"}, at(server)...)...)
	_, httpPort, _ := strings.Cut(server.HTTP, ":")
	refused("dqd: at ADDR a server of HTTP answers, perhaps that of /metrics: name the port for clients by --port, it is 7711 if the server was given no other\n", "top", "--port", httpPort)
	// Without flags port and password are those of the environment.
	_, port, _ := strings.Cut(server.Addr, ":")
	t.Setenv("DQD_PORT", port)
	t.Setenv("DQD_REQUIREPASS", "secret")
	mustTool(t, "queue", "ls")
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("DQD_REQUIREPASS", "")
	t.Setenv("DQD_REQUIREPASS_FILE", password)
	mustTool(t, "queue", "ls")
	t.Setenv("DQD_PORT", "x")
	if out, code := tool(t, "queue", "ls"); code != 1 || out != "dqd: DQD_PORT=x in the environment is no port of a server: say where it is by --port\n" {
		t.Errorf("%d %s", code, out)
	}
	server.Stop()
	if out, code := tool(t, append([]string{"top"}, at(server)...)...); code != 1 || !strings.Contains(out, "nobody listens at ") {
		t.Errorf("%d %s", code, out)
	}
}

// On a terminal dqd top shows what changes.
func TestTopOnATerminal(t *testing.T) {
	server := dqdtest.Start(t, dqdtest.Options{Args: []string{"--port", freePorts(t, 1)[0]}})
	top := openTerminal(t, dqdtest.Binary(t), append([]string{"top"}, at(server)...)...)
	top.shows("\x1b[?1049h")
	top.shows("\nadded - ") // rates need two readings
	top.shows("\x1b[1mQUEUE ")
	show(t, server.Dial(), "DQADD orders o-1 paid DELAY 1h")
	top.shows("\norders ")
	// It outlives its server.
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	top.shows("no connection!   nobody listens at ")
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	top.shows("\nadded - ")
	top.shows("\norders ")
	top.enter("q")
	top.shows("\x1b[?1049l")
}

// However dqd top ends, the terminal is as before, and shows nothing that was typed.
func TestTopGivesTheTerminalBack(t *testing.T) {
	server := dqdtest.Start(t, dqdtest.Options{})
	for name, end := range map[string]func(top *terminal){
		"q":       func(top *terminal) { top.enter("xq") },
		"Ctrl-C":  func(top *terminal) { top.enter("\x03") },
		"SIGTERM": func(top *terminal) { top.cmd.Process.Signal(syscall.SIGTERM) },
		"SIGHUP":  func(top *terminal) { top.cmd.Process.Signal(syscall.SIGHUP) },
	} {
		t.Run(name, func(t *testing.T) {
			top := openTerminal(t, dqdtest.Binary(t), append([]string{"top"}, at(server)...)...)
			top.shows("\x1b[1mQUEUE ")
			if top.modes() == top.before {
				t.Error("what is typed is shown")
			}
			end(top)
			top.wait()
			top.shows("\x1b[?1049l")
			if got := top.modes(); got != top.before || top.cmd.ProcessState.ExitCode() != 0 {
				t.Errorf("exit code %d, the terminal's modes are %+v, were %+v", top.cmd.ProcessState.ExitCode(), got, top.before)
			}
		})
	}
}

// After kill -9 dqd check counts what only the log has: nobody shall think that it is lost.
func TestCheckAfterKill(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	server := dqdtest.Start(t, dqdtest.Options{Dir: dir})
	show(t, server.Dial(),
		"DQADD orders o-1 x", "DQADD orders o-2 x DELAY 1h", "DQADD mail m-1 x", "DQADD gone g-1 x", "DQCANCEL gone g-1", "DQDROP gone",
		"DQPOP mail", "DQNACK mail m-1 1 DEAD")
	server.Kill()
	out := mustTool(t, "check", dir)
	if want := regexp.MustCompile(`^\S+: ok, 2 live and 1 dead jobs in 2 queues, in the state at log index 0 and in [89] log entries with commands that the next start adds to it; the jobs of all of them are counted; \d+ log entries, those of Raft itself `); !want.MatchString(out) {
		t.Errorf("dqd check says %s", out)
	}
}
