package model_test

import (
	"flag"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"dqd/commands"
	"dqd/persist"
	"dqd/persist/record"
	"dqd/server/shard"
	"dqd/server/shard/evaluate"
	"dqd/server/shard/shardtest"
	"dqd/tests/model"
	"dqd/tsc"
)

var (
	shardSeed  = flag.Uint64("shard.seed", 0, "run the shard on this seed only")
	shardSeeds = flag.Int("shard.seeds", 30, "how many seeds the shard runs")
	shardSteps = flag.Int("shard.steps", 400, "steps of each")
	shrink     = flag.Int("shard.shrink", 600, "how often a failing history is tried shorter")
)

// TestShard holds the real shard (actor, evaluator, dispatcher, effects, state
// store) against the model, under virtual time.
func TestShard(t *testing.T) {
	if *shardSeed != 0 {
		runShard(t, *shardSeed)
		return
	}
	for seed := range *shardSeeds {
		runShard(t, uint64(seed+1))
	}
}

func runShard(t *testing.T, seed uint64) {
	synctest.Test(t, func(t *testing.T) {
		// A restart ends all connections: where leases hang on them there is none.
		opt := model.Options{NoPolicy: seed%4 == 0, Release: seed%4 == 1, ShrinkTries: *shrink}
		model.RunWith(t, seed, *shardSteps, opt, func() model.Subject {
			s := newSubject(seed)
			s.stays = opt.Release
			return s
		})
	})
}

// startWall is where the wall clock of every subject begins: far from 1970, as
// times below 10^12 ms are refused.
const startWall = int64(1_800_000_000_000_000_000)

// clock is virtual time with a wall clock that steps.
type clock struct {
	*tsc.Go
	shift int64
}

func (c *clock) Wall() int64 { return startWall + c.Mono() - 1 + c.shift }

// subject is a shard over a state store in memory, whose log applies entries at once.
type subject struct {
	clock   *clock
	state   *persist.State
	log     *shardtest.Log
	applied func() record.Applied // of the log
	shard   *shard.Shard
	clients map[int]*shardtest.Client
	arrived []model.Arrival
	parked  map[int]bool
	calls   int
	ahead   int64 // of progress before the clock's Mono: time that passed in restarts
	limits  evaluate.Limits
	early   int64  // shard.Options.Early
	slice   int    // shard.Options.Slice
	stays   bool   // the shard lives as long as the subject
	wait    func() // until all is done that follows from what was done
}

// restartEvery is after how many commands the shard is ended and made anew from
// its store, if nobody waits. Nothing may show it: what the leader remembers is a
// cache (I14), and progress goes on by the elapsed wall time. Not while a step is held,
// which a start would believe.
const restartEvery = 7

// newSubject makes a subject; the seed chooses whether its shard remembers records,
// a few, or none, and how many jobs it puts in order at a time.
func newSubject(seed uint64) *subject {
	state, err := persist.OpenState("state", persist.StateOptions{FS: persist.MemFS()})
	if err != nil {
		panic(err)
	}
	s := &subject{
		clock: &clock{Go: tsc.NewGo()}, state: state,
		clients: map[int]*shardtest.Client{}, parked: map[int]bool{},
		limits: evaluate.DefaultLimits(), wait: synctest.Wait,
	}
	s.limits.HotRecords = []int{0, 3, 1 << 15}[seed%3]
	s.limits.WindowBytes = []int{1, 300, 8 << 20}[seed/3%3]
	s.start()
	return s
}

func (s *subject) start() {
	s.log = shardtest.NewLog(s.state)
	s.applied = s.log.Applied
	s.shard = shard.New(shard.Options{
		Log: s.log, State: s.state, Clock: s.clock, Logger: slog.New(slog.DiscardHandler),
		Limits: s.limits, Early: s.early, Slice: s.slice, ClockTrust: int64(24 * time.Hour),
		Fatal: func(err error) { panic(err) },
	})
	s.wait()
}

func (s *subject) stop() {
	s.shard.Close()
	s.log.Close()
}

func (s *subject) Close() {
	s.stop()
	if err := s.state.Close(); err != nil {
		panic(err)
	}
}

func (s *subject) Now() (progress, wall int64) {
	p := startWall + s.clock.Mono() - 1 + s.ahead
	return p, p + s.applied().WallOffset
}

