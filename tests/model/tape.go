package model

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Piped is a Subject that takes commands without waiting for the answers to those before.
type Piped interface {
	Subject
	// Send sends command n, Queued if it is a transaction.
	Send(n, client int, args []string, queued [][]string)
	// Land waits until all that was sent is done, or waits in a pop.
	Land()
	// Answers hands out, once, the answers that came, by the numbers of their commands.
	Answers() map[int]Reply
	// Drop ends a client's connection.
	Drop(client int)
}

// Tape is a history that was played to a Piped subject, and the model as it stood behind each of its parts: so whatever the subject has after a crash, where
// it may lose the newest of what it did, there is a place on the tape to compare it with.
type Tape struct {
	r       *runner
	g       *Generator
	subject Piped
	points  []point
	pending []answer     // what must have come when the subject has landed
	waiting map[int]int  // client → number of its command, which waits
	wantAt  map[int]int  // number of a command → the point at which its answer is known
	waited  map[int]bool // numbers of pops that were answered while they waited
	n       int
}

// point is the model behind a part of the history.
type point struct {
	model *Model
	bulk  []string // the command on many jobs that leads to the next point, if that is one
	op    string   // what led to this point
}

type answer struct {
	n    int
	want Reply
}

// NewTape begins a history. Its clock does not step, and nobody restarts the subject.
func NewTape(seed uint64, opt Options, subject Piped) *Tape {
	opt.NoWallSteps = true
	opt = opt.withDefaults()
	r := newRunner(opt, func() Subject { return subject })
	g := NewGenerator(seed, opt, r.model)
	g.madeIDs = r.made
	t := &Tape{r: r, g: g, subject: subject, waiting: map[int]int{}, wantAt: map[int]int{}, waited: map[int]bool{}}
	t.mark("the start")
	return t
}

// Points is how many places the tape has.
func (t *Tape) Points() int { return len(t.points) }

// reliedOn are the places that a subject may not be before, as these commands were answered: whole, from which place on it must be, and half, behind which it may
// be in the middle of a command on many jobs. A pop that waited may be answered by the first of them.
func (t *Tape) reliedOn(answered []int) (whole, half int) {
	for _, n := range answered {
		at := t.wantAt[n]
		whole = max(whole, at)
		if t.waited[n] && t.points[at-1].bulk != nil {
			at--
		}
		half = max(half, at)
	}
	return whole, half
}

// mark notes where the model stands, and what it has answered by now.
func (t *Tape) mark(op string) {
	for _, a := range t.r.model.Arrived() {
		n := t.waiting[a.Client]
		delete(t.waiting, a.Client)
		t.r.parked[a.Client] = false
		t.waited[n] = true
		t.expect(n, a.Reply)
	}
	t.points = append(t.points, point{model: t.r.model.copy(), op: op})
	if t.r.opt.Marked != nil {
		t.r.opt.Marked(len(t.points))
	}
}

func (t *Tape) expect(n int, want Reply) {
	t.wantAt[n] = len(t.points)
	t.pending = append(t.pending, answer{n, want})
}

// bulky reports whether a command works in slices.
func bulky(args []string) bool {
	switch name := strings.ToUpper(args[0]); name {
	case "DQREQUEUE":
		return slices.ContainsFunc(args, func(s string) bool { return strings.EqualFold(s, "ALL") })
	default:
		return name == "DQPURGE" || name == "DQDROP" || name == "DQRELEASE"
	}
}

// besides reports whether a command is answered beside the actor, from a snapshot, or by and by.
func besides(args []string) bool { return neverQueued[strings.ToUpper(args[0])] || bulky(args) }

