package shard_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dqd/commands"
	"dqd/server/shard"
	"dqd/server/shard/shardtest"
	"dqd/tsc"
)

// busy is a client that sends its next command as soon as it has an answer.
type busy struct {
	shardtest.Client
	shard *shard.Shard
	next  func(answer commands.Reply) (line string) // "" = nothing more
}

func (c *busy) send(line string) {
	argv := bytes.Fields([]byte(line))
	_, r, err := commands.Parse(argv, commands.DefaultLimits())
	if err != nil {
		panic(err)
	}
	c.shard.Submit([]*shard.Call{{Client: c, Request: r}})
}

// Deliver implements shard.Client.
func (c *busy) Deliver(call *shard.Call) {
	if line := c.next(call.Reply); line != "" {
		c.send(line)
	}
}

// TestStepReleasesInSlices: 100,000 AT jobs become due by one step of the wall clock.
// They leave in the order of their due times, whatever the order they came in, and
// meanwhile each command of others is answered after one slice of them or two.
func TestStepReleasesInSlices(t *testing.T) {
	run(t, func(b *bench) {
		const jobs, perAdd, slice = 100_000, 1000, 1024
		c := &shardtest.Client{}
		const seed = 7
		order := rand.New(rand.NewPCG(seed, 0)).Perm(jobs)
		for i := 0; i < jobs; i += perAdd {
			line := fmt.Sprintf("DQMADD q JOBS %d", perAdd)
			for _, k := range order[i : i+perAdd] {
				line += fmt.Sprintf(" %06d x %dns", k, 1_800_003_600_000_000_000+int64(k)*1000)
			}
			b.do(c, line)
		}

		// Ten workers wait; each comes back when it got something.
		var delivered []string
		for range 10 {
			w := &busy{shard: b.shard}
			w.next = func(answer commands.Reply) string {
				d, ok := answer.(*commands.Deliveries)
				if !ok {
					return ""
				}
				for _, j := range d.Jobs {
					delivered = append(delivered, string(j.ID))
				}
				return "DQPOP q BLOCK 30s COUNT 200 NOACK"
			}
			w.send("DQPOP q BLOCK 30s COUNT 200 NOACK")
		}

		// Another client's commands: how many jobs still waited when each round was answered.
		left := []int{jobs}
		other := &busy{shard: b.shard}
		commandsSent := 0
		other.next = func(answer commands.Reply) string {
			if n, ok := answer.(commands.Int); ok {
				if left = append(left, int(n)); n == 0 {
					return ""
				}
			}
			switch commandsSent++; commandsSent % 3 {
			case 0:
				return "DQLEN q STATE delayed"
			case 1:
				return fmt.Sprintf("DQADD other %d x", commandsSent)
			}
			return "DQPOP other NOACK"
		}

		b.clock.Step(3 * time.Hour)
		accept := &busy{shard: b.shard, next: func(commands.Reply) string { return "" }}
		accept.send("DQCLOCK ACCEPT")
		other.send("DQLEN q STATE delayed")
		synctest.Wait()

		for i := 1; i < len(left); i++ {
			// Each of the three commands waits for the entry in flight, and is in the next one.
			if most := 3 * 2 * slice; left[i-1]-left[i] > most {
				t.Fatalf("seed %d: three commands waited while %d jobs became ready, at most %d are right", seed, left[i-1]-left[i], most)
			}
		}
		if left[len(left)-1] != 0 {
			t.Fatalf("seed %d: %d jobs were not made ready", seed, left[len(left)-1])
		}
		if len(delivered) != jobs || !slices.IsSorted(delivered) {
			t.Fatalf("seed %d: %d jobs delivered, in order: %v", seed, len(delivered), slices.IsSorted(delivered))
		}
	})
}

// trusting is a shard that follows a step of a day by itself.
func trusting(o *shard.Options) { o.ClockTrust = int64(24 * time.Hour) }