func (s *subject) Do(client int, args []string) (model.Reply, bool) {
	c := s.clients[client]
	if c == nil {
		c = &shardtest.Client{}
		s.clients[client] = c
	}
	if s.calls++; !s.stays && s.calls%restartEvery == 0 && client >= 0 && len(s.parked) == 0 && s.shard.Gauges().Clock.State == "ok" {
		s.stop()
		s.start()
	}
	c.Do(s.shard, args...)
	s.wait()
	s.collect(client)
	replies := c.Replies()
	if len(replies) == 0 {
		s.parked[client] = true
		return model.Reply{}, true
	}
	return tree(replies[0].Reply), false
}

// Exec implements model.Transactor. What cannot be read is refused when it is queued.
func (s *subject) Exec(client int, queued [][]string) model.Reply {
	c := s.clients[client]
	if c == nil {
		c = &shardtest.Client{}
		s.clients[client] = c
	}
	c.Exec(s.shard, queued...)
	s.wait()
	s.collect(client)
	return tree(c.Replies()[0].Reply)
}

func (s *subject) AdvanceTo(progress int64) {
	now, _ := s.Now()
	time.Sleep(time.Duration(progress - now))
	s.wait()
	s.collect(-1)
}

func (s *subject) StepWall(delta int64) {
	s.clock.shift += delta
	// The shard notices at its next look at the clock.
	s.Do(-1, []string{"DQCLOCK"})
}

func (s *subject) Accept() { s.Do(-1, []string{"DQCLOCK", "ACCEPT"}) }

func (s *subject) Restart(delta int64) {
	s.write()
	s.stop()
	s.clock.shift += delta
	s.start()
	s.Do(-1, []string{"DQCLOCK"})
	before, _ := s.Now()
	s.ahead += s.write() - before
}

// write has an entry written now, in a queue of its own, and returns its time. The
// model does the same.
func (s *subject) write() (progress int64) {
	s.Do(-1, []string{"DQADD", "own", "x", ""})
	s.Do(-1, []string{"DQCANCEL", "own", "x"})
	return s.applied().Time
}

func (s *subject) Drop(client int) {
	if s.clients[client] == nil {
		return
	}
	s.clients[client].Leave(s.shard)
	s.wait()
	s.clients[client].Replies()
	delete(s.clients, client)
	delete(s.parked, client)
	s.collect(-1)
}

// collect takes the answers that parked pops got, but for the client that sends.
func (s *subject) collect(except int) {
	for client := range 64 {
		if client == except || !s.parked[client] {
			continue
		}
		for _, call := range s.clients[client].Replies() {
			s.arrived = append(s.arrived, model.Arrival{Client: client, Reply: tree(call.Reply)})
			delete(s.parked, client)
		}
	}
}

func (s *subject) Arrived() []model.Arrival {
	a := s.arrived
	s.arrived = nil
	return a
}

func (s *subject) Recount() error {
	if s.applied().Index == 0 {
		return nil // nothing was ever stored
	}
	return persist.Verify(s.state)
}

// tree turns a reply into the model's form.
func tree(r commands.Reply) model.Reply {
	var b builder
	r.WriteReply(&b)
	out, rest := b.take()
	if len(rest.items) != 0 {
		panic("a reply of several elements")
	}
	return out
}

// builder is a commands.Writer that keeps the elements in the order written.
type builder struct{ items []model.Reply }

func (b *builder) add(r model.Reply)   { b.items = append(b.items, r) }
func (b *builder) Simple(s string)     { b.add(model.Reply{Kind: model.Status, Str: s}) }
func (b *builder) Error(s string)      { b.add(model.Reply{Kind: model.Error, Str: s}) }
func (b *builder) Int(n int64)         { b.add(model.Reply{Kind: model.Int, Num: n}) }
func (b *builder) Bulk(s []byte)       { b.add(model.Reply{Kind: model.Bulk, Str: string(s)}) }
func (b *builder) BulkString(s string) { b.add(model.Reply{Kind: model.Bulk, Str: s}) }
func (b *builder) Null()               { b.add(model.Reply{Kind: model.Null}) }
func (b *builder) NullArray()          { b.add(model.Reply{Kind: model.Null}) }
func (b *builder) Array(n int)         { b.add(model.Reply{Kind: model.Array, Num: int64(n)}) }
func (b *builder) Map(n int)           { b.add(model.Reply{Kind: model.Map, Num: int64(2 * n)}) }

// take builds the first element with all that belongs to it.
func (b builder) take() (model.Reply, builder) {
	r := b.items[0]
	b.items = b.items[1:]
	if r.Kind == model.Array || r.Kind == model.Map {
		n := r.Num
		r.Num = 0
		for range n {
			var item model.Reply
			item, b = b.take()
			r.Items = append(r.Items, item)
		}
	}
	return r, b
}
