package model_test

import (
	"flag"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dqd/commands"
	"dqd/persist"
	"dqd/persist/disktest"
	"dqd/raftfsm"
	"dqd/server/shard"
	"dqd/server/shard/evaluate"
	"dqd/server/shard/shardtest"
	"dqd/tests/model"
	"dqd/tsc"
)

var (
	crashSeed  = flag.Uint64("crash.seed", 0, "seed of the crash and fault sweeps; 0 = by the clock")
	crashEvery = flag.Int("crash.every", 24, "look at about one in so many crash points")
	crashSteps = flag.Int("crash.steps", 160, "steps of the history that is cut")
	faultEvery = flag.Int("crash.fault-every", 12, "let one in so many operations of each kind fail")
)

// piped is a whole shard on a disk: actor, evaluator, Raft node and stores. It
// takes commands while others are in flight.
type piped struct {
	*subject
	node *raftfsm.Node
	life *life

	mu        sync.Mutex
	numbers   map[*shard.Call]int
	delivered []*shard.Call // what the shard has answered, refusals aside, in order
	refused   []*shard.Call // what it said that it has not done
}

// openPiped opens the folder on a disk while the wall clock shows wall, and waits until
// it serves.
func openPiped(fs persist.FS, wall int64, fatal func(error), l *life) (*piped, error) {
	node, err := raftfsm.Open(raftfsm.Options{
		Dir: "node", FS: fs, NodeID: "a", NoWarmUp: true, Fatal: fatal,
		StateMemTable: 128 << 10, LogMemTable: 128 << 10, StateCache: 1 << 20, SnapshotEntries: 40, TrailingLogs: 8,
	})
	if err != nil {
		return nil, err
	}
	c := &clock{Go: tsc.NewGo()}
	c.shift = wall - c.Wall()
	s := &subject{
		clock: c, state: node.State(), clients: map[int]*shardtest.Client{}, parked: map[int]bool{},
		limits: evaluate.DefaultLimits(), applied: node.Applied, ahead: c.shift, stays: true,
		wait: func() { l.before(synctest.Wait) },
	}
	p := &piped{subject: s, node: node, life: l, numbers: map[*shard.Call]int{}}
	s.shard = shard.New(shard.Options{
		Log: node, State: s.state, Clock: c, Logger: slog.New(slog.DiscardHandler),
		Limits: s.limits, Early: 1, Slice: 2, ClockTrust: int64(24 * time.Hour),
		Fatal: func(err error) { fatal(err); panic(err) },
	})
	serving := make(chan struct{})
	s.shard.OnServing(func() {
		if l != nil {
			l.served.Store(c.Wall())
		}
		close(serving)
	})
	select {
	case <-serving:
	case <-time.After(time.Minute):
		p.Close()
		return nil, fmt.Errorf("it does not serve")
	}
	s.wait()
	return p, nil
}

func (p *piped) Close() {
	p.shard.Close()
	p.node.Close()
}

func (p *piped) Send(n, client int, args []string, queued [][]string) {
	c := p.clients[client]
	if c == nil {
		c = &shardtest.Client{OnDeliver: func(call *shard.Call) {
			p.mu.Lock()
			defer p.mu.Unlock()
			switch text, _ := call.Reply.(commands.Error); {
			case strings.HasPrefix(string(text), "TRYAGAIN "):
				p.refused = append(p.refused, call)
				return
			case strings.HasPrefix(string(text), "INDOUBT "):
				return
			}
			p.delivered = append(p.delivered, call)
		}}
		p.clients[client] = c
	}
	var call *shard.Call
	if queued != nil {
		call = c.Exec(p.shard, queued...)
	} else {
		call = c.Do(p.shard, args...)
	}
	p.mu.Lock()
	p.numbers[call] = n
	p.mu.Unlock()
	if n%3 > 0 {
		p.wait() // else the next one may be in the same batch
	}
}

func (p *piped) Land() { p.wait() }

func (p *piped) AdvanceTo(progress int64) {
	p.life.before(func() { p.subject.AdvanceTo(progress) })
}

func (p *piped) Recount() (err error) {
	p.life.before(func() { err = p.subject.Recount() })
	return err
}

func (p *piped) Answers() map[int]model.Reply {
	answers := map[int]model.Reply{}
	for client, c := range p.clients {
		if client < 0 {
			continue // a reader, which waits for each answer
		}
		for _, call := range c.Replies() {
			answers[p.numbers[call]] = tree(call.Reply)
		}
	}
	return answers
}

// crash is what a crash left, and what was known then.
type crash struct {
	disktest.Cut
	answers int   // so many had been answered
	refused int   // and of so many was said that they were not done
	sent    int   // points of the tape
	wall    int64 // the time
	served  int64 // when it was started in between, wall ns; 0 = it was not
}

// crashRun plays a history to a shard on a disk, and looks at what crashes leave.
type crashRun struct {
	seed  uint64
	steps int
	layer func(persist.FS) persist.FS // breaks the disk under test; nil = not
	shard *piped
	tape  *model.Tape
	until atomic.Int64 // how many points the tape has
	life  *life
}

