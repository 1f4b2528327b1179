package shard_test

import (
	"strings"
	"testing"

	"dqd/commands"
	"dqd/server/shard"
	"dqd/server/shard/shardtest"
)

// TestGuard: while a guard refuses, what takes room is refused: adds, longer
// payloads, settings and pauses of new queues. A re-sent IDEM request takes none, and is answered as the first time.
func TestGuard(t *testing.T) {
	for name, set := range map[string]func(*shard.Options){"alone": func(*shard.Options) {}, "in flight": early} {
		t.Run(name, func(t *testing.T) {
			full := commands.Error("")
			runWith(t, func(o *shard.Options) {
				set(o)
				o.Limits.Refuse = func() commands.Error { return full }
			}, func(b *bench) {
				c := &shardtest.Client{}
				b.do(c, "DQADD q a one DELAY 1h IDEM")
				b.do(c, "DQADD q acked two IDEM")
				b.do(c, "DQPOP q NOACK")
				b.do(c, "DQADD q plain three DELAY 1h")
				before := b.do(c, "DQSTATS q")
				full = "MISCONF the disk is full"
				for line, want := range map[string]string{
					"DQADD q b x":                                  "-MISCONF the disk is full",
					"DQADD q b x IDEM":                             "-MISCONF the disk is full",
					"DQADD q plain x NX":                           "-MISCONF the disk is full",
					"DQADD q plain x UPSERT":                       "-MISCONF the disk is full",
					"DQADD q a one DELAY 2h IDEM":                  "-MISCONF the disk is full",
					"DQADD new b x":                                "-MISCONF the disk is full",
					"DQCONFIG SET new ttl 1h":                      "-MISCONF the disk is full",
					"DQPAUSE new":                                  "-MISCONF the disk is full",
					"DQCONFIG SET q ttl 0":                         "+OK",
					"DQADD q a one DELAY 1h IDEM":                  "$1 a",
					"DQADD q acked two IDEM":                       "$5 acked",
					"DQMADD q IDEM JOBS 2 a one +1h acked two +0":  "-MISCONF the disk is full",
					"DQMADD q IDEM JOBS 1 a one +1h":               "*1 $1 a",
					"DQMADD q IDEM JOBS 2 a one +1h b x +0":        "-MISCONF the disk is full",
					"DQRESCHEDULE q plain DELAY 1h PAYLOAD longer": "-MISCONF the disk is full",
					"DQRESCHEDULE q plain DELAY 1h PAYLOAD THREE":  ":1",
					"DQRESCHEDULE q none NOW PAYLOAD longer":       ":-2",
				} {
					if got := b.do(c, line); got != want {
						t.Errorf("%s: %s, want %s", line, got, want)
					}
				}
				b.want(b.exec(c, "DQADD q a one DELAY 1h IDEM", "DQLEN q"), "*2 $1 a :2")
				b.want(b.exec(c, "DQCANCEL q plain", "DQADD q b x"), "-EXECABORT Transaction discarded: command 2 (dqadd): MISCONF the disk is full")
				if after := b.do(c, "DQSTATS q"); after != before {
					t.Errorf("a refused add left a trace:\n%s\n%s", before, after)
				}
				b.want(b.do(c, "DQCANCEL q plain"), ":1")
				full = ""
				b.want(b.do(c, "DQADD q b x"), "$1 b")
				if got := b.do(c, "DQSTATS new"); !strings.HasPrefix(got, "*-1") {
					t.Error(got)
				}
			})
		})
	}
}
