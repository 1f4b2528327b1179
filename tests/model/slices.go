package model

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Stepped is a Subject whose changes can be held up one by one, so that the commands of others come between the slices of one.
type Stepped interface {
	Subject
	// Hold keeps changes from being committed, but for one per Step, until Flow.
	Hold()
	// Step commits one change and returns when all that follows is done, up to the next change. It reports whether there was one.
	Step() bool
	Flow()
	// Send sends command n, queued if it is a transaction. Its client sends no other before it is answered.
	Send(n, client int, args []string, queued [][]string)
	// Answers hands out, once, the answers that came, by the numbers of their commands.
	Answers() map[int]Reply
	// Waits makes the pop in which a client waits command n, Parked the command of one a pop in which it waits.
	Waits(n, client int)
	Parked(client int)
}

// between plays commands in between the slices of others. How far these are is not known: so there is a model, a branch, for each way in which it can have gone
// so far, and an answer ends those that it does not fit.
type between struct {
	g        *Generator
	subject  Stepped
	size     int // of a slice: jobs looked at
	branches []*branch
	busy     map[int]int // client → number of its command, which is not answered
	queue    string      // of the latest command on many jobs
	n        int
	commands int // sent while another was at work
	fault    func(*sliced)
}

// branch is one way in which it can have gone.
type branch struct {
	*runner
	works   []atWork
	want    map[int]Reply // what must be answered yet
	waiting map[int]int   // client → number of its command, which waits
}

// atWork is command n, at work.
type atWork struct {
	n int
	sliced
}

const (
	maxAtWork   = 2   // so many such commands are at work at a time
	slicedSteps = 300 // more than any takes
)

// RunSlices plays a history in whose rounds one or two commands on many jobs are at work, in slices of so many, while others are sent. It returns how many were
// sent then, and where subject and model differ. fault is one of SliceFaults, put into the model, or "".
func RunSlices(seed uint64, rounds, size int, fault string, newSubject func() Stepped) (commands int, bad *Mismatch) {
	opt := Options{NoWallSteps: true, IDs: 10, NoPolicy: seed%3 == 0}.withDefaults()
	r := newRunner(opt, func() Subject { return newSubject() })
	defer func() { r.close() }()
	g := NewGenerator(seed, opt, r.model)
	x := &between{g: g, subject: r.subject.(Stepped), size: size, fault: sliceFaults[fault]}
	for range rounds {
		g.model, g.madeIDs = r.model, r.made
		for left := 15; left > 0; left-- {
			if left == 10 {
				g.plan = g.many(g.queue())
			}
			op := g.Next(func(client int) bool { return r.parked[client] })
			if op.mentions("dead-count") {
				continue // whether a slice sees the dead jobs that are too many is left open (READINGS 61)
			}
			if bad := r.step(op); bad != nil {
				return x.commands, bad
			}
		}
		var text string
		if r, text = x.round(r); text != "" {
			return x.commands, &Mismatch{Op{}, r.steps, text, r.log}
		}
	}
	return x.commands, nil
}

// mentions reports whether a word is in an op.
func (op Op) mentions(word string) bool {
	return slices.ContainsFunc(slices.Concat(append(slices.Clip(op.Queued), op.Args)...), func(a Arg) bool { return strings.EqualFold(a.Text, word) })
}

// many fills a queue, and lets some of its jobs be leased, and die.
func (g *Generator) many(queue string) []step {
	later := func(client int) Op {
		args := texts("DQMADD", queue, "UPSERT", "JOBS", "3")
		for _, k := range g.rnd.Perm(len(g.ids))[:3] {
			args = append(args, texts(g.ids[k], g.payload(), "+"+g.dur(pick(g, ms, 20*ms, second)))...)
		}
		return Op{Kind: "do", Client: client, Args: args}
	}
	leases := g.send("DQPOP", queue, "COUNT", pick(g, "2", "5"), "WORKER", "w1", "LEASE", "1s")
	dies := []step{g.addReady(queue, "ATTEMPTS", "1", "LEASE", "1"), g.send("DQPOP", queue, "COUNT", "1000"), g.toWake()}
	if g.one(3) {
		return append(dies, g.addReady(queue, "ATTEMPTS", "1"), leases, later)
	}
	if g.one(2) {
		return append(dies, append(dies, later)...)
	}
	return []step{later, g.addReady(queue), g.addReady(queue), leases, later}
}

