package model_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"
	"testing/synctest"

	"dqd/commands"
	"dqd/server/shard/shardtest"
	"dqd/tests/model"
)

// TestFlights holds the shard against itself: what it answers one command at a
// time, each committed before the next is sent, it must answer too when several
// entries are in flight, and the store must be the same at the end.
func TestFlights(t *testing.T) {
	seeds := []uint64{*shardSeed}
	if *shardSeed == 0 {
		seeds = seeds[:0]
		for n := range (*shardSeeds + 2) / 3 { // each runs twice
			seeds = append(seeds, uint64(n+1))
		}
	}
	deepest := 0
	for _, seed := range seeds {
		deepest = max(deepest, runFlights(t, seed))
	}
	if deepest < 3 {
		t.Errorf("at most %d entries were in flight: the test does not show what it should", deepest)
	}
}

func runFlights(t *testing.T, seed uint64) (deepest int) {
	var one *recorder
	opt := model.Options{NoPolicy: seed%4 == 0, Release: seed%4 == 1}
	synctest.Test(t, func(t *testing.T) {
		model.Try(seed, *shardSteps, opt, func() model.Subject {
			one = &recorder{subject: newSubject(seed), replies: map[int][]string{}}
			one.stays = true
			return one
		})
	})
	synctest.Test(t, func(t *testing.T) {
		s := newSubject(seed)
		s.stays, s.early = true, 1
		s.stop()
		s.start()
		f := &flights{subject: s, rng: rand.New(rand.NewPCG(seed, 1)), replies: map[int][]string{}}
		for _, e := range one.events {
			f.play(e)
		}
		f.land()
		deepest = f.deepest
		for client := range 64 {
			if want, got := one.replies[client], f.replies[client]; !slices.Equal(got, want) {
				i := 0
				for i < min(len(want), len(got)) && got[i] == want[i] {
					i++
				}
				t.Errorf("seed %d: client %d, from reply %d on:\ngot  %.300q\nwant %.300q", seed, client, i, got[i:], want[i:])
				break
			}
		}
		if err := s.Recount(); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		s.Close()
	})
	return deepest
}

// plain is a reply without the lateness and run times of DQSTATS, which this node
// counts when an entry has committed.
func plain(r model.Reply) string { return ownTimes.ReplaceAllString(fmt.Sprint(r), "") }

var ownTimes = regexp.MustCompile(`"(late|run)-(p50|p99|max)-us" \S+`)

// event is something that was done to a subject.
type event struct {
	kind   string // do, exec, or one of Subject's other methods
	client int
	args   []string
	queued [][]string // exec: the commands
	ns     int64
}

// recorder is a subject that keeps what is done to it, and each client's replies in order.
type recorder struct {
	*subject
	events  []event
	replies map[int][]string
}

func (r *recorder) Do(client int, args []string) (model.Reply, bool) {
	reply, parked := r.subject.Do(client, args)
	if _, _, err := commands.Parse(argv(args), commands.DefaultLimits()); err != nil {
		return reply, parked // it never reaches the shard
	}
	r.events = append(r.events, event{kind: "do", client: client, args: args})
	if !parked {
		r.replies[client] = append(r.replies[client], plain(reply))
	}
	return reply, parked
}

func (r *recorder) Exec(client int, queued [][]string) model.Reply {
	reply := r.subject.Exec(client, queued)
	if reply.Str != string(commands.ErrExecAborted) { // else it never reaches the shard
		r.events = append(r.events, event{kind: "exec", client: client, queued: queued})
		r.replies[client] = append(r.replies[client], plain(reply))
	}
	return reply
}

func (r *recorder) Arrived() []model.Arrival {
	all := r.subject.Arrived()
	for _, a := range all {
		r.replies[a.Client] = append(r.replies[a.Client], plain(a.Reply))
	}
	return all
}

func (r *recorder) AdvanceTo(progress int64) {
	r.events = append(r.events, event{kind: "advance", ns: progress})
	r.subject.AdvanceTo(progress)
}

func (r *recorder) StepWall(delta int64) {
	r.events = append(r.events, event{kind: "step", ns: delta})
	r.subject.StepWall(delta)
}

func (r *recorder) Accept() {
	r.events = append(r.events, event{kind: "accept"})
	r.subject.Accept()
}

func (r *recorder) Restart(delta int64) {
	r.events = append(r.events, event{kind: "restart", ns: delta})
	r.subject.Restart(delta)
}

func (r *recorder) Drop(client int) {
	r.events = append(r.events, event{kind: "drop", client: client})
	r.subject.Drop(client)
}

func argv(args []string) (argv [][]byte) {
	for _, a := range args {
		argv = append(argv, []byte(a))
	}
	return argv
}

// flights plays events without waiting for answers, in bursts during which the log
// writes nothing.
type flights struct {
	*subject
	rng     *rand.Rand
	release func() // ends the burst; nil = there is none
	left    int    // commands until it ends by itself
	replies map[int][]string
	deepest int
}

func (f *flights) play(e event) {
	switch e.kind {
	case "do", "exec":
		if f.release == nil {
			f.release, f.left = f.log.Hold(), 1+f.rng.IntN(16)
		}
		c := f.clients[e.client]
		if c == nil {
			c = &shardtest.Client{}
			f.clients[e.client] = c
		}
		reads := false
		if e.kind == "exec" {
			c.Exec(f.shard, e.queued...)
		} else {
			c.Do(f.shard, e.args...)
			// Behind a read that runs beside the actor, or slices, a connection sends nothing more.
			_, request, _ := commands.Parse(argv(e.args), commands.DefaultLimits())
			reads = commands.ReadsMuch(request) || commands.Slices(request)
		}
		if f.rng.IntN(4) > 0 {
			synctest.Wait() // else the next one may be in the same batch
		}
		f.deepest = max(f.deepest, f.log.Waiting())
		if f.left--; f.left == 0 || reads {
			f.land()
		}
	case "advance":
		f.land()
		f.AdvanceTo(e.ns)
		f.land()
	case "step":
		f.land()
		f.StepWall(e.ns)
		f.land()
	case "accept":
		f.land()
		f.Accept()
		f.land()
	case "restart":
		f.land()
		f.Restart(e.ns)
		f.land()
	case "drop":
		f.land()
		f.Drop(e.client)
	}
}

// land ends the burst and takes the answers.
func (f *flights) land() {
	if f.release != nil {
		f.release()
		f.release = nil
	}
	synctest.Wait()
	for client, c := range f.clients {
		for _, call := range c.Replies() {
			f.replies[client] = append(f.replies[client], plain(tree(call.Reply)))
		}
	}
}
