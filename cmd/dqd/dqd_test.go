package main

import (
	"bytes"
	"context"
	"fmt"
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

	"dqd/server"
	"dqd/server/guard"
	"dqd/tests/dqdtest"
)

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
slowlog-max-len 0
`)
	c, err := readConfig([]string{"--config", path, "--port", "2000", "--http-port", "off", "--maxclients=8"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := server.DefaultOptions()
	want.ConfigFile, want.Bind, want.Port, want.HTTPPort = path, []string{"127.0.0.1", "::1"}, 2000, -1
	want.Password, want.Unprotected, want.MaxClients, want.ClockTrust = "from the file", true, 8, 36*time.Hour
	want.Memory, want.ClientBuffers, want.Arguments.MaxPayload = 512<<20, 512<<20/100*25, 2<<20
	want.MinDiskFree, want.SlowLog = guard.MinFree{Percent: 5, Bytes: 1 << 30}, 0
	if !reflect.DeepEqual(c.Options, want) {
		t.Errorf("%+v\n%+v", c.Options, want)
	}
	for name, from := range map[string]string{"port": "--port", "bind": path + ":4", "maxclients": "--maxclients", "requirepass": path + ":5", "slowlog-max-len": path + ":12"} {
		if c.given[name].from != from {
			t.Errorf("%s is from %s, not from %s", name, c.given[name].from, from)
		}
	}
	c, err = readConfig([]string{"--maxclients", "9"}, []string{"DQD_CONFIG=" + path, "DQD_REQUIREPASS=from the environment", "DQD_MAXCLIENTS=8", "DQD_HTTP_PORT=0", "DQD_LOGLEVEL=", "PATH=/bin"})
	if err != nil || c.Password != "from the environment" || c.Port != 1000 || c.MaxClients != 9 || c.HTTPPort != 0 || c.given["http-port"].from != "DQD_HTTP_PORT" {
		t.Error(c, err)
	}
	if c, err = readConfig(nil, nil); err != nil || !reflect.DeepEqual(c.Options, server.DefaultOptions()) || len(c.given) != 0 {
		t.Error(c, err)
	}
}

// What is wrong is named where it stands, with what is right; no text shows a password.
func TestWrongConfiguration(t *testing.T) {
	for _, c := range []struct {
		args string
		env  string
		file string
		want string // § = the file
	}{
		{args: "--prot 1", want: "unknown flag --prot, did you mean --port?"},
		{args: "--confg x", want: "unknown flag --confg, did you mean --config?"},
		{args: "--nonsense 1", want: "unknown flag --nonsense"},
		{args: "--requirpass=canary", want: "unknown flag --requirpass, did you mean DQD_REQUIREPASS in the environment?"},
		{args: "--requirepass canary", want: "--requirepass is no flag, everybody on the machine can read those: give it as DQD_REQUIREPASS, in the configuration file, or with --requirepass-file"},
		{args: "--port", want: "--port needs a value behind it"},
		{args: "--http-port of", want: "--http-port of: write a number from 0 to 65535, or off"},
		{args: "--http-port -1", want: "--http-port -1: write a number from 0 to 65535, or off"},
		{args: "--timeout 5m", want: "--timeout 5m: write a number of seconds from 0 to 2147483647"},
		{args: "--slowlog-log-slower-than x", want: "--slowlog-log-slower-than x: write a number of microseconds from -1 to 2147483647"},
		{args: "--latency-monitor-threshold -1", want: "--latency-monitor-threshold -1: write a number of milliseconds from 0 to 2147483647"},
		{args: "--clock-trust 1y", want: "--clock-trust 1y: write a duration from 0 (none) to 100 years with its unit, such as 24h or 90s, or a number of milliseconds"},
		{args: "--port 65536", want: "--port 65536: write a number from 0 to 65535"},
		{args: "--bind example.org", want: `--bind example.org: "example.org" is no IP address`},
		{args: "--bind 127.0.0.1:7711", want: `--bind 127.0.0.1:7711: "127.0.0.1:7711" has a port in it, which is a setting of its own: port`},
		{args: "--maxmemory 1mb", want: "--maxmemory 1mb: write a size from 128mb on, such as 2gb, or a share from 1% to 100%"},
		{args: "--maxmemory 128mb --maxmemory-clients 129mb", want: "--maxmemory-clients 129mb: write a size such as 256mb, from 1mb to maxmemory"},
		{args: "--protected-mode maybe", want: "--protected-mode maybe: write yes or no"},
		{args: "--config /nonexistent/dqd.conf", want: "--config /nonexistent/dqd.conf: no such file or directory: check the name; a relative one counts from the folder that dqd was started in"},
		{env: "DQD_CONFIG=/", want: "DQD_CONFIG=/: is a directory: name a file"},
		{args: "--requirepass-file /nonexistent/file", want: "--requirepass-file /nonexistent/file: no such file or directory: check the name"},
		{args: "-p 7000", want: "unknown flag --p, did you mean --port?"},
		{args: "--appendonly yes", want: "unknown flag --appendonly: it is fixed, CONFIG GET only shows it; leave it out"},
		{args: "--bind 192.0.2.1", want: "--bind 192.0.2.1: nobody would be served: without a password only connections over loopback are, and it is not bound; set DQD_REQUIREPASS, or add 127.0.0.1 to bind, or --protected-mode no where the network is trusted"},
		{args: "--requirepass-file /dev/null", want: "--requirepass-file /dev/null: write the password into the only line of the file"},
		{args: "--requirepass-file /dev/null", env: "DQD_REQUIREPASS=canary", want: "--requirepass-file /dev/null: there is a requirepass already (DQD_REQUIREPASS): leave one of them out"},
		{args: "extra", want: `unexpected argument "extra"`},

		{env: "DQD_PROT=1", want: "unknown setting DQD_PROT in the environment, did you mean DQD_PORT?"},
		{env: "DQD_REQUIRPASS=canary", want: "unknown setting DQD_REQUIRPASS in the environment, did you mean DQD_REQUIREPASS?"},
		{env: "DQD_NONSENSE=canary", want: "unknown setting DQD_NONSENSE in the environment"},
		{env: "DQD_MAX_BLOCK=1", want: "unknown setting DQD_MAX_BLOCK in the environment: it is fixed"},
		{env: "DQD_PORT=x", want: "DQD_PORT=x: write a number from 0 to 65535"},
		{env: "DQD_REQUIREPASS=" + strings.Repeat("canary", 100), want: "DQD_REQUIREPASS: the password has 600 bytes: use at most 512"},

		{file: "port 1\nmaxclient 5", want: `§:2: unknown setting "maxclient", did you mean "maxclients"?`},
		{file: "includ x", want: `§:1: unknown setting "includ", did you mean "include"?`},
		{file: "requirpass=canary", want: `§:1: unknown setting "requirpass", did you mean "requirepass"?`},
		{file: "requirepass", want: "§:1: requirepass has no value: write one, or leave the line out"},
		{file: `requirepass ""`, want: "§:1: requirepass has no value"},
		{file: "port # 7711", want: "§:1: port has no value"},
		{file: "port = 0", want: "§:1: write port and the value without ="},
		{file: "port=0", want: "§:1: write port and the value without ="},
		{file: "dir =data", want: "§:1: write dir and the value without ="},
		{file: "requirepass = canary", want: "§:1: write requirepass and the value without ="},
		{file: "requirepass=canary", want: "§:1: write requirepass and the value without ="},
		{file: "requirepass canary # secret", want: "§:1: requirepass has a # behind it, which may be a part of it: put the value in double quotes, or the comment in a line of its own"},
		{file: "requirepass canary canary", want: "§:1: requirepass has more than one value: put a value with blanks in double quotes"},
		{file: `requirepass "canary" canary`, want: "§:1: requirepass has text behind its quotes: a comment begins with #"},
		{file: "requirepass " + strings.Repeat("canary", 100), want: "§:1: requirepass: the password has 600 bytes: use at most 512"},
		{file: "port 1 2", want: "§:1: port has more than one value"},
		{file: "save 900 1", want: `§:1: unknown setting "save": it is fixed, CONFIG GET only shows it; leave it out`},
		{file: `requirepass "canary`, want: "§:1: requirepass has unbalanced quotes"},
		{file: "maxclients 0", want: "§:1: maxclients 0: write a number from 1 to 1000000"},
		{file: "include /nonexistent/more.conf", want: "§:1: include /nonexistent/more.conf: no such file or directory: check the name"},
		{file: "\n\ninclude dqd.conf", want: "§:3: include dqd.conf: it includes itself: § → §"},
		{file: "port 1\n#" + strings.Repeat("x", maxFileBytes), want: "--config §: it is larger than 1048576 bytes"},
	} {
		args, path := strings.Fields(c.args), ""
		if c.file != "" {
			path = writeConfig(t, c.file)
			args = append(args, "--config", path)
		}
		var env []string
		if c.env != "" {
			env = append(env, c.env)
		}
		_, err := readConfig(args, env)
		if err == nil || !strings.HasPrefix(err.Error(), strings.ReplaceAll(c.want, "§", path)) {
			t.Errorf("%s %s %.100q: %v, want %s", c.args, c.env, c.file, err, c.want)
		}
		if err != nil && (strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "\n")) {
			t.Errorf("shows the password, or is not one line: %q", err)
		}
	}
}