// bulkCommand is a command on many jobs, of a queue that has some if there is one.
func (g *Generator) bulkCommand() []string {
	queue := g.queue()
	if len(g.model.jobs) > 0 {
		queue = pick(g, g.model.jobs...).queue
	}
	switch g.rnd.IntN(9) {
	case 0:
		return []string{"DQPURGE", queue}
	case 1:
		return []string{"DQPURGE", queue, "STATE", "delayed", "STATE", "dead", "STATE", "ready", "LIMIT", pick(g, "3", "5")}
	case 2:
		return []string{"DQPURGE", queue, "STATE", "leased", "STATE", "dead"}
	case 3:
		return []string{"DQPURGE", queue, "DUE", g.bound(queue), "+inf"}
	case 4:
		return []string{"DQRELEASE", queue, "WORKER", "w1"}
	case 5, 6:
		return []string{"DQREQUEUE", queue, "SPREAD", g.dur(pick(g, 0, 7*ms+1)), "ALL"}
	}
	return []string{"DQDROP", queue, "FORCE"}
}

// round holds the subject's changes, sends one or two commands on many jobs, and others, and goes on until the former are answered. It returns the runner of a branch
// that fits, and how none does.
func (x *between) round(r *runner) (*runner, string) {
	b := &branch{runner: r, want: map[int]Reply{}, waiting: map[int]int{}}
	x.busy = map[int]int{}
	for client := range x.g.opt.Clients {
		if r.parked[client] {
			x.subject.Waits(x.n, client)
			b.waiting[client], x.busy[client] = x.n, x.n
			x.n++
		}
	}
	clear(r.parked)
	x.branches = []*branch{b}
	r.note("from here on what is changed is held up")
	x.subject.Hold()
	bulks := 1 + x.g.rnd.IntN(maxAtWork)
	others := 8 + x.g.rnd.IntN(8)
	for steps := 0; ; steps++ {
		if steps == slicedSteps {
			return x.branches[0].runner, "a command on many jobs does not end"
		}
		text := ""
		switch {
		case bulks > 0 && x.g.one(2):
			bulks--
			args := x.g.bulkCommand()
			x.queue = args[1]
			x.send(Op{N: x.g.n, Kind: "do", Client: x.g.opt.Clients + bulks, Args: texts(args...)})
			x.g.n++
		case others > 0:
			others--
			text = x.other()
		}
		if text == "" {
			text = x.step()
		}
		if text != "" {
			return x.branches[0].runner, text
		}
		if bulks == 0 && !x.atWork() && !x.subject.Step() {
			break
		}
		if text := x.hear(); text != "" {
			return x.branches[0].runner, text
		}
	}
	x.subject.Flow()
	if text := x.hear(); text != "" {
		return x.branches[0].runner, text
	}
	why := ""
	for _, b := range x.branches {
		if len(b.works) > 0 || len(b.want) > 0 {
			continue
		}
		for client := range b.waiting {
			b.parked[client] = true
		}
		if text := b.clone().check(); text != "" {
			why += "\n" + text
			clear(b.parked)
			continue
		}
		for client := range b.waiting {
			x.subject.Parked(client)
		}
		return b.runner, ""
	}
	return x.branches[0].runner, fmt.Sprintf("%d ways in which it can have gone fit the answers, but not what is there now: %s", len(x.branches), why)
}

// atWork reports whether a command on many jobs is not answered yet.
func (x *between) atWork() bool {
	return slices.ContainsFunc([]int{x.g.opt.Clients, x.g.opt.Clients + 1}, func(client int) bool { _, busy := x.busy[client]; return busy })
}

// other is one of the other commands, or time.
func (x *between) other() string {
	x.g.model = x.branches[0].model
	if len(x.busy) == x.g.opt.Clients+maxAtWork {
		return ""
	}
	op := x.g.Next(func(client int) bool { _, busy := x.busy[client]; return busy })
	switch {
	case op.mentions("dead-count"):
	case x.atWork() && x.g.one(2):
		if args := x.aimed(); args != nil {
			x.send(Op{N: op.N, Kind: "do", Client: op.Client, Args: args})
		}
	case op.Kind == "do" && !besides(flat(op.Args)), op.Kind == "exec":
		x.send(op)
	case op.Kind == "advance" && x.g.one(3):
		// What was sent is taken before time goes on.
		for range 2 {
			if text := x.step(); text != "" {
				return text
			}
		}
		return x.advance(op.Ns)
	}
	return ""
}

