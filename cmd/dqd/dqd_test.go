package main

import (
	"bytes"
	"context"
	"log/slog"
	"math"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"dqd/server/guard"
)

func noEnv(string) string { return "" }

func writeConfig(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "dqd.conf")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A flag wins over the environment, that over the file, that over the default.
func TestPrecedence(t *testing.T) {
	path := writeConfig(t, `
# a comment
port 1000
	bind	127.0.0.1 ::1
requirepass "from the file"
MAXCLIENTS 7
maxmemory 512mb
max-payload 2mb
clock-trust 1d12h
min-disk-free 5% 1gb
protected-mode no
`)
	c, err := readConfig([]string{"--config", path, "--port", "2000", "--http-port", "off", "--maxclients=8"}, noEnv)
	if err != nil {
		t.Fatal(err)
	}
	want := &config{
		file: path, bind: []string{"127.0.0.1", "::1"}, port: 2000, httpBind: "127.0.0.1", httpPort: -1, dir: "dqd-data",
		password: "from the file", unprotected: true, maxClients: 8, maxMemory: 512 << 20, maxPayload: 2 << 20, clockTrust: 36 * int64(time.Hour),
		minDiskFree: guard.MinFree{Percent: 5, Bytes: 1 << 30},
	}
	given := c.given
	c.given = nil
	if !reflect.DeepEqual(c, want) {
		t.Errorf("%+v\n%+v", c, want)
	}
	// CONFIG GET shows what was given, and no secret.
	if given["port"] != "2000" || given["bind"] != "127.0.0.1 ::1" || given["loglevel"] != "info" {
		t.Error(given)
	}
	if _, shown := given["requirepass"]; shown {
		t.Error("the password is shown")
	}
	c, err = readConfig([]string{"--config", path}, func(name string) string {
		if name == "DQD_REQUIREPASS" {
			return "from the environment"
		}
		return ""
	})
	if err != nil || c.password != "from the environment" || c.port != 1000 {
		t.Error(c, err)
	}
	c, err = readConfig(nil, noEnv)
	if err != nil || c.port != 7711 || c.httpPort != 7712 || !reflect.DeepEqual(c.bind, []string{"127.0.0.1"}) || c.maxMemory < 128<<20 ||
		c.minDiskFree != (guard.MinFree{Percent: 10, Bytes: 2 << 30}) {
		t.Error(c, err)
	}
}

