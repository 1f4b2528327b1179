package server

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dqd/server/resp"
)

func TestSize(t *testing.T) {
	for text, want := range map[string]int64{"1": 1, "1b": 1, "2k": 2048, "2KB": 2048, "3mb": 3 << 20, "1G": 1 << 30} {
		if n, err := size(text); n != want || err != nil {
			t.Error(text, n, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "mb", "1tb", "1.5mb", "9999999999gb"} {
		if n, err := size(text); err == nil {
			t.Error(text, n)
		}
	}
}

// What CONFIG SET changes, CONFIG GET shows; what it refuses changes nothing, and
// the text says why.
func TestConfigSet(t *testing.T) {
	failed := func(name, why string) string {
		return "-ERR CONFIG SET failed (possibly related to argument '" + name + "') - " + why + "\r\n"
	}
	both(t, Options{LogLevel: new(slog.LevelVar), MostClients: 20_000, Port: 7711}, func(r *rig) {
		c := r.client()
		for _, test := range []struct{ name, value, shown, refusal string }{
			{"maxclients", "5", "5", ""},
			{"MaxClients", "20000", "20000", ""},
			{"maxclients", "20001", "20000", failed("maxclients", "argument must be between 1 and 20000 inclusive")},
			{"maxclients", "0", "20000", failed("maxclients", "argument must be between 1 and 20000 inclusive")},
			{"maxclients", "1e3", "20000", failed("maxclients", "argument couldn't be parsed into an integer")},
			{"timeout", "300", "300", ""},
			{"timeout", "0", "0", ""},
			{"timeout", "-1", "0", failed("timeout", "argument must be between 0 and 2147483647 inclusive")},
			{"tcp-keepalive", "10", "10", ""},
			{"slowlog-log-slower-than", "-1", "-1", ""},
			{"slowlog-log-slower-than", "0", "0", ""},
			{"slowlog-log-slower-than", "-2", "0", failed("slowlog-log-slower-than", "argument must be between -1 and 2147483647 inclusive")},
			{"slowlog-log-slower-than", "10000", "10000", ""},
			{"slowlog-max-len", "0", "0", ""},
			{"slowlog-max-len", "10000", "10000", ""},
			{"slowlog-max-len", "10001", "10000", failed("slowlog-max-len", "argument must be between 0 and 10000 inclusive")},
			{"latency-monitor-threshold", "0", "0", ""},
			{"latency-monitor-threshold", "20", "20", ""},
			{"maxmemory-clients", "64mb", "67108864", ""},
			{"maxmemory-clients", "10%", "107374180", ""},
			{"maxmemory-clients", "64mb", "67108864", ""},
			{"maxmemory-clients", "x", "67108864", failed("maxmemory-clients", "argument must be a memory value, such as 256mb")},
			{"maxmemory-clients", "1kb", "67108864", failed("maxmemory-clients", "argument must be between 1048576 and 1073741824 inclusive")},
			{"protected-mode", "no", "no", ""},
			{"protected-mode", "maybe", "no", failed("protected-mode", "argument must be 'yes' or 'no'")},
			{"loglevel", "debug", "debug", ""},
			{"loglevel", "notice", "info", ""},
			{"loglevel", "loud", "info", failed("loglevel", "argument(s) must be one of the following: debug, info, warn, error")},
			{"databases", "16", "1", failed("databases", "can't set immutable config: dqd has this value and no other")},
			{"port", "1", "7711", failed("port", "can't set immutable config: start the server with --port, DQD_PORT, or a line in its configuration file")},
		} {
			want := test.refusal
			if want == "" {
				want = "+OK\r\n"
			}
			c.ask("CONFIG SET "+test.name+" "+test.value, want)
			name := strings.ToLower(test.name)
			c.ask("CONFIG GET "+name, fmt.Sprintf("*2\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", len(name), name, len(test.shown), test.shown))
		}
		// All or nothing.
		c.ask("CONFIG SET timeout 7 maxclients x", failed("maxclients", "argument couldn't be parsed into an integer"))
		c.ask("CONFIG SET timeout 7 timeout 8", failed("timeout", "duplicate parameter"))
		c.ask("CONFIG SET timeout 7 nosuch 8", "-ERR Unknown option or number of arguments for CONFIG SET - 'nosuch'\r\n")
		c.ask("CONFIG GET timeout", "*2\r\n$7\r\ntimeout\r\n$1\r\n0\r\n")
		// A setting once, whatever patterns fit, in the protocol of the connection.
		c.ask("CONFIG GET tim* timeout TIMEOUT", "*2\r\n$7\r\ntimeout\r\n$1\r\n0\r\n")
		c.send("HELLO 3\r\n")
		for line := ""; line != "*0"; {
			line = c.line()
		}
		c.ask("CONFIG GET timeout save", "%2\r\n$4\r\nsave\r\n$0\r\n\r\n$7\r\ntimeout\r\n$1\r\n0\r\n")
	})
}

// A password that is set asks the next clients for it, and is in no answer; those
// that are connected go on.
func TestConfigSetPassword(t *testing.T) {
	const secret = "canary-5d1e"
	both(t, Options{}, func(r *rig) {
		old := r.client()
		old.ask("CONFIG SET requirepass "+strings.Repeat("x", passwordMax+1), "-ERR CONFIG SET failed (possibly related to argument 'requirepass') - the password has 513 bytes: use at most 512\r\n")
		old.ask("CONFIG SET requirepass "+secret, "+OK\r\n")
		old.ask("PING", "+PONG\r\n")
		old.ask("CONFIG GET requirepass", "*0\r\n")
		c := r.client()
		c.ask("PING", "-NOAUTH Authentication required.\r\n")
		c.ask("AUTH wrong", "-"+string(errWrongPass)+"\r\n")
		c.ask("AUTH "+secret, "+OK\r\n")
		c.ask("PING", "+PONG\r\n")
		c.ask("CONFIG SET requirepass \"\"", "+OK\r\n")
		r.client().ask("PING", "+PONG\r\n")
		if strings.Contains(r.logs.String(), secret) {
			r.t.Error("the password was logged")
		}
	})
}

// What would leave nobody who is served is refused, as at the start, and changes nothing.
func TestConfigSetServesSomebody(t *testing.T) {
	refused := func(name string) string {
		return "-ERR CONFIG SET failed (possibly related to argument '" + name + "') - nobody would be served: " +
			"without a password only connections over loopback are, and it is not bound; give a requirepass with it, or protected-mode no where the network is trusted\r\n"
	}
	both(t, Options{Password: "secret", Bind: []string{"192.0.2.1"}}, func(r *rig) {
		c := r.client()
		c.ask("AUTH secret", "+OK\r\n")
		c.ask(`CONFIG SET timeout 7 requirepass ""`, refused("requirepass"))
		c.ask("CONFIG GET timeout", "*2\r\n$7\r\ntimeout\r\n$1\r\n0\r\n")
		r.client().ask("PING", "-NOAUTH Authentication required.\r\n")
		c.ask("CONFIG SET protected-mode yes", "+OK\r\n") // there is a password
		c.ask(`CONFIG SET requirepass "" protected-mode no`, "+OK\r\n")
		r.client().ask("PING", "+PONG\r\n")
		c.ask("CONFIG SET protected-mode yes", refused("protected-mode"))
		c.ask("CONFIG GET protected-mode", "*2\r\n$14\r\nprotected-mode\r\n$2\r\nno\r\n")
		c.ask("CONFIG SET protected-mode yes requirepass secret", "+OK\r\n")
	})
	// Those over loopback are somebody.
	for _, address := range []string{"*", "0.0.0.0", "::", "::1", "localhost", "127.0.0.2"} {
		both(t, Options{Password: "secret", Bind: []string{"192.0.2.1", address}}, func(r *rig) {
			c := r.client()
			c.ask("AUTH secret", "+OK\r\n")
			c.ask(`CONFIG SET requirepass ""`, "+OK\r\n")
		})
	}
}

// maxclients counts at once: who is connected stays, one more is refused.
func TestConfigSetMaxClients(t *testing.T) {
	both(t, Options{}, func(r *rig) {
		a, b := r.client(), r.client()
		a.ask("PING", "+PONG\r\n")
		b.ask("PING", "+PONG\r\n")
		a.ask("CONFIG SET maxclients 2", "+OK\r\n")
		if got := r.client().expectClosed(); got != textMaxClients {
			r.t.Errorf("%q", got)
		}
		a.ask("CONFIG SET maxclients 3", "+OK\r\n")
		r.client().ask("PING", "+PONG\r\n")
		b.ask("PING", "+PONG\r\n")
	})
}

// timeout closes who is silent and waits for nothing, also when it is set while
// they are silent already; a waiting pop is no silence.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Timeout: 10 * time.Second}, false)
		silent, talking, waiting := r.client(), r.client(), r.client()
		silent.ask("PING", "+PONG\r\n")
		waiting.send("DQPOP q BLOCK 30s\r\n")
		for range 4 {
			time.Sleep(6 * time.Second)
			talking.ask("PING", "+PONG\r\n")
		}
		if got := silent.expectClosed(); got != "" {
			t.Errorf("%q", got)
		}
		talking.ask("DQADD q a x", "$1\r\na\r\n")
		waiting.expect("*1\r\n*6\r\n$1\r\nq\r\n")
		talking.ask("CONFIG SET timeout 0", "+OK\r\n")
		time.Sleep(time.Hour)
		talking.ask("PING", "+PONG\r\n")
		time.Sleep(time.Minute)
		talking.ask("CONFIG SET timeout 120", "+OK\r\n")
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		if n := r.connected(); n != 0 {
			t.Error(n, "clients are left")
		}
		if n := r.counters.closed[closedIdle].Load(); n != 3 {
			t.Error(n, "were closed as idle")
		}
		if n := r.counters.closed[closedCommandTimeout].Load(); n != 0 {
			t.Error(n, "were closed for an unfinished command")
		}
	})
}