// aimed moves a job that a command at work may be about: what it found is there no more, or elsewhere.
func (x *between) aimed() []Arg {
	var jobs []*job
	for _, j := range x.branches[0].model.jobs {
		if j.queue == x.queue && !j.made {
			jobs = append(jobs, j)
		}
	}
	if len(jobs) == 0 || x.g.one(6) {
		return texts("DQADD", x.queue, pick(x.g, x.g.ids...), x.g.payload())
	}
	j := pick(x.g, jobs...)
	switch j.state {
	case "dead":
		return texts("DQREQUEUE", j.queue, "IDS", "1", j.id)
	case "leased":
		return pick(x.g, texts("DQNACK", j.queue, j.id, "*", "DEAD"), texts("DQNACK", j.queue, j.id, "*"), texts("DQACK", j.queue, j.id, "*"))
	case "delayed":
		return pick(x.g, texts("DQRESCHEDULE", j.queue, j.id, "NOW"), texts("DQCANCEL", j.queue, j.id), texts("DQADD", j.queue, j.id, "again", "UPSERT"))
	}
	return pick(x.g, texts("DQPOP", j.queue, "COUNT", "2", "WORKER", "w1"), texts("DQADD", j.queue, j.id, "again", "UPSERT"), texts("DQPOP", j.queue))
}

// step lets one change be committed.
func (x *between) step() string {
	x.subject.Step()
	return x.hear()
}

// send sends a command, unless its client waits, or it is not the same for all branches.
func (x *between) send(op Op) {
	if _, busy := x.busy[op.Client]; busy {
		return
	}
	x.spread()
	var after []*branch
	var subject [][]string
	for _, b := range x.branches {
		b = b.clone()
		after = append(after, b)
		b.note("")
		commands := op.Queued
		if op.Kind == "do" {
			commands = [][]Arg{op.Args}
		}
		var m, s [][]string
		for _, args := range commands {
			one, other := b.words(op.Client, args)
			m, s = append(m, one), append(s, other)
		}
		if subject == nil {
			subject = s
		}
		if !slices.EqualFunc(s, subject, slices.Equal[[]string]) || !b.run(x, op, m) {
			return
		}
		b.arrive()
	}
	if x.atWork() {
		x.commands++
	}
	x.branches = after
	x.busy[op.Client] = x.n
	if op.Kind == "exec" {
		x.subject.Send(x.n, op.Client, nil, subject)
	} else {
		x.subject.Send(x.n, op.Client, subject[0], nil)
	}
	x.n++
}

// run lets the model run a command. It reports whether the contract says what it does.
func (b *branch) run(x *between, op Op, commands [][]string) bool {
	m, n := b.model, x.n
	m.client = op.Client
	if op.Kind == "exec" {
		want := m.Exec(m.nowNs, m.wallNs(), commands)
		b.want[n] = want
		return want.Kind != None
	}
	args := commands[0]
	begin := map[string]func([]string) (*sliced, Reply){"DQREQUEUE": m.dqrequeue, "DQRELEASE": m.dqrelease, "DQPURGE": m.dqpurge, "DQDROP": m.dqdrop}[strings.ToUpper(args[0])]
	var want Reply
	switch name := strings.ToUpper(args[0]); {
	case name == "DQPOP" || name == "DQMPOP":
		var parks bool
		if want, parks = m.Park(op.Client, m.nowNs, m.wallNs(), args...); parks {
			b.waiting[op.Client] = n
			return true
		}
	case begin != nil && bulky(args):
		var w *sliced
		w, want = begin(args)
		if w != nil {
			if x.fault != nil {
				x.fault(w)
			}
			b.works = append(b.works, atWork{n, *w})
			return true
		}
	default:
		want = m.Do(m.nowNs, m.wallNs(), args...)
	}
	items := want.Items
	if want.Kind != Array {
		items = []Reply{want}
	}
	for i, item := range items {
		if item.Kind == MadeID {
			b.made[MadeRef{op.N, i}] = item.Str
		}
	}
	b.want[n] = want
	return true
}

// arrive takes the answers to pops that waited.
func (b *branch) arrive() {
	for _, a := range b.model.Arrived() {
		b.want[b.waiting[a.Client]] = a.Reply
		delete(b.waiting, a.Client)
	}
}

// advance goes on to a moment, or to the first at which anything happens in a branch.
func (x *between) advance(to int64) string {
	x.spread()
	for _, b := range x.branches {
		if wake, ok := b.model.NextWake(); ok {
			to = min(to, wake)
		}
	}
	for _, b := range x.branches {
		b.note("time goes on")
		b.model.Advance(max(to, b.model.nowNs))
		b.arrive()
	}
	x.subject.AdvanceTo(x.branches[0].model.nowNs)
	return x.hear()
}

// spread adds the branches in which more slices were taken.
func (x *between) spread() {
	seen := map[string]bool{}
	for _, b := range x.branches {
		seen[b.state()] = true
	}
	for i := 0; i < len(x.branches); i++ {
		for k := range min(maxAtWork, len(x.branches[i].works)) {
			b := x.branches[i].clone()
			b.slice(k, x.size)
			if s := b.state(); !seen[s] {
				seen[s] = true
				x.branches = append(x.branches, b)
			}
		}
	}
}