// Play goes on by some steps, in bursts in which nothing is waited for. It ends early when stop says so, and then nothing is compared any more.
func (t *Tape) Play(steps int, stop func() bool) (bad *Mismatch) {
	left := 0 // of the burst
	for range steps {
		op := t.g.Next(func(client int) bool { return t.r.parked[client] })
		r := t.r
		text := ""
		if op.Kind != "do" && op.Kind != "exec" {
			text = t.land(stop)
			left = 0
		}
		switch {
		case text != "" || stop():
		case op.Kind == "do" || op.Kind == "exec":
			if r.parked[op.Client] {
				continue
			}
			bulk := op.Kind == "do" && bulky(flat(op.Args))
			if bulk || left == 0 {
				text = t.land(stop)
				left = 1 + t.g.rnd.IntN(10)
			}
			if text == "" && !stop() {
				t.send(op)
			}
			// A connection sends nothing behind a command that is answered beside the actor, and
			// what others send meanwhile may be in its answer.
			if left--; text == "" && op.Kind == "do" && besides(flat(op.Args)) {
				text = t.land(stop)
				left = 0
			}
		case op.Kind == "drop":
			r.note("c%d disconnects", op.Client)
			r.parked[op.Client] = false
			delete(t.waiting, op.Client)
			r.model.Drop(op.Client)
			t.subject.Drop(op.Client)
			t.mark("a client leaves")
			text = t.land(stop)
		case op.Kind == "advance":
			for r.model.nowNs < op.Ns && text == "" && !stop() {
				at := op.Ns
				if wake, ok := r.model.NextWake(); ok && wake < at {
					at = wake
				}
				r.note("time goes on")
				r.model.Advance(at)
				t.mark("time")
				t.subject.AdvanceTo(at)
				text = t.land(stop)
			}
		case op.Kind == "check":
			text = r.check()
		}
		if stop() {
			return nil
		}
		if text != "" {
			return &Mismatch{op, len(t.points), text, r.log}
		}
	}
	if text := t.land(stop); text != "" {
		return &Mismatch{Op{}, len(t.points), text, t.r.log}
	}
	return nil
}

func flat(args []Arg) (words []string) {
	for _, a := range args {
		words = append(words, a.Text)
	}
	return words
}

// send sends one command, and lets the model run it.
func (t *Tape) send(op Op) {
	r, n := t.r, t.n
	var forModel, forSubject, m, s [][]string
	r.note("")
	commands := op.Queued
	if op.Kind == "do" {
		commands = [][]Arg{op.Args}
	}
	for _, args := range commands {
		one, other := r.words(op.Client, args)
		m, s = append(m, one), append(s, other)
	}
	forModel, forSubject = m, s
	r.model.client = op.Client
	if op.Kind == "exec" {
		want := r.model.Exec(r.model.nowNs, r.model.wallNs(), forModel)
		if want.Kind == None {
			return // left open
		}
		t.n++
		t.subject.Send(n, op.Client, nil, forSubject)
		t.expect(n, want)
		t.mark("a transaction")
		return
	}
	t.n++
	args := forModel[0]
	if bulky(args) {
		t.points[len(t.points)-1].bulk = args
	}
	var want Reply
	parks := false
	switch strings.ToUpper(args[0]) {
	case "DQPOP", "DQMPOP":
		want, parks = r.model.Park(op.Client, r.model.nowNs, r.model.wallNs(), args...)
	default:
		want = r.model.Do(r.model.nowNs, r.model.wallNs(), args...)
	}
	items := want.Items
	if want.Kind != Array {
		items = []Reply{want}
	}
	for i, item := range items {
		if item.Kind == MadeID {
			r.made[MadeRef{op.N, i}] = item.Str
		}
	}
	t.subject.Send(n, op.Client, forSubject[0], nil)
	if parks {
		t.waiting[op.Client] = n
		r.parked[op.Client] = true
	} else {
		t.expect(n, want)
	}
	t.mark(strings.Join(args, " "))
}

// land ends a burst and compares what was answered in it.
func (t *Tape) land(stop func() bool) string {
	t.subject.Land()
	got := t.subject.Answers()
	if stop() {
		for _, a := range t.pending {
			if reply, ok := got[a.n]; ok {
				t.r.names.Diff(a.want, reply) // for the names in it
			}
		}
		return ""
	}
	for _, a := range t.pending {
		reply, ok := got[a.n]
		if !ok {
			return fmt.Sprintf("command %d is not answered, want %v", a.n, a.want)
		}
		delete(got, a.n)
		if d := t.r.names.Diff(a.want, reply); d != "" {
			return fmt.Sprintf("command %d: %s", a.n, d)
		}
	}
	t.pending = nil
	for n, reply := range got {
		return fmt.Sprintf("command %d should still wait, got %v", n, reply)
	}
	return t.r.clocks()
}