// Every option of the server that bounds something is shown by CONFIG GET.
func TestConfigShowsAllLimits(t *testing.T) {
	o := Options{
		MaxClients: 1001, Memory: 1002 << 20, ClientBuffers: 1003 << 20, OutputBuffer: 1004 << 10, OutputPause: 1005, PendingCalls: 1006,
		PendingBytes: 1007, StalledInput: 1008, CommandTimeout: 1009 * time.Second, WriteTimeout: 1010 * time.Second,
		LoadingWait: 1011 * time.Second, KeepAlive: 1012 * time.Second, Timeout: 1013 * time.Second, SlowerThan: 1014 * time.Microsecond,
		SlowLog: 1015, LatencyEvent: 1016 * time.Millisecond, Limits: resp.Limits{Args: 1017, Bulk: 1018, Inline: 1019, Command: 1020},
	}
	r := newRig(t, o, true)
	c := r.client()
	c.send("CONFIG GET *\r\nECHO end\r\n")
	var all strings.Builder
	for line := ""; line != "end"; {
		line = c.line()
		all.WriteString(line + "\n")
	}
	for n := 1001; n <= 1020; n++ {
		want := fmt.Sprintf("\n%d\n", n)
		switch n {
		case 1002:
			want = fmt.Sprintf("\n%d\n", 1002<<20)
		case 1003:
			want = fmt.Sprintf("\n%d\n", 1003<<20)
		case 1004:
			want = fmt.Sprintf("\nnormal %d 0 0\n", 1004<<10)
		}
		if !strings.Contains(all.String(), want) {
			t.Errorf("CONFIG GET * does not have%s", want)
		}
	}
}