// What is wrong is named, with what is right; no text shows a password.
func TestWrongConfiguration(t *testing.T) {
	for _, c := range []struct {
		args []string
		file string
		want string
	}{
		{args: []string{"--prot", "1"}, want: `unknown flag --prot, did you mean "port"?`},
		{args: []string{"--nonsense", "1"}, want: `unknown flag --nonsense`},
		{args: []string{"--requirepass", "canary"}, want: `unknown flag --requirepass: give it in the environment as DQD_REQUIREPASS`},
		{args: []string{"--port"}, want: "--port needs a value behind it"},
		{args: []string{"--http-port", "of"}, want: "--http-port of: write a number from 0 to 65535, or off"},
		{args: []string{"--http-port", "-1"}, want: "--http-port -1: write a number from 0 to 65535, or off"},
		{args: []string{"--port", "65536"}, want: "--port 65536: write a number from 0 to 65535"},
		{args: []string{"--port", "x"}, want: "--port x: write a number from 0 to 65535"},
		{args: []string{"--bind", "example.org"}, want: `--bind example.org: "example.org" is no IP address`},
		{args: []string{"--maxmemory", "1mb"}, want: "--maxmemory 1mb: the least is 128mb"},
		{args: []string{"--maxmemory", "101%"}, want: "--maxmemory 101%: write a percentage from 1% to 100%"},
		{args: []string{"--min-disk-free", "0%"}, want: "--min-disk-free 0%: write a percentage from 1% to 100%"},
		{args: []string{"--min-disk-free", "1%,2%"}, want: "--min-disk-free 1%,2%: write one share and one size at most"},
		{args: []string{"--min-disk-free", "1gb,2gb"}, want: "--min-disk-free 1gb,2gb: write one share and one size at most"},
		{args: []string{"--min-disk-free", "much"}, want: "--min-disk-free much: write a share such as 10%, a size such as 2gb, both, or off"},
		{args: []string{"--min-disk-free", ","}, want: "--min-disk-free ,: write a share"},
		{args: []string{"--max-payload", "17mb"}, want: "--max-payload 17mb: the most is 16mb"},
		{args: []string{"--clock-trust", "-1s"}, want: "--clock-trust -1s: write a duration such as 24h, or 0"},
		{args: []string{"--protected-mode", "maybe"}, want: "write yes or no"},
		{args: []string{"--loglevel", "loud"}, want: "write debug, info, warn or error"},
		{args: []string{"--config", "/nonexistent/dqd.conf"}, want: "configuration file: open /nonexistent/dqd.conf"},
		{args: []string{"extra"}, want: `unexpected argument "extra"`},
		{file: "port 1\nmaxclient 5", want: `line 2: unknown setting "maxclient", did you mean "maxclients"?`},
		{file: "requirepass", want: "line 1: requirepass without a value: write one, or leave the line out"},
		{file: "requirepass \"\"", want: "line 1: requirepass without a value"},
		{file: "port = 0", want: "line 1: write port and the value without ="},
		{file: "port=0", want: "line 1: write port and the value without ="},
		{file: "dir =data", want: "line 1: write dir and the value without ="},
		{file: "requirepass = canary", want: "line 1: write requirepass and the value without ="},
		{file: "requirepass=canary", want: "line 1: write requirepass and the value without ="},
		{file: "requirepass canary # secret", want: "line 1: requirepass has more than one value: put a value with blanks in double quotes, and a comment in a line of its own"},
		{file: "requirepass \"canary\" # secret", want: "line 1: requirepass: unbalanced quotes, or text behind them: a comment needs a line of its own"},
		{file: "bind 127.0.0.1 ::1 # both", want: "line 1: bind has more than one value"},
		{file: "port 1 2", want: "line 1: port has more than one value"},
		{file: "save 900 1", want: `line 1: unknown setting "save"`},
		{file: "requirepass \"canary", want: "line 1: requirepass: unbalanced quotes"},
		{file: "maxclients 0", want: "line 1: maxclients 0: write a number from 1 to 1000000"},
	} {
		args := c.args
		if c.file != "" {
			args = append(args, "--config", writeConfig(t, c.file))
		}
		_, err := readConfig(args, noEnv)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v %q: %v, want %s", c.args, c.file, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "canary") {
			t.Error("shows the password:", err)
		}
	}
}

// A password may have blanks, # and = if it is quoted, the latter two also inside.
func TestQuotedValues(t *testing.T) {
	for text, want := range map[string]string{
		`requirepass "a # b"`: "a # b",
		`requirepass "=a"`:    "=a",
		`requirepass a#b=c`:   "a#b=c",
	} {
		if c, err := readConfig([]string{"--config", writeConfig(t, text)}, noEnv); err != nil || c.password != want {
			t.Errorf("%s: %v, %v", text, c, err)
		}
	}
}

// The warning at the start is for those who serve strangers, and nobody else.
func TestExposed(t *testing.T) {
	for _, test := range []struct {
		bind, mode, password string
		want                 bool
	}{
		{"*", "no", "", true},
		{"127.0.0.1 192.0.2.1", "no", "", true},
		{"0.0.0.0", "no", "", true},
		{"127.0.0.1 ::1 localhost", "no", "", false},
		{"*", "yes", "", false},
		{"*", "no", "secret", false},
	} {
		c, err := readConfig([]string{"--bind", test.bind, "--protected-mode", test.mode}, func(string) string { return test.password })
		if err != nil || c.exposed() != test.want {
			t.Errorf("%+v: %v", test, err)
		}
	}
}

// The stores' memory fits into what may be used.
func TestStoreSizes(t *testing.T) {
	for _, most := range []int64{leastMemory, 256 << 20, 1 << 30, 2 << 30, 1 << 40} {
		s := sizesOf(most)
		if s.outside() > most/3 || s.stateCache < 1<<20 || s.stateMemTable < 1<<20 || s.logMemTable < 1<<20 {
			t.Errorf("%d: %+v, %d", most, s, s.outside())
		}
	}
	if s := sizesOf(2 << 30); s != (storeSizes{128 << 20, 64 << 20, 16 << 20}) || s != sizesOf(1<<40) {
		t.Errorf("%+v", s)
	}
}

// Clients and stores share the open files; neither is left without.
func TestFilesOf(t *testing.T) {
	for _, c := range []struct {
		limit           int64
		tables, clients int
	}{
		{0, 4096, math.MaxInt}, {64, 64, 32}, {256, 64, 128}, {1024, 384, 512}, {20000, 4096, 15776}, {1 << 20, 4096, 1<<20 - 4224},
	} {
		if tables, clients := filesOf(c.limit); tables != c.tables || clients != c.clients {
			t.Errorf("%d: %d tables, %d clients", c.limit, tables, clients)
		}
	}
}