// What Kubernetes sets beside a service whose name is dqd, or begins with it, is no setting.
func TestKubernetesVariables(t *testing.T) {
	c, err := readConfig(nil, []string{"DQD_SERVICE_HOST=10.0.0.1", "DQD_SERVICE_PORT=7711", "DQD_PORT=tcp://10.0.0.1:7711", "DQD_PORT_7711_TCP=tcp://10.0.0.1:7711",
		"DQD_PORT_7711_TCP_ADDR=10.0.0.1",
		// Of services named dqd-metrics and dqd-http.
		"DQD_METRICS_SERVICE_HOST=10.0.0.1", "DQD_METRICS_SERVICE_PORT_WEB=80", "DQD_METRICS_PORT_80_TCP=tcp://10.0.0.1:80", "DQD_HTTP_PORT=tcp://10.0.0.1:80", "DQD_HTTP_SERVICE_PORT=80"})
	if err != nil || c.Port != 7711 {
		t.Error(c, err)
	}
}

// A value may have blanks and # if it is quoted; a comment may follow it.
func TestFileValues(t *testing.T) {
	for _, c := range []struct{ line, name, want string }{
		{`requirepass "a # b"`, "requirepass", "a # b"},
		{`requirepass "=a"`, "requirepass", "=a"},
		{`requirepass a#b=c`, "requirepass", "a#b=c"},
		{`requirepass "a" # a comment`, "requirepass", "a"},
		{`requirepass "a\"\\b"`, "requirepass", `a"\b`},
		{"port 1 # a comment", "port", "1"},
		{"\tPort\t1\t#a comment\r", "port", "1"},
		{"dir a#b#c # a comment", "dir", "a#b#c"},
		{`dir "a b"# a comment`, "dir", "a b"},
		{"bind 127.0.0.1 ::1 # both # of them", "bind", "127.0.0.1 ::1"},
	} {
		conf, err := readConfig([]string{"--config", writeConfig(t, c.line)}, nil)
		if err != nil || conf.given[c.name].value != c.want {
			t.Errorf("%s: %v, %v", c.line, conf, err)
		}
	}
}