// TestStepIsSeenByItself: although nobody sends a command and no AT job waits, a step is
// noticed within half a minute, and followed when it has stood for 10 s.
func TestStepIsSeenByItself(t *testing.T) {
	runWith(t, trusting, func(b *bench) {
		state := func(d time.Duration) string {
			time.Sleep(d)
			synctest.Wait()
			g := b.shard.Gauges().Clock
			return fmt.Sprint(g.State, " ", g.Steps, " ", g.OffsetUs)
		}
		b.clock.Step(time.Hour)
		b.want(state(30*time.Second), "held 1 3600000000")
		b.want(state(10*time.Second-1), "held 1 3600000000")
		b.want(state(1), "ok 1 0")
		if got := b.log.Applied().WallOffset; got != int64(time.Hour) {
			t.Fatalf("the log has the offset %d", got)
		}
		b.clock.Step(48 * time.Hour)
		b.want(state(30*time.Second), "held 2 172800000000")
		b.want(state(time.Hour), "held 2 172800000000")
		b.clock.Step(-48 * time.Hour)
		b.want(state(time.Second), "ok 3 0")
	})
}

// TestStepIsLoggedOnce, however long it is held and however often it is looked at.
func TestStepIsLoggedOnce(t *testing.T) {
	var log bytes.Buffer
	runWith(t, func(o *shard.Options) {
		trusting(o)
		o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	}, func(b *bench) {
		c := &shardtest.Client{}
		look := func(step time.Duration, want ...string) {
			t.Helper()
			log.Reset()
			b.clock.Step(step)
			for range 15 {
				b.do(c, "DQCLOCK")
				b.after(time.Second, c)
			}
			got := strings.Split(strings.TrimSpace(log.String()), "\n")
			if len(got) != len(want) {
				t.Fatalf("after a step of %v it says\n%s", step, log.String())
			}
			for i := range want {
				if !strings.Contains(got[i], want[i]) {
					t.Fatalf("after a step of %v it says\n%s\nnot %q", step, got[i], want[i])
				}
			}
		}
		look(time.Hour, "stepped forward: it is followed if it stays so for 10 s\" ahead=1h0m0s", "step is followed")
		look(-time.Hour, "stepped back")
		look(48*time.Hour, "stepped forward: AT jobs wait until it returns, or for DQCLOCK ACCEPT\" ahead=48h0m0s")
		look(-12*time.Hour, "stepped forward: AT jobs wait until it returns, or for DQCLOCK ACCEPT\" ahead=36h0m0s")
		look(-36*time.Hour, "the wall clock returned")
	})
}

// TestSuspension: time for which the machine was suspended has passed for DELAY jobs and
// leases too, and is no step of the wall clock.
func TestSuspension(t *testing.T) {
	clock := tsc.NewFake(1, 1_800_000_000_000_000_000)
	runWith(t, func(o *shard.Options) { o.Clock = clock }, func(b *bench) {
		c := &shardtest.Client{}
		b.do(c, "DQADD q at x AT 1800003600000")
		b.do(c, "DQADD q delay x DELAY 2h")
		clock.Suspend(2*time.Hour - 1)
		b.want(b.steps(c), "0 ok")
		b.want(b.do(c, "DQPOP q NOACK COUNT 10"), "*1 *6 $1 q $2 at …")
		clock.Advance(1)
		b.got(c)
		b.want(b.do(c, "DQPOP q NOACK COUNT 10"), "*1 *6 $1 q $5 delay …")
		b.want(b.steps(c), "0 ok")
	})
}

// steps returns the steps that DQCLOCK shows, and its state.
func (b *bench) steps(c *shardtest.Client) string {
	c.Do(b.shard, "DQCLOCK")
	synctest.Wait()
	info := c.Replies()[0].Reply.(*commands.ClockInfo)
	return fmt.Sprint(info.Steps, " ", info.State)
}

// pausing is a clock on which time passes between two readings when asked to.
type pausing struct {
	*tsc.Fake
	pause time.Duration // before the next reading of the wall
}

func (p *pausing) Wall() int64 {
	d := p.pause
	p.pause = 0
	p.Fake.Advance(d)
	return p.Fake.Wall()
}

// TestPauseIsNoStep: a process that is stopped between reading the one clock and the
// other does not take that for a step.
func TestPauseIsNoStep(t *testing.T) {
	clock := &pausing{Fake: tsc.NewFake(1, 1_800_000_000_000_000_000)}
	runWith(t, func(o *shard.Options) { o.Clock = clock }, func(b *bench) {
		c := &shardtest.Client{}
		clock.pause = time.Minute
		b.want(b.steps(c), "0 ok")
	})
}