// slice takes a slice of the k-th command at work, or finds its jobs.
func (b *branch) slice(k, size int) {
	w := &b.works[k]
	if !w.looked {
		b.model.look(&w.sliced)
		return
	}
	b.note("a slice of command %d", w.n)
	reply, over := b.model.slice(&w.sliced, size)
	b.model.settle()
	if over {
		b.want[w.n] = reply
		b.works = slices.Delete(b.works, k, k+1)
	}
	b.arrive()
}

// hear ends the branches that the answers do not fit.
func (x *between) hear() string {
	answers := x.subject.Answers()
	if len(answers) > 0 {
		x.spread()
	}
	for _, n := range slices.Sorted(maps.Keys(answers)) {
		maps.DeleteFunc(x.busy, func(_, of int) bool { return of == n })
		why := ""
		var fit []*branch
		for _, b := range x.branches {
			want, ok := b.want[n]
			if !ok {
				why = "it should not be answered yet"
				continue
			}
			b = b.clone() // names are paired
			d := b.names.Diff(want, answers[n])
			if d == "" {
				delete(b.want, n)
				b.note("command %d is answered", n)
				b.log = append(b.log, "#   "+answers[n].String())
				fit = append(fit, b)
			} else if why == "" || want.Kind == answers[n].Kind {
				why = d
			}
		}
		if len(fit) == 0 {
			return fmt.Sprintf("command %d: %v fits none of the %d ways in which it can have gone: %s", n, answers[n], len(x.branches), why)
		}
		x.branches = fit
	}
	return ""
}

func (b *branch) clone() *branch {
	r := *b.runner
	n := *r.names
	n.idToServer, n.idToModel = maps.Clone(n.idToServer), maps.Clone(n.idToModel)
	n.tokenToServer, n.tokenToModel, n.newest = maps.Clone(n.tokenToServer), maps.Clone(n.tokenToModel), maps.Clone(n.newest)
	r.model, r.names, r.made, r.log, r.parked = r.model.copy(), &n, maps.Clone(r.made), slices.Clip(r.log), maps.Clone(r.parked)
	return &branch{&r, slices.Clone(b.works), maps.Clone(b.want), maps.Clone(b.waiting)}
}

// state tells branches apart: by what slices change.
func (b *branch) state() string {
	var s []byte
	add := func(ns ...int64) {
		for _, n := range ns {
			s = binary.AppendVarint(s, n)
		}
	}
	for _, j := range b.model.jobs {
		s = append(s, j.state...)
		add(j.accepted, j.died, j.token, j.shown, j.nacked, j.due.ns, j.ttl, j.leaseEnd, int64(j.attempt))
		s = fmt.Append(s, j.cause, j.reasonOpen)
		if j.expires {
			add(j.expire.ns)
		}
	}
	for _, queue := range slices.Sorted(maps.Keys(b.model.counts)) {
		s = fmt.Append(s, queue, *b.model.counts[queue], len(b.model.own[queue]), len(b.model.memories))
	}
	for _, w := range b.works {
		s = fmt.Append(s, w.n, w.looked, w.found, w.slipped, w.left, w.done)
	}
	for _, n := range slices.Sorted(maps.Keys(b.want)) {
		s = fmt.Append(s, n, b.want[n])
	}
	return string(s)
}

// sliceFaults are put into the model's commands on many jobs, to prove that RunSlices sees them.
var sliceFaults = map[string]func(w *sliced){
	"takes what came later": func(w *sliced) { w.before = math.MaxInt64 },
	"overlooks what moved":  func(w *sliced) { w.repeat = false },
	"takes what is no longer its": func(w *sliced) {
		take := w.take
		w.take = func(m *Model, w *sliced, j *job) bool {
			if j.state == "leased" && w.end == nil {
				was := j.state
				j.state = "ready"
				if take(m, w, j) {
					return true
				}
				j.state = was
			}
			return take(m, w, j)
		}
	},
	"counts a job twice": func(w *sliced) {
		take := w.take
		w.take = func(m *Model, w *sliced, j *job) bool {
			before := m.counts[w.queue].purged
			taken := take(m, w, j)
			if c := m.counts[w.queue]; c.purged > before && len(w.found) == 0 && w.end == nil {
				c.purged++
			}
			return taken
		}
	},
	"a drop takes the queue from under what came meanwhile": func(w *sliced) {
		if end := w.end; end != nil {
			w.end = func(m *Model, w *sliced) Reply {
				m.jobs = slices.DeleteFunc(m.jobs, func(j *job) bool { return j.queue == w.queue })
				return end(m, w)
			}
		}
	},
}

// SliceFaults are what RunSlices takes.
func SliceFaults() []string { return slices.Sorted(maps.Keys(sliceFaults)) }