// Compare holds a subject that was started after a crash against the tape: it must be what the model is behind some point, which has all that was answered and
// nothing that was refused, up to upTo, and then go on like the model for some steps. It may have been started before, at a moment of progress, without a command:
// 0 = it was not. It returns how not, "" if it is.
func (t *Tape) Compare(seed uint64, subject Subject, answered, refused []int, upTo int, started int64, steps int) (violation string) {
	from, half := t.reliedOn(answered)
	upTo = min(upTo, len(t.points)-1)
	begun := upTo // the last point behind which a command may be half done
	for _, n := range refused {
		if at, ok := t.wantAt[n]; ok {
			upTo, begun = min(upTo, at-1), min(begun, at-2)
		}
	}
	why := ""
	tryFrom := func(started int64, at int, atMost int, again []string) bool {
		r := t.revive(at, subject, atMost, again, started)
		if text := r.check(); text != "" {
			if why == "" {
				why = fmt.Sprintf("behind point %d (%s): %s", at, t.points[at].op, text)
			}
			return false
		}
		violation = r.goOnFor(seed, steps, again)
		return true
	}
	try := func(at int, atMost int, again []string) bool {
		return tryFrom(0, at, atMost, again) || started > 0 && tryFrom(started, at, atMost, again)
	}
	for at := upTo; at >= from; at-- {
		if try(at, 0, nil) {
			return violation
		}
	}
	// A command on many jobs may be half done: it takes them in an order that is known.
	for at := begun; at >= half; at-- {
		p := t.points[at]
		for n := 1; p.bulk != nil && n <= len(p.model.jobs); n++ {
			if try(at, n, p.bulk) {
				return violation
			}
		}
	}
	return fmt.Sprintf("the state is that of none of the points %d to %d; %s", from, upTo, why)
}

// revive is the model at a point, as a restart at the subject's present leaves it. The names are those of the whole tape up to there.
func (t *Tape) revive(at int, subject Subject, atMost int, half []string, started int64) *runner {
	opt := t.r.opt
	m := t.points[at].model.copy()
	if half != nil {
		m.atMost = atMost
		m.Do(m.nowNs, m.wallNs(), half...)
		m.atMost = 0
	}
	m.waiters, m.arrived = nil, nil
	for _, j := range m.jobs {
		j.holder = -1 // READINGS 62
	}
	progress, wall := subject.Now()
	m.offsetNs = wall - progress
	if started > 0 {
		m.nowNs = started
		m.settle()
	}
	m.nowNs = progress
	m.settle()
	names := NewNames()
	names.unheard = true
	for model, server := range t.r.names.tokenToServer {
		if model <= m.lastToken {
			names.tokenToServer[model], names.tokenToModel[server] = server, model
		}
	}
	for model, server := range t.r.names.idToServer {
		_, number, _ := strings.Cut(model, "-")
		if n, err := strconv.ParseInt(number, 10, 64); err == nil && n <= m.lastMade {
			names.idToServer[model], names.idToModel[server] = server, model
		}
	}
	r := &runner{opt: opt, model: m, subject: subject, names: names, parked: map[int]bool{}, made: maps.Clone(t.r.made), walks: map[int]*walk{}, startNs: t.r.startNs}
	return r
}

// goOnFor plays some more, behind the command that was half done.
func (r *runner) goOnFor(seed uint64, steps int, again []string) string {
	first := r.subject
	g := NewGenerator(seed, r.opt, r.model)
	g.setup, g.n, g.madeIDs = nil, 1<<20, r.made
	var ops []Op
	if again != nil {
		ops = append(ops, Op{N: 1 << 30, Kind: "do", Client: 0, Args: texts(again...)})
	}
	for len(ops) < steps {
		ops = append(ops, Op{Kind: "next"})
	}
	for _, op := range append(ops, Op{N: 1<<30 + 1, Kind: "check"}) {
		if op.Kind == "next" {
			op = g.Next(func(client int) bool { return r.parked[client] })
		}
		if _, execs := first.(Transactor); op.Kind == "exec" && !execs {
			continue
		}
		if bad := r.step(op); bad != nil {
			return fmt.Sprintf("after the restart, %v", bad)
		}
	}
	return ""
}
