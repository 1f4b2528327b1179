package model

import (
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Subject is the server under test, with time in the test's hands. Every method returns only when all that follows from it has been done: no wake-up
// that is due is outstanding, no waiting pop that could be served is left waiting. Nothing is called concurrently.
type Subject interface {
	// Now is the present on both clocks. It is the same for every new Subject.
	Now() (progressNs, wallNs int64)
	// Do runs one command of a client. When it is a pop that waits, parked is true and the answer comes out of Arrived. A parked client sends nothing.
	// Clients are numbered from 0; client -1 only reads.
	Do(client int, args []string) (reply Reply, parked bool)
	// AdvanceTo moves progress, and the wall with it, to a later moment (or the same).
	AdvanceTo(progressNs int64)
	// StepWall moves the system's wall clock alone, and lets the server see it. Now shows the clock that the server goes by.
	StepWall(deltaNs int64)
	// Accept lets the server follow a step that it holds.
	Accept()
	// Restart stops the server right after a change of its state, moves the system's clock, and starts it. Nobody waits in a pop.
	Restart(deltaNs int64)
	// Arrived hands out, once, the answers to parked pops that came since the last call.
	Arrived() []Arrival
	// Recount compares the server's gauges, indexes and hints with a recount of its store.
	Recount() error
}

// Dropper is a Subject that can also end a client's connection while its pop waits.
type Dropper interface {
	Drop(client int)
}

// Transactor is a Subject that runs several commands of a client as one transaction.
type Transactor interface {
	Exec(client int, commands [][]string) Reply
}

// Closer is a Subject that holds something. It is closed after its history, also after a failed one; the shrinker makes hundreds of subjects.
type Closer interface {
	Close()
}

// Mismatch is where a subject and the model disagree.
type Mismatch struct {
	Op   Op
	Step int
	Text string
	Log  []string // the history up to there, as redis-cli lines with times
}

func (m *Mismatch) String() string {
	return fmt.Sprintf("step %d (op %d): %s\n\n%s", m.Step, m.Op.N, m.Text, strings.Join(m.Log, "\n"))
}

// Run holds subjects made by newSubject against the model for one random history of the given number of steps. A failure prints the seed, from which alone the
// run repeats, and the shortest history found that still fails.
func Run(t testing.TB, seed uint64, steps int, newSubject func() Subject) {
	t.Helper()
	RunWith(t, seed, steps, Options{}, newSubject)
}

// RunWith is Run with options.
func RunWith(t testing.TB, seed uint64, steps int, opt Options, newSubject func() Subject) {
	t.Helper()
	ops, bad := Try(seed, steps, opt, newSubject)
	if bad == nil {
		return
	}
	short, shortBad := Shrink(ops, opt, newSubject)
	if shortBad == nil {
		t.Fatalf("seed %d: the failure did not repeat on the same history; it was\n%v", seed, bad)
	}
	t.Fatalf("seed %d, %d steps: failed at step %d with\n%s\n\n%d of %d ops are enough, and then it is %v", seed, steps, bad.Step, bad.Text, len(short), len(ops), shortBad)
}

// Try runs one random history and returns its ops, and where it failed, if it did.
func Try(seed uint64, steps int, opt Options, newSubject func() Subject) ([]Op, *Mismatch) {
	opt = opt.withDefaults()
	r := newRunner(opt, newSubject)
	defer r.close()
	g := NewGenerator(seed, opt, r.model)
	g.madeIDs = r.made
	_, drops := r.subject.(Dropper)
	_, execs := r.subject.(Transactor)
	var ops []Op
	for range steps {
		op := g.Next(func(client int) bool { return r.parked[client] })
		if op.Kind == "drop" && !drops || op.Kind == "exec" && !execs {
			continue
		}
		ops = append(ops, op)
		if bad := r.step(op); bad != nil {
			return ops, bad
		}
	}
	last := Op{N: g.n, Kind: "check"}
	return append(ops, last), r.step(last)
}

// Replay runs a given history.
func Replay(ops []Op, opt Options, newSubject func() Subject) *Mismatch {
	r := newRunner(opt.withDefaults(), newSubject)
	defer r.close()
	for _, op := range ops {
		if bad := r.step(op); bad != nil {
			return bad
		}
	}
	return nil
}

// Shrink cuts chunks out of a failing history, big ones first, as long as it still fails. It returns a nil mismatch when the history does not fail at all.
func Shrink(ops []Op, opt Options, newSubject func() Subject) ([]Op, *Mismatch) {
	opt = opt.withDefaults()
	bad := Replay(ops, opt, newSubject)
	if bad == nil {
		return ops, nil
	}
	ops = ops[:bad.Step+1]
	tries := opt.ShrinkTries
	for size := len(ops) / 2; size >= 1; {
		cut := false
		for from := 0; from+size <= len(ops) && tries > 0; {
			without := slices.Concat(ops[:from], ops[from+size:])
			tries--
			if worse := Replay(without, opt, newSubject); worse != nil {
				ops, bad, cut = without[:worse.Step+1], worse, true
			} else {
				from += size
			}
		}
		if size == 1 && (!cut || tries <= 0) {
			break
		}
		size = max(1, size/2)
	}
	return ops, bad
}

// runner sends each op to both sides and compares.
type runner struct {
	opt     Options
	model   *Model
	subject Subject
	names   *Names
	parked  map[int]bool
	made    map[MadeRef]string // the model's ids
	startNs int64
	walks   map[int]*walk
	steps   int
	log     []string
}

func newRunner(opt Options, newSubject func() Subject) *runner {
	r := &runner{opt: opt, model: New(*opt.Settings), subject: newSubject(), names: NewNames(), parked: map[int]bool{}, made: map[MadeRef]string{}, walks: map[int]*walk{}}
	progress, wall := r.subject.Now()
	r.startNs = progress
	r.model.at(progress, wall)
	return r
}

func (r *runner) close() {
	if c, ok := r.subject.(Closer); ok {
		c.Close()
	}
}

// step runs one op. A panic of the subject is a mismatch like any other.
func (r *runner) step(op Op) (bad *Mismatch) {
	var text string
	defer func() {
		if p := recover(); p != nil {
			text = fmt.Sprintf("panic: %v\n%s", p, debug.Stack())
		}
		if text != "" {
			bad = &Mismatch{op, r.steps, text, r.log}
		}
		r.steps++
	}()
	switch op.Kind {
	case "do":
		if !r.parked[op.Client] {
			text = r.do(op)
		}
	case "exec":
		if t, ok := r.subject.(Transactor); ok && !r.parked[op.Client] {
			text = r.exec(t, op)
		}
	case "drop":
		if d, ok := r.subject.(Dropper); ok {
			r.note("c%d disconnects", op.Client)
			r.parked[op.Client] = false
			r.model.Drop(op.Client)
			d.Drop(op.Client)
		}
	case "advance":
		text = r.advance(op.Ns)
	case "wall":
		r.note("the wall steps by %v", time.Duration(op.Ns))
		r.model.StepWall(op.Ns)
		r.subject.StepWall(op.Ns)
		text = r.clocks()
	case "accept":
		r.note("the held step is accepted")
		r.model.Accept()
		r.subject.Accept()
		text = r.clocks()
	case "restart":
		if slices.Contains(slices.Collect(maps.Values(r.parked)), true) {
			return nil
		}
		r.note("a restart, the wall stepping by %v", time.Duration(op.Ns))
		r.model.Restart(op.Ns)
		r.subject.Restart(op.Ns)
		text = r.clocks()
	case "walk":
		text = r.walk(op)
	case "check":
		text = r.check()
	}
	for _, w := range r.walks {
		w.meanwhile(r.model)
	}
	if text == "" {
		text = r.arrived()
	}
	return bad
}

func (r *runner) note(format string, args ...any) {
	r.log = append(r.log, fmt.Sprintf("# +%v  ", time.Duration(r.model.nowNs-r.startNs))+fmt.Sprintf(format, args...))
}

// words gives a command as the model and as the subject know it, and notes it.
func (r *runner) words(client int, args []Arg) (forModel, forSubject []string) {
	line := fmt.Sprintf("c%d>", client)
	for _, a := range args {
		m, s := r.resolve(a)
		forModel, forSubject = append(forModel, m), append(forSubject, s)
		line += " " + word(s)
	}
	r.log = append(r.log, line)
	return forModel, forSubject
}

// exec runs a transaction. Which of its commands was refused is for sessions to show.
func (r *runner) exec(subject Transactor, op Op) string {
	var forModel, forSubject [][]string
	r.note("a transaction")
	for _, args := range op.Queued {
		m, s := r.words(op.Client, args)
		forModel, forSubject = append(forModel, m), append(forSubject, s)
	}
	r.model.client = op.Client
	want := r.model.Exec(r.model.nowNs, r.model.wallNs(), forModel)
	if want.Kind == None {
		return ""
	}
	got := subject.Exec(op.Client, forSubject)
	r.log = append(r.log, "#   "+got.String())
	return r.names.Diff(want, got)
}

func (r *runner) do(op Op) string {
	r.note("")
	forModel, forSubject := r.words(op.Client, op.Args)

	var want Reply
	var wantParked bool
	r.model.client = op.Client
	switch name := strings.ToUpper(forModel[0]); name {
	case "DQPOP", "DQMPOP":
		want, wantParked = r.model.Park(op.Client, r.model.nowNs, r.model.wallNs(), forModel...)
	default:
		want = r.model.Do(r.model.nowNs, r.model.wallNs(), forModel...)
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

	got, parked := r.subject.Do(op.Client, forSubject)
	if parked {
		r.log = append(r.log, "#   waits")
	} else {
		r.log = append(r.log, "#   "+got.String())
	}
	if parked != wantParked {
		return fmt.Sprintf("want waiting: %v (%v), got waiting: %v (%v)", wantParked, want, parked, got)
	}
	r.parked[op.Client] = parked
	if parked {
		return ""
	}
	return r.names.Diff(want, got)
}

// resolve gives an argument as the model and as the subject know it. What was never made or given becomes something that never will be.
func (r *runner) resolve(a Arg) (model, subject string) {
	switch {
	case a.Token != nil:
		id, _ := r.resolve(a.Token.ID)
		issued := r.model.issued[jobKey(a.Token.Queue, id)]
		if a.Token.N < len(issued) {
			token := issued[a.Token.N]
			if server, ok := r.names.ServerToken(token); ok {
				return strconv.FormatInt(token, 10), strconv.FormatInt(server, 10)
			}
		}
		return "8000000000000000", "8000000000000000"
	case a.Made != nil:
		if id, ok := r.made[*a.Made]; ok {
			if server, ok := r.names.ServerID(id); ok {
				return id, server
			}
		}
		return "never-made", "never-made"
	}
	return a.Text, a.Text
}

// word writes an argument for redis-cli, quoted only when it must be.
func word(s string) string {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c > '~' || c == '"' || c == '\'' || c == '\\' {
			return quote(s)
		}
	}
	if s == "" || len(s) > shownBytes {
		return quote(s)
	}
	return s
}

// advance stops at each wake-up of the model, so that the order of what happens is the order of time on both sides.
func (r *runner) advance(to int64) string {
	for r.model.nowNs < to {
		at := to
		if wake, ok := r.model.NextWake(); ok && wake < at {
			at = wake
		}
		r.model.Advance(at)
		r.subject.AdvanceTo(at)
		if text := r.clocks(); text != "" {
			return text
		}
		if text := r.arrived(); text != "" {
			return text
		}
	}
	return ""
}

// clocks compares what both go by.
func (r *runner) clocks() string {
	progress, wall := r.subject.Now()
	if progress == r.model.nowNs && wall == r.model.wallNs() {
		return ""
	}
	return fmt.Sprintf("the subject's clocks are off by %v and %v", time.Duration(progress-r.model.nowNs), time.Duration(wall-r.model.wallNs()))
}

// arrived compares the answers to parked pops. Different clients' answers have no order.
func (r *runner) arrived() string {
	got := map[int]Reply{}
	for _, a := range r.subject.Arrived() {
		r.note("c%d gets", a.Client)
		r.log = append(r.log, "#   "+a.Reply.String())
		if _, twice := got[a.Client]; twice || !r.parked[a.Client] {
			return fmt.Sprintf("client %d got an answer that it did not wait for: %v", a.Client, a.Reply)
		}
		got[a.Client] = a.Reply
	}
	for _, want := range r.model.Arrived() {
		reply, ok := got[want.Client]
		if !ok {
			return fmt.Sprintf("client %d still waits; want %v", want.Client, want.Reply)
		}
		if d := r.names.Diff(want.Reply, reply); d != "" {
			return fmt.Sprintf("client %d, which waited: %s", want.Client, d)
		}
		delete(got, want.Client)
		r.parked[want.Client] = false
	}
	for client, reply := range got {
		return fmt.Sprintf("client %d should still wait, got %v", client, reply)
	}
	return ""
}

// check compares whole-state views of every queue and id.
func (r *runner) check() string {
	r.note("all views are compared")
	if err := r.subject.Recount(); err != nil {
		return "recount: " + err.Error()
	}
	const reader = -1
	look := func(args ...string) string {
		if r.opt.Skip[args[0]] {
			return ""
		}
		if walks(args[0]) {
			return r.wholeWalk(args)
		}
		want := r.model.Do(r.model.nowNs, r.model.wallNs(), args...)
		forSubject := slices.Clone(args)
		if args[0] == "DQGET" {
			if server, ok := r.names.ServerID(args[2]); ok {
				forSubject[2] = server
			}
		}
		got, parked := r.subject.Do(reader, forSubject)
		d := r.names.Diff(want, got)
		if d == "" && args[0] == "DQSTATS" {
			d = equation(got)
		}
		if parked {
			d = "it waits"
		}
		if d != "" {
			line := ""
			for _, s := range forSubject {
				line += word(s) + " "
			}
			r.log = append(r.log, "c> "+line, "#   "+got.String())
			return strings.TrimSpace(line) + ": " + d
		}
		return ""
	}
	seen := map[string]bool{}
	var views [][]string
	queue := func(q string) {
		if seen[q] {
			return
		}
		seen[q] = true
		views = append(views, []string{"DQLEN", q})
		for _, s := range []string{"delayed", "ready", "leased", "dead"} {
			views = append(views, []string{"DQLEN", q, "STATE", s}, []string{"DQPEEK", q, "STATE", s, "COUNT", "10000"})
		}
		views = append(views, []string{"DQPEEK", q, "COUNT", "10000"}, []string{"DQSTATS", q}, []string{"DQRANGE", q, "-inf", "+inf", "LIMIT", "0", "-1"},
			[]string{"TYPE", q}, []string{"DQDEAD", q, "0"}, []string{"DQSCAN", q, "0"}, []string{"DQCONFIG", "GET", q})
	}
	g := NewGenerator(0, r.opt, r.model)
	for _, q := range g.queues {
		queue(q)
		for _, id := range g.ids {
			views = append(views, []string{"DQGET", q, id})
		}
	}
	for _, j := range r.model.jobs {
		if j.made {
			views = append(views, []string{"DQGET", j.queue, j.id})
		}
		due := strconv.FormatInt(r.model.dueReply(j).Num, 10)
		views = append(views, []string{"DQCOUNT", j.queue, "(" + due, "+inf", "STATE", j.state}, []string{"DQRANGE", j.queue, "-inf", "(" + due, "REV"})
	}
	views = append(views, []string{"DQCONFIG", "GET", "*"}, []string{"DBSIZE"}, []string{"DQQUEUES", "0", "WITHLEN"}, []string{"SCAN", "0"})
	for _, v := range views {
		if text := look(v...); text != "" {
			return text
		}
	}
	return ""
}