// A file that is included counts at its place, and its name from the folder of the
// file that names it. However files include each other, reading them ends.
func TestInclude(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	top := write("dqd.conf", "port 1\nmaxclients 1\ninclude more/a.conf # a comment\nmaxclients 3\n")
	a := write("more/a.conf", "port 2\nmaxclients 2\ninclude b.conf\n")
	b := write("more/b.conf", "timeout 4\n")
	c, err := readConfig([]string{"--config", top}, nil)
	if err != nil || c.Port != 2 || c.MaxClients != 3 || c.Timeout != 4*time.Second {
		t.Fatal(c, err)
	}
	if c.given["port"].from != a+":1" || c.given["timeout"].from != b+":1" || c.given["maxclients"].from != top+":4" {
		t.Error(c.given)
	}
	refused := func(want string) {
		t.Helper()
		if _, err := readConfig([]string{"--config", top}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	write("more/b.conf", "timeout 4\ninclude ../dqd.conf\n")
	refused(b + ":2: include ../dqd.conf: it includes itself: " + top + " → " + a + " → " + b + " → " + top)
	write("more/b.conf", "prot 4\n")
	refused(b + `:1: unknown setting "prot", did you mean "port"?`)
	for n := range 10 {
		write(fmt.Sprintf("more/%d.conf", n), fmt.Sprintf("include %d.conf\n", n+1))
	}
	write("more/b.conf", "include 0.conf\n")
	refused("files are included 9 deep: use at most 8")
	write("more/b.conf", "")
	write("dqd.conf", strings.Repeat("include more/b.conf\n", 99))
	if _, err := readConfig([]string{"--config", top}, nil); err != nil {
		t.Error(err)
	}
	write("dqd.conf", strings.Repeat("include more/b.conf\n", 100))
	refused(top + ":100: include more/b.conf: this is file 101: use at most 100")
}

// The password may be in a file of its own.
func TestPasswordFile(t *testing.T) {
	for text, want := range map[string]string{"secret": "secret", "a b#\"\n": "a b#\"", "secret\r\n": "secret"} {
		c, err := readConfig([]string{"--requirepass-file", writeConfig(t, text)}, nil)
		if err != nil || c.Password != want {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"", "\n", "canary\ncanary\n", strings.Repeat("canary", 100), strings.Repeat("canary", 1000)} {
		c, err := readConfig([]string{"--requirepass-file", writeConfig(t, text)}, nil)
		if err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%.20q: %v %v", text, c, err)
		}
	}
}

// Both variables with a password at once are refused, as by the sub-commands that are clients.
func TestTwoPasswords(t *testing.T) {
	_, err := readConfig(nil, []string{"DQD_REQUIREPASS=canary", "DQD_REQUIREPASS_FILE=/dev/null"})
	if want := "DQD_REQUIREPASS_FILE=/dev/null: there is a requirepass already (DQD_REQUIREPASS): leave one of them out"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// The warning at the start is for those whom other machines reach, and nobody else: that
// all are served, or that none is.
func TestOpen(t *testing.T) {
	const all, none = "protected mode is off and there is no password", "there is no password: protected mode refuses every client that does not come over loopback"
	for _, test := range []struct{ bind, mode, password, want string }{
		{"*", "no", "", all},
		{"127.0.0.1 192.0.2.1", "no", "", all},
		{"0.0.0.0", "no", "", all},
		{"127.0.0.1 ::1 localhost", "no", "", ""},
		{"127.0.0.1", "yes", "", ""},
		{"*", "yes", "", none},
		{"0.0.0.0", "yes", "", none},
		{"::", "yes", "", none},
		{"127.0.0.1 192.0.2.1", "yes", "", none},
		{"192.0.2.1", "no", "", all},
		{"192.0.2.1", "yes", "secret", ""},
		{"*", "no", "secret", ""},
		{"*", "yes", "secret", ""},
	} {
		c, err := readConfig([]string{"--bind", test.bind, "--protected-mode", test.mode}, []string{"DQD_REQUIREPASS=" + test.password})
		if err != nil {
			t.Fatal(err)
		}
		got := c.open()
		if (got == "") != (test.want == "") || !strings.HasPrefix(got, test.want) || got != "" && !strings.Contains(got, "set DQD_REQUIREPASS") {
			t.Errorf("%+v: %q", test, got)
		}
	}
}

// The stores' memory fits into what may be used.
func TestStoreSizes(t *testing.T) {
	for _, most := range []int64{server.LeastMemory, 256 << 20, 1 << 30, 2 << 30, 1 << 40} {
		s := sizesOf(most)
		if s.outside() > most/3 || s.stateCache < 1<<20 || s.stateMemTable < 1<<20 || s.logMemTable < 1<<20 {
			t.Errorf("%d: %+v, %d", most, s, s.outside())
		}
	}
	if s := sizesOf(2 << 30); s != (storeSizes{128 << 20, 32 << 20, 16 << 20, 256 << 20}) || s != sizesOf(1<<40) {
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
		{"foo", 2, "", `dqd: unknown sub-command "foo" (see dqd help)`},
		{"serve --prot 1", 2, "", "did you mean"},
		{"--prot 1", 2, "", "dqd: unknown flag --prot, did you mean --port? (see dqd help)\n"},
		{"help sevre", 2, "", `unknown sub-command "sevre", did you mean "serve"?`},
		{"--port 1 top", 2, "", "dqd: the sub-command stands before its flags: write dqd top --port (see dqd help)\n"},
		{"--host=x queue ls", 2, "", "the sub-command stands before its flags: write dqd queue --host "},
		{"--once top", 2, "", "write dqd top --once "},
		{"--dir data --port 1 version", 2, "", "write dqd version --dir "},
		{"--port top", 2, "", "--port top: write a number"},
		{"--port 1 tpo", 2, "", `unexpected argument "tpo": settings are written --name value`},
		{"version now", 2, "", `unexpected argument "now": write dqd version`},
		{"completion tcsh", 2, "", "write dqd completion bash, zsh or fish"},
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

// Every sub-command says how it is written, and every setting has a line in the help.
func TestHelp(t *testing.T) {
	var all bytes.Buffer
	help(nil, &all, &all)
	for _, c := range subcommands {
		for _, args := range [][]string{{c.name, "--help"}, {c.name, "-h"}, {"help", c.name}} {
			var out, bad bytes.Buffer
			if code := run(args, &out, &bad); code != 0 || !strings.HasPrefix(out.String(), c.synopsis()+"\n\n") || bad.Len() > 0 {
				t.Errorf("dqd %v: %d\n%s%s", args, code, out.String(), bad.String())
			}
			if c.takesSettings() && !strings.Contains(out.String(), "--port 7711") {
				t.Errorf("dqd %v lacks the settings", args)
			}
			for _, o := range c.options() {
				if !strings.Contains(out.String(), "\n  "+o.written()+" ") {
					t.Errorf("dqd %v lacks %s", args, o.written())
				}
			}
		}
		if !strings.Contains(all.String(), c.short()) {
			t.Error("help lacks", c.name)
		}
	}
	for _, s := range settings() {
		if name := "--" + s.Name; !strings.Contains(all.String(), name) && !(s.Secret && strings.Contains(all.String(), s.Variable())) {
			t.Error("help lacks", s.Name)
		}
	}
}

func testConfig(t *testing.T, args ...string) *config {
	t.Helper()
	c, err := readConfig(append([]string{"--port", "0", "--http-port", "0", "--dir", filepath.Join(t.TempDir(), "data")}, args...), nil)
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
		client := redis.NewClient(&redis.Options{Addr: address, ReadTimeout: dqdtest.Deadline})
		ctx, cancel := context.WithTimeout(context.Background(), dqdtest.Deadline)
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
	if _, err := os.Stat(c.Dir); err == nil {
		t.Error("the data was touched although the port was taken")
	}
	c = testConfig(t, "--http-port", port)
	if _, err = assemble(c, quiet); !strings.Contains(remedy(err, c).Error(), "--http-port") {
		t.Error(err)
	}
	c = testConfig(t, "--bind", "192.0.2.1", "--protected-mode", "no")
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
	if err := os.RemoveAll(filepath.Join(c.Dir, "log")); err != nil {
		t.Fatal(err)
	}
	if _, err = assemble(c, quiet); err == nil || strings.Contains(remedy(err, c).Error(), "\n") {
		t.Error("a damaged folder:", err)
	} else {
		t.Log(remedy(err, c))
	}
}

// The commands that are shown at the start are for an address that serves who types them.
func TestTry(t *testing.T) {
	for _, test := range []struct{ bind, password, want string }{
		{"192.0.2.1 127.0.0.1", "", "try: redis-cli -p 7 DQADD "},
		{"192.0.2.1 ::", "", "try: redis-cli -h ::1 -p 7 DQADD "},
		{"192.0.2.1 127.0.0.1", "secret", "try: redis-cli -h 192.0.2.1 -p 7 --askpass DQADD "},
	} {
		c, err := readConfig([]string{"--bind", test.bind}, []string{"DQD_REQUIREPASS=" + test.password})
		if err != nil {
			t.Fatal(err)
		}
		n := &node{config: c}
		for _, a := range c.Bind {
			n.listeners = append(n.listeners, listenerAt{addr: net.TCPAddr{IP: net.ParseIP(a), Port: 7}})
		}
		var out bytes.Buffer
		if n.announce(&out); !strings.Contains(out.String(), test.want) || !strings.Contains(out.String(), "ready resp=192.0.2.1:7 ") {
			t.Errorf("%+v:\n%s", test, &out)
		}
	}
}

type listenerAt struct {
	net.Listener
	addr net.TCPAddr
}

func (l listenerAt) Addr() net.Addr { return &l.addr }