func TestSubCommands(t *testing.T) {
	for _, c := range []struct {
		args   string
		code   int
		stdout string
		stderr string
	}{
		{"version", 0, "dqd ", ""},
		{"help", 0, "--port", ""},
		{"serve --help", 0, "--port", ""},
		{"sevre", 2, "", `unknown sub-command "sevre", did you mean "serve"?`},
		{"serve --prot 1", 2, "", "did you mean"},
		{"--prot 1", 2, "", "dqd: unknown flag --prot, did you mean \"port\"? (see dqd help)\n"},
	} {
		var stdout, stderr bytes.Buffer
		code := run(strings.Fields(c.args), &stdout, &stderr)
		if code != c.code || !strings.Contains(stdout.String(), c.stdout) || !strings.Contains(stderr.String(), c.stderr) {
			t.Errorf("%s: %d\n%s\n%s", c.args, code, stdout.String(), stderr.String())
		}
		if c.stderr != "" && strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("%s: %q is not one line", c.args, stderr.String())
		}
	}
}

// Every setting has a line in the help, and none shows a secret's value.
func TestHelpNamesEverySetting(t *testing.T) {
	var b bytes.Buffer
	help(nil, &b, &b)
	for _, s := range settings {
		if !strings.Contains(b.String(), s.name) {
			t.Error("help lacks", s.name)
		}
	}
}

func testConfig(t *testing.T, args ...string) *config {
	t.Helper()
	c, err := readConfig(append([]string{"--port", "0", "--http-port", "0", "--dir", filepath.Join(t.TempDir(), "data")}, args...), noEnv)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A node serves, keeps its jobs over a restart, and says where it listens.
func TestNode(t *testing.T) {
	c := testConfig(t)
	for round := range 2 {
		n, err := assemble(c, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		n.announce(&out)
		address := n.listeners[0].Addr().String()
		if text := out.String(); !strings.Contains(text, "ready resp="+address+" http=http://127.0.0.1:") || !strings.Contains(text, "redis-cli -p ") {
			t.Error(text)
		}
		client := redis.NewClient(&redis.Options{Addr: address})
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		if round == 0 {
			if id, err := client.Do(ctx, "DQADD", "q", "job", "payload", "DELAY", "10ms").Text(); id != "job" || err != nil {
				t.Error(id, err)
			}
		} else if jobs, err := client.Do(ctx, "DQPOP", "q", "BLOCK", "3s").Slice(); err != nil || len(jobs) != 1 {
			t.Error(jobs, err)
		}
		client.Close()
		cancel()
		if err := n.shutdown(); err != nil {
			t.Error(err)
		}
	}
}

// What keeps a node from starting is said in one line, with the remedy.
func TestStartErrors(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	quiet := slog.New(slog.DiscardHandler)

	c := testConfig(t, "--port", port)
	_, err = assemble(c, quiet)
	if text := remedy(err, c).Error(); !strings.Contains(text, "127.0.0.1:"+port+" is in use by another program: stop it, or choose another port") {
		t.Error(text)
	}
	if _, err := os.Stat(c.dir); err == nil {
		t.Error("the data was touched although the port was taken")
	}
	c = testConfig(t, "--http-port", port)
	if _, err = assemble(c, quiet); !strings.Contains(remedy(err, c).Error(), "--http-port") {
		t.Error(err)
	}
	c = testConfig(t, "--bind", "192.0.2.1")
	if _, err = assemble(c, quiet); !strings.Contains(remedy(err, c).Error(), "is no address of this machine") {
		t.Error(err)
	}

	c = testConfig(t)
	n, err := assemble(c, quiet)
	if err != nil {
		t.Fatal(err)
	}
	_, err = assemble(c, quiet)
	if text := remedy(err, c).Error(); !strings.Contains(text, "is in use by another dqd: stop it, or choose another folder with --dir") {
		t.Error(text)
	}
	if err := n.shutdown(); err != nil {
		t.Error(err)
	}
	if err := os.RemoveAll(filepath.Join(c.dir, "log")); err != nil {
		t.Fatal(err)
	}
	if _, err = assemble(c, quiet); err == nil || strings.Contains(remedy(err, c).Error(), "\n") {
		t.Error("a damaged folder:", err)
	} else {
		t.Log(remedy(err, c))
	}
}