// play plays the history on a disk until stop says so. Nothing may differ.
func (c *crashRun) play(t *testing.T, disk *disktest.Disk, fatal func(error), stop func() bool) {
	shard, err := openPiped(disk, startWall, fatal, c.life)
	if err != nil {
		t.Fatal(err)
	}
	c.shard = shard
	defer c.life.before(shard.Close)
	opt := model.Options{NoPolicy: c.seed%4 == 0, Release: c.seed%4 == 1, Near: true, Marked: func(points int) { c.until.Store(int64(points)) }}
	c.tape = model.NewTape(c.seed, opt, shard)
	if bad := c.tape.Play(c.steps, stop); bad != nil {
		t.Fatalf("-crash.seed %d: without a crash: %v", c.seed, bad)
	}
}

// now is what a crash at this moment is to be held to. The disk's state is taken later:
// what is answered in between is not asked for.
func (c *crashRun) now() crash {
	p := c.shard
	p.mu.Lock()
	defer p.mu.Unlock()
	return crash{answers: len(p.delivered), refused: len(p.refused), sent: int(c.until.Load()), wall: p.clock.Wall()}
}

func (p *piped) numbersOf(calls []*shard.Call) (numbers []int) {
	for _, call := range calls {
		numbers = append(numbers, p.numbers[call])
	}
	return numbers
}

// check opens what a crash left, in a bubble of its own, and holds it to the tape.
func (c *crashRun) check(t *testing.T, cr crash) (violation string) {
	p := c.shard
	p.mu.Lock()
	answered, refused := p.numbersOf(p.delivered[:cr.answers]), p.numbersOf(p.refused[:cr.refused])
	p.mu.Unlock()
	synctest.Test(t, func(t *testing.T) {
		shard, err := openPiped(cr.FS, cr.wall, func(err error) { violation = err.Error() }, nil)
		if err != nil {
			violation = err.Error()
			return
		}
		defer shard.Close()
		if text := c.tape.Compare(c.seed, shard, answered, refused, cr.sent, cr.served, 12); text != "" {
			violation = text
			return
		}
		if err := persist.Verify(shard.state); err != nil {
			violation = err.Error()
		}
	})
	if violation != "" {
		violation = fmt.Sprintf("crash before %s, %d %% of unsynced data kept, %d answers: %s", cr.Op, cr.Percent, cr.answers, violation)
	}
	return violation
}

// crashes plays the history and returns what power cuts at about one in so many operations that
// write would leave.
func (c *crashRun) crashes(t *testing.T, every int) (crashes []crash) {
	synctest.Test(t, func(t *testing.T) {
		disk := disktest.New()
		if c.layer != nil {
			disk = disk.Over(c.layer)
		}
		c.play(t, disk.Cuts(c.seed, every, func(cut func() disktest.Cut) {
			if c.until.Load() > 0 { // a crash while the folder is made is for package raftfsm
				cr := c.now()
				cr.Cut = cut()
				crashes = append(crashes, cr)
			}
		}), func(err error) { t.Errorf("fatal: %v", err) }, func() bool { return false })
	})
	return crashes
}

// cut returns how many such crashes it looked at, and what was wrong after the first that is.
func (c *crashRun) cut(t *testing.T, every int) (points int, violation string) {
	crashes := c.crashes(t, every)
	for i, cr := range crashes {
		if violation := c.check(t, cr); violation != "" {
			return i + 1, violation
		}
	}
	return len(crashes), ""
}

func crashSeedOf(t *testing.T) uint64 {
	seed := *crashSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano() % 1_000_000)
	}
	t.Logf("replay with -crash.seed %d", seed)
	return seed
}

// The power goes at any file-system operation while commands of every kind are in
// flight. Started again, the shard is what the model was behind some prefix of them, which has
// all that was answered; a command on many jobs may be half done; and it goes on like the
// model (I2, I10, I11, I14, F1, F2, F3). All crash points of a history:
//
//	go test ./tests/model -run TestShardCrash$ -crash.every 1 -timeout 2h
func TestShardCrash(t *testing.T) {
	c := &crashRun{seed: crashSeedOf(t), steps: *crashSteps}
	points, violation := c.cut(t, *crashEvery)
	if violation != "" {
		t.Error(violation)
	}
	t.Logf("%d crash points, %d points of the tape", points, c.tape.Points())
	if points < 3 { // a history may have few
		t.Errorf("only %d crash points", points)
	}
}

// The crash sweep sees what it must see.
func TestShardCrashSeesFaults(t *testing.T) {
	for seed := uint64(1); seed <= 5; seed++ {
		c := &crashRun{seed: seed, steps: 80, layer: func(fs persist.FS) persist.FS { return disktest.NoSync(fs, "FORMAT") }}
		if points, violation := c.cut(t, 6); violation != "" {
			t.Logf("a log that is not synced is found at seed %d, crash point %d: %.300s", seed, points, violation)
			return
		}
	}
	t.Error("a log that is not synced goes unnoticed")
}
