package model

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// Options choose what a random run contains. The zero value of a field is its default.
type Options struct {
	Queues, IDs, Clients int             // 3, 7, 4
	CheckEvery           int             // whole-state views every so many steps (20)
	Skip                 map[string]bool // commands that are not sent
	NoConfig             bool            // no DQCONFIG SET at the start
	NoWallSteps          bool
	NoInvalid            bool // no malformed commands
	LateExpire           bool // also EXPIREATs that have passed already (R15)
	ShrinkTries          int  // replays for the shrinker (600)
	Settings             *Settings
}

func (o Options) withDefaults() Options {
	set := func(n *int, d int) {
		if *n == 0 {
			*n = d
		}
	}
	set(&o.Queues, 3)
	set(&o.IDs, 7)
	set(&o.Clients, 4)
	set(&o.CheckEvery, 20)
	set(&o.ShrinkTries, 600)
	if o.Settings == nil {
		s := DefaultSettings()
		o.Settings = &s
	}
	return o
}

// Arg is one argument. A token or made id is written as where it came from, so that a history still means the same after parts of it are cut out.
type Arg struct {
	Text  string
	Token *TokenRef
	Made  *MadeRef
}

// TokenRef is the n-th lease of a job, counted from 0.
type TokenRef struct {
	Queue string
	ID    Arg
	N     int
}

// MadeRef is the n-th id that the server made for an op.
type MadeRef struct{ Op, N int }

// Op is one step of a history.
type Op struct {
	N      int    // never changes, also when others are cut out
	Kind   string // "do", "drop", "advance", "wall", "accept", "restart", "check"
	Client int
	Args   []Arg
	Ns     int64 // advance: to this progress time; wall, restart: by so much
}

// Generator makes histories. The same seed, options and answers make the same history.
type Generator struct {
	opt     Options
	rnd     *rand.Rand
	model   *Model // looked at to aim: what is leased, what is due when
	n       int
	setup   []Op
	queues  []string
	ids     []string
	made    []madeJob
	madeIDs map[MadeRef]string // kept by whoever runs the ops
	adds    []idemAdd          // IDEM adds that may be sent again
	startNs int64
}

type madeJob struct {
	queue string
	ref   MadeRef
}

// idemAdd is an IDEM add before spelling.
type idemAdd struct {
	queue, id, payload string
	options            []option
}

// option is an option before spelling.
type option struct {
	name string
	dur  int64    // used when text is nil
	at   int64    // used when not 0
	text []string // fixed words
}

// NewGenerator makes histories that aim at the state of the given model.
func NewGenerator(seed uint64, opt Options, m *Model) *Generator {
	g := &Generator{opt: opt.withDefaults(), rnd: rand.New(rand.NewPCG(seed, 0x6471)), model: m, madeIDs: map[MadeRef]string{}, startNs: m.nowNs}
	g.queues = []string{"jobs", "{shop}:pay\x00", "q3", "q4", "q5"}[:min(5, g.opt.Queues)]
	g.ids = []string{"a", "b", "c\x00\xff\r\n", "NX", "d", "1", strings.Repeat("L", 1024), "e", "f", "g"}[:min(10, g.opt.IDs)]
	if !g.opt.NoConfig {
		// Not 30 s, which is also the longest BLOCK: a wait and a lease begun together would end together (R3).
		g.config("DQCONFIG", "SET", g.queues[0], "lease", "28s500ms")
	}
	if !g.opt.NoConfig && len(g.queues) > 1 {
		g.config("DQCONFIG", "SET", g.queues[1], "expire-to", "dead", "attempts", "2", "backoff", "fixed:3ms", "lease", "20ms", "lease-max", "50ms", "id-memory", "200ms")
	}
	if !g.opt.NoConfig && len(g.queues) > 2 {
		g.config("DQCONFIG", "SET", g.queues[2], "ttl", "40ms", "max-len", "6", "backoff", "exp:2ms:9ms:2", "lease", "15ms")
	}
	return g
}

func (g *Generator) config(args ...string) {
	g.setup = append(g.setup, Op{Kind: "do", Args: texts(args...)})
}

func texts(words ...string) []Arg {
	var args []Arg
	for _, w := range words {
		args = append(args, Arg{Text: w})
	}
	return args
}

// Next makes the next op. Client numbers in parked wait for an answer and cannot send anything.
func (g *Generator) Next(parked func(client int) bool) Op {
	op := g.choose(parked)
	op.N = g.n
	g.n++
	return op
}

func (g *Generator) choose(parked func(int) bool) Op {
	if len(g.setup) > 0 {
		op := g.setup[0]
		g.setup = g.setup[1:]
		return op
	}
	if g.n%g.opt.CheckEvery == g.opt.CheckEvery-1 {
		return Op{Kind: "check"}
	}
	client := g.rnd.IntN(g.opt.Clients)
	for range 8 {
		if !parked(client) {
			break
		}
		client = g.rnd.IntN(g.opt.Clients)
	}
	if parked(client) {
		if g.one(12) {
			return Op{Kind: "drop", Client: client}
		}
		return g.advance()
	}
	for {
		switch n := g.rnd.IntN(100); {
		case n < 28:
			return g.advance()
		case n < 31 && !g.opt.NoWallSteps:
			return g.wall(parked)
		default:
			args := g.command()
			if len(args) > 0 && !g.opt.Skip[strings.ToUpper(args[0].Text)] {
				args[0].Text = g.anyCase(args[0].Text)
				return Op{Kind: "do", Client: client, Args: args}
			}
		}
	}
}

func (g *Generator) one(in int) bool { return g.rnd.IntN(in) == 0 }

func pick[T any](g *Generator, from ...T) T { return from[g.rnd.IntN(len(from))] }

func (g *Generator) anyCase(s string) string {
	if g.one(4) {
		return strings.ToLower(s)
	}
	return s
}

// ---- time ----

// advance jumps by nothing, by one nanosecond, to just before or exactly to the next wake-up, or far.
func (g *Generator) advance() Op {
	now := g.model.nowNs
	to := now
	wake, ok := g.model.NextWake()
	switch n := g.rnd.IntN(40); {
	case n < 2:
	case n < 6:
		to++
	case n < 16 && ok:
		to = wake
	case n < 22 && ok:
		to = wake - 1
	case n < 37 || now-g.startNs > 20*day: // dead jobs are kept for 30 days, and the model never prunes
		to += pick(g, 1000, 100_000, ms, 2*ms, 3*ms+7, 10*ms, 25*ms, 50*ms, 300*ms)
	case n < 39:
		to += pick(g, second, 5*second, 31*second)
	default:
		to += pick(g, 61*second, 2*hour, 13*hour)
	}
	return Op{Kind: "advance", Ns: max(to, now)}
}

// wall sets the system's clock, back, on, or to where it was, accepts what is held, or restarts the server.
func (g *Generator) wall(parked func(int) bool) Op {
	held, passed := g.model.clock.aheadNs, g.model.clock.passed
	back := -pick(g, 60*ms, 75*ms+1, 100*ms, second, 7*second)
	on := pick(g, 60*ms, second, 7*second, hour, 24*hour, 24*hour+1, 48*hour)
	// A restart believes what is held. Dead jobs are kept for 30 days, and the model never prunes.
	restart := held == 0 || passed || held < 5*day && g.model.nowNs-g.startNs < 10*day
	for c := range g.opt.Clients {
		restart = restart && !parked(c)
	}
	switch n := g.rnd.IntN(20); {
	case n < 6:
		return Op{Kind: "wall", Ns: back - held}
	case n < 9 && held > 0:
		return Op{Kind: "wall", Ns: -held}
	case n < 11 && held > 100*ms && !passed:
		return Op{Kind: "wall", Ns: -held / 2}
	case n < 13 && held > 0 && !passed:
		return Op{Kind: "accept"}
	case n < 14 && restart:
		return Op{Kind: "restart", Ns: pick(g, 0, back, 400*day)}
	case n < 16 && restart && !passed:
		return Op{Kind: "restart", Ns: pick(g, 60*ms, second, 7*second, hour)}
	default:
		return Op{Kind: "wall", Ns: on}
	}
}

// shortDur is a delay, sometimes one that ends together with another.
func (g *Generator) shortDur() int64 {
	if len(g.model.jobs) > 0 && g.one(8) {
		wake, ok := g.model.wake(pick(g, g.model.jobs...))
		if left := wake - g.model.nowNs; ok && left < second {
			return left
		}
	}
	return pick(g, 0, 1, 1000, 1_000_001, ms, ms, 2*ms, 5*ms, 5*ms, 10*ms, 10*ms, 50*ms, 1500*ms)
}

// dur spells a duration in one of its ways.
func (g *Generator) dur(ns int64) string {
	var ways []string
	for _, unit := range []string{"ns", "us", "ms", "s", "m", "h", "d"} {
		if ns%unitNs[unit] == 0 {
			ways = append(ways, strconv.FormatInt(ns/unitNs[unit], 10)+unit)
		}
	}
	if ns%ms == 0 {
		ways = append(ways, strconv.FormatInt(ns/ms, 10), strconv.FormatInt(ns/ms, 10)+"MS")
	}
	if ns > second {
		ways = append(ways, fmt.Sprintf("%ds%dns", ns/second, ns%second))
	}
	if ns > ms {
		ways = append(ways, fmt.Sprintf("%dms%dus%dns", ns/ms, ns%ms/1000, ns%1000))
	}
	return pick(g, ways...)
}

// time spells an instant in one of its ways.
func (g *Generator) time(ns int64) string {
	t := time.Unix(0, ns).UTC()
	ways := []string{strconv.FormatInt(ns, 10) + "ns", t.Format(time.RFC3339Nano), t.In(time.FixedZone("", 2*3600+1800)).Format(time.RFC3339Nano)}
	for _, unit := range []string{"us", "ms", "s"} {
		if ns%unitNs[unit] == 0 {
			ways = append(ways, strconv.FormatInt(ns/unitNs[unit], 10)+unit)
		}
	}
	if ns%ms == 0 {
		ways = append(ways, strconv.FormatInt(ns/ms, 10))
	}
	return pick(g, ways...)
}

// instant is a wall time near now, sometimes past, sometimes exactly that of another job.
func (g *Generator) instant() int64 {
	now := g.model.wallNs()
	if g.one(4) && len(g.model.jobs) > 0 {
		return g.model.toWall(pick(g, g.model.jobs...).due)
	}
	at := now + pick(g, -hour, -second, -ms, -1, 0, 1, ms, 5*ms, 5*ms, 10*ms, 50*ms, second)
	if g.one(2) {
		at -= at % ms
	}
	return at
}

// ---- names ----

func (g *Generator) queue() string { return pick(g, g.queues...) }

// target is a queue and an id in it: mostly of a job that is there, else any.
func (g *Generator) target(states ...string) (string, Arg) {
	var jobs []*job
	for _, j := range g.model.jobs {
		for _, s := range states {
			if j.state == s {
				jobs = append(jobs, j)
			}
		}
	}
	if len(jobs) > 0 && !g.one(5) {
		j := pick(g, jobs...)
		if !j.made {
			return j.queue, Arg{Text: j.id}
		}
	}
	if len(g.made) > 0 && g.one(3) {
		made := g.made[max(0, len(g.made)-1-g.rnd.IntN(6))]
		return made.queue, Arg{Made: &made.ref}
	}
	return g.queue(), Arg{Text: pick(g, g.ids...)}
}

// token is the latest token of a job, or an older one, or another job's, or `*`, or one that was never given.
func (g *Generator) token(queue string, id Arg) Arg {
	ref := func(queue string, id Arg, back int) Arg {
		return Arg{Token: &TokenRef{queue, id, max(0, len(g.model.issued[jobKey(queue, g.modelID(id))])-1-back)}}
	}
	switch n := g.rnd.IntN(20); {
	case n < 12:
		return ref(queue, id, 0)
	case n < 15:
		return ref(queue, id, 1+g.rnd.IntN(2))
	case n < 17:
		return Arg{Text: "*"}
	case n < 18:
		q, other := g.target("leased")
		return ref(q, other, 0)
	case n < 19:
		return Arg{Token: &TokenRef{queue, id, 1 << 30}}
	}
	return Arg{Text: pick(g, "0", "4611686018427387903")}
}

func (g *Generator) modelID(id Arg) string {
	if id.Made == nil {
		return id.Text
	}
	return g.madeIDs[*id.Made]
}

func (g *Generator) payload() string {
	tag := "p" + strconv.Itoa(g.n) + ":"
	switch n := g.rnd.IntN(20); {
	case n < 2:
		return ""
	case n < 13:
		return tag
	case n < 14:
		return tag + "\x00\r\n\xff"
	case n < 18:
		return tag + strings.Repeat("x", 300-len(tag))
	case n < 19:
		return tag + strings.Repeat("y", pick(g, 254, 255, 256, 257)-len(tag))
	}
	return tag + strings.Repeat("z", 70_000)
}

// ---- commands ----

func (g *Generator) command() []Arg {
	switch n := g.rnd.IntN(100); {
	case n < 21:
		return g.add()
	case n < 25:
		return g.madd()
	case n < 31:
		return g.resend()
	case n < 45:
		return g.pop(false)
	case n < 52:
		return g.pop(true)
	case n < 60:
		return g.ack()
	case n < 69:
		return g.nack()
	case n < 74:
		return g.extend()
	case n < 79:
		return g.cancel()
	case n < 87:
		return g.reschedule()
	case n < 94:
		return g.look()
	}
	if g.opt.NoInvalid {
		return nil
	}
	return g.invalid()
}

func (g *Generator) addOptions(common bool) []option {
	var out []option
	maybe := func(in int, o option) {
		if g.one(in) {
			out = append(out, o)
		}
	}
	switch n := g.rnd.IntN(10); {
	case common:
	case n < 4:
		out = append(out, option{name: "DELAY", dur: g.shortDur()})
	case n < 7:
		out = append(out, option{name: "AT", at: g.instant()})
	}
	maybe(3, option{name: "PRI", text: []string{pick(g, "0", "1", "127", "128", "129", "255")}})
	maybe(3, option{name: "ATTEMPTS", text: []string{pick(g, "0", "1", "1", "2", "3", "65535")}})
	maybe(3, option{name: "BACKOFF", text: []string{g.anyCase(pick(g, "fixed:0", "fixed:5ms", "fixed:1ns", "exp:2ms:11ms", "exp:1ms:1h:3", "EXP:5ms:5ms:2:0%",
		"list:1ms,7ms,2ms", "list:4ms", "exp:1s:1h"))}})
	maybe(4, option{name: "LEASE", dur: pick(g, ms, 2*ms, 5*ms, 10*ms+1, 60*ms, 40*second)})
	switch n := g.rnd.IntN(10); {
	case n < 2:
		out = append(out, option{name: "TTL", dur: pick(g, 1, ms, 4*ms, 10*ms, second, hour)})
	case n < 4:
		at := g.model.wallNs() + pick(g, ms, 5*ms, 20*ms, second, hour)
		for _, o := range out {
			if !g.opt.LateExpire && o.name == "AT" {
				at = max(at, o.at+1)
			}
		}
		if g.opt.LateExpire && g.one(6) {
			at -= second
		}
		out = append(out, option{name: "EXPIREAT", at: at})
	}
	if g.one(4) {
		for i := range 1 + g.rnd.IntN(3) {
			out = append(out, option{name: "META", text: []string{fmt.Sprint("f", i, "\x00"), fmt.Sprint("v", g.rnd.IntN(5))}})
		}
	}
	maybe(8, option{name: "MAXLEN", text: []string{strconv.Itoa(1 + g.rnd.IntN(8))}})
	return out
}

// flags is one of the flags, with GT or LT where allowed.
func (g *Generator) flags() []option {
	flag := pick(g, "", "", "", "NX", "XX", "UPSERT", "UPSERT", "IDEM", "IDEM")
	if flag == "" {
		return nil
	}
	out := []option{{name: flag, text: []string{}}}
	if (flag == "XX" || flag == "UPSERT") && g.one(2) {
		out = append(out, option{name: pick(g, "GT", "LT"), text: []string{}})
	}
	return out
}

// spell writes options in random order; META keeps its order, because the last value wins.
func (g *Generator) spell(options []option) []Arg {
	var out []Arg
	for _, i := range g.rnd.Perm(len(options)) {
		o := options[i]
		if o.name == "META" {
			continue
		}
		out = append(out, Arg{Text: g.anyCase(o.name)})
		switch {
		case o.text != nil:
			out = append(out, texts(o.text...)...)
		case o.at != 0:
			out = append(out, Arg{Text: g.time(o.at)})
		default:
			out = append(out, Arg{Text: g.dur(o.dur)})
		}
	}
	for _, o := range options {
		if o.name == "META" {
			out = append(out, texts("META", o.text[0], o.text[1])...)
		}
	}
	return out
}

func (g *Generator) add() []Arg {
	queue, id := g.target("delayed", "ready", "dead")
	payload := g.payload()
	if g.one(8) {
		g.made = append(g.made, madeJob{queue, MadeRef{g.n, 0}})
		return append(texts("DQADD", queue, "*", payload), g.spell(g.addOptions(false))...)
	}
	if id.Made != nil || g.one(3) {
		queue, id = g.queue(), Arg{Text: pick(g, g.ids...)}
	}
	options := append(g.addOptions(false), g.flags()...)
	for _, o := range options {
		if o.name == "IDEM" {
			g.adds = append(g.adds, idemAdd{queue, id.Text, payload, options})
		}
	}
	return append(texts("DQADD", queue, id.Text, payload), g.spell(options)...)
}

// resend sends an IDEM add again: the same spelled differently, as a DQMADD, or a little changed.
func (g *Generator) resend() []Arg {
	if len(g.adds) == 0 {
		return g.add()
	}
	a := g.adds[max(0, len(g.adds)-1-g.rnd.IntN(3))]
	var remembered []idemAdd
	for _, add := range g.adds[max(0, len(g.adds)-20):] {
		for _, r := range g.model.memories {
			if r.queue == add.queue && r.id == add.id {
				remembered = append(remembered, add)
				if g.model.live(add.queue, add.id) == nil {
					remembered = append(remembered, add, add, add)
				}
			}
		}
	}
	if len(remembered) > 0 && g.one(2) {
		a = pick(g, remembered...)
	}
	options := append([]option(nil), a.options...)
	change := g.one(4)
	if change {
		switch i := g.rnd.IntN(len(options)); {
		case options[i].name == "DELAY":
			options[i].dur++
		case options[i].name == "AT":
			options[i].at++
		case options[i].name == "PRI":
			options = append(options[:i], options[i+1:]...)
		default:
			a.payload += "!"
		}
	}
	if g.one(3) {
		for i, o := range options {
			if o.name == "DELAY" || o.name == "AT" {
				due := "+" + g.dur(o.dur)
				if o.at != 0 {
					due = g.time(o.at)
				}
				rest := append(append([]option(nil), options[:i]...), options[i+1:]...)
				return append(append(texts("DQMADD", a.queue), g.spell(rest)...), texts("JOBS", "1", a.id, a.payload, due)...)
			}
		}
	}
	return append(texts("DQADD", a.queue, a.id, a.payload), g.spell(options)...)
}

func (g *Generator) madd() []Arg {
	queue := g.queue()
	options := g.addOptions(true)
	stars := g.one(4)
	idem := false
	if !stars {
		flags := g.flags()
		idem = len(flags) > 0 && flags[0].name == "IDEM"
		options = append(options, flags...)
	}
	args := append(texts("DQMADD", queue), g.spell(options)...)
	ids := g.rnd.Perm(len(g.ids))[:1+g.rnd.IntN(3)]
	args = append(args, texts("JOBS", strconv.Itoa(len(ids)))...)
	for i, k := range ids {
		id := g.ids[k]
		if stars {
			id = "*"
			g.made = append(g.made, madeJob{queue, MadeRef{g.n, i}})
		}
		o := option{name: "DELAY", dur: g.shortDur()}
		if g.one(3) {
			o = option{name: "AT", at: max(1, g.instant())}
		}
		due := "+" + g.dur(o.dur)
		if o.at != 0 {
			due = g.time(o.at)
		}
		payload := g.payload()
		if idem {
			var alone []option
			alone = append(append(alone, options...), o)
			g.adds = append(g.adds, idemAdd{queue, id, payload, alone})
		}
		args = append(args, texts(id, payload, due)...)
	}
	return args
}

func (g *Generator) pop(block bool) []Arg {
	queue := g.queue()
	args := texts("DQPOP", queue)
	if g.one(6) {
		args = texts("DQMPOP", "2", queue, g.queue())
	}
	var options []option
	maybe := func(in int, o option) {
		if g.one(in) {
			options = append(options, o)
		}
	}
	maybe(2, option{name: "COUNT", text: []string{pick(g, "1", "2", "3", "1000")}})
	// Lease-max of the queues is between 50 ms and 12 h: a lease above it is refused, which is also worth asking for.
	maybe(3, option{name: "LEASE", dur: pick(g, ms, 2*ms, 3*ms+1, 8*ms, 50*ms, 50*ms+1, 2*second)})
	maybe(10, option{name: "NOACK", text: []string{}})
	maybe(4, option{name: "WORKER", text: []string{pick(g, "w1", "w2\x00")}})
	maybe(3, option{name: "FULL", text: []string{}})
	if block {
		// Never a round number: a wait that ends in the nanosecond of a wake-up is a tie that the contract leaves open.
		options = append(options, option{name: "BLOCK", dur: pick(g, 0, 3*ms+137, 20*ms+139, 2*second+141, 45*second)})
	}
	return append(args, g.spell(options)...)
}

func (g *Generator) ack() []Arg {
	queue, id := g.target("leased", "leased", "delayed", "ready", "dead")
	if g.one(2) {
		args := append(texts("DQACK", queue), id, g.token(queue, id))
		if g.one(4) {
			args = append(args, id, g.token(queue, id))
		}
		return args
	}
	other := Arg{Text: pick(g, g.ids...)}
	return append(texts("DQMACK", queue, "JOBS", "2"), id, g.token(queue, id), other, g.token(queue, other))
}

func (g *Generator) nack() []Arg {
	queue, id := g.target("leased", "leased", "leased", "delayed", "ready", "dead")
	var options []option
	if g.one(3) {
		options = append(options, option{name: "DELAY", dur: g.shortDur()})
	} else if g.one(4) {
		options = append(options, option{name: "AT", at: g.instant()})
	}
	switch g.rnd.IntN(6) {
	case 0, 1:
		options = append(options, option{name: "FREE", text: []string{}})
	case 2:
		options = nil
		options = append(options, option{name: "DEAD", text: []string{}})
	}
	if g.one(3) {
		options = append(options, option{name: "REASON", text: []string{pick(g, "boom", "", strings.Repeat("r", 1024), strings.Repeat("r", 1025), "\x00\xff")}})
	}
	return append(append(texts("DQNACK", queue), id, g.token(queue, id)), g.spell(options)...)
}

func (g *Generator) extend() []Arg {
	queue, id := g.target("leased", "leased", "delayed", "ready", "dead")
	d := g.dur(pick(g, ms, 2*ms, 10*ms, 45*ms, 50*ms, 50*ms+1, 29*second, 12*hour, 12*hour+1))
	if g.one(2) {
		return append(texts("DQEXTEND", queue), id, g.token(queue, id), Arg{Text: d})
	}
	other := Arg{Text: pick(g, g.ids...)}
	return append(texts("DQMEXTEND", queue, d, "JOBS", "2"), id, g.token(queue, id), other, g.token(queue, other))
}

func (g *Generator) cancel() []Arg {
	queue, id := g.target("leased", "delayed", "ready", "dead")
	other := Arg{Text: pick(g, g.ids...)}
	switch g.rnd.IntN(3) {
	case 0:
		return append(texts("DQCANCEL", queue), id)
	case 1:
		return append(texts("DQCANCEL", queue), id, other, id)
	}
	args := texts("DQMCANCEL", queue)
	if g.one(2) {
		args = append(args, texts("FORCE")...)
	}
	return append(append(args, texts("IDS", "2")...), id, other)
}

func (g *Generator) reschedule() []Arg {
	queue, id := g.target("delayed", "delayed", "ready", "leased", "dead")
	var options []option
	switch g.rnd.IntN(3) {
	case 0:
		options = append(options, option{name: "DELAY", dur: g.shortDur()})
	case 1:
		options = append(options, option{name: "AT", at: g.instant()})
	default:
		options = append(options, option{name: "NOW", text: []string{}})
	}
	if g.one(2) {
		options = append(options, option{name: pick(g, "GT", "LT"), text: []string{}})
	}
	if g.one(3) {
		options = append(options, option{name: "PRI", text: []string{pick(g, "0", "128", "255")}})
	}
	if g.one(4) {
		options = append(options, option{name: "PAYLOAD", text: []string{g.payload()}})
	}
	return append(append(texts("DQRESCHEDULE", queue), id), g.spell(options)...)
}

func (g *Generator) look() []Arg {
	queue, id := g.target("delayed", "ready", "leased", "dead")
	switch g.rnd.IntN(6) {
	case 0:
		return append(texts("DQGET", queue), id)
	case 1:
		return append(append(texts("DQGET", queue), id), texts("state", "PAYLOAD", "no-such-field", "due-ns", "attempt", "token")...)
	case 2:
		return texts("DQLEN", queue, "STATE", pick(g, "delayed", "READY", "leased", "dead"))
	case 3:
		return texts("DQPEEK", queue, "COUNT", pick(g, "1", "2", "10001"))
	case 4:
		return texts("DQPEEK", queue, "STATE", pick(g, "ready", "Delayed", "leased", "dead"), "COUNT", "10000")
	}
	return texts("DQSTATS", pick(g, queue, "no such queue"))
}

// invalid is a command that must be refused and change nothing.
func (g *Generator) invalid() []Arg {
	q, id := g.queue(), pick(g, g.ids...)
	add := func(options ...string) []Arg {
		return texts(append([]string{"DQADD", q, id, "invalid"}, options...)...)
	}
	switch g.rnd.IntN(30) {
	case 0:
		return add("DELAY", pick(g, "1.5", "-5", "", "1e3", "200000d", "5x", "99999999999999999999", "ms", " 5", "5 ", "+5"))
	case 1:
		return add("AT", pick(g, "1800000900", "-1", "", "1800000000000.5", "soon", "2030-01-01T00:00:00", "0"))
	case 2:
		return add("DELAY", "5", pick(g, "DELAY", "AT"), "1800000000000")
	case 3:
		return add(pick(g, "NX", "XX", "IDEM"), "UPSERT")
	case 4:
		return add(pick(g, "GT", "LT"))
	case 5:
		return add("PRI", pick(g, "256", "-1", "x", ""))
	case 6:
		return add("ATTEMPTS", pick(g, "65536", "-1"))
	case 7:
		return add("BACKOFF", pick(g, "foo", "fixed", "exp:1s", "list:", "fixed:1.5s"))
	case 8:
		return add("TTL", "5", "EXPIREAT", "1900000000000")
	case 9:
		return texts("DQADD", q, pick(g, "", strings.Repeat("i", 1025)), "p")
	case 10:
		return texts("DQADD", pick(g, "", strings.Repeat("q", 256)), id, "p")
	case 11:
		return texts("DQADD", q, "*", "p", pick(g, "NX", "UPSERT", "IDEM"))
	case 12:
		return texts("DQMADD", q, "JOBS", "2", id, "p", "+5", id, "p", "+6")
	case 13:
		return texts("DQMADD", q, "JOBS", pick(g, "0", "2", "x"), id, "p", "+5")
	case 14:
		return texts("DQMADD", q, "JOBS", "1", id, "p", pick(g, "5", "+-5", "+", "", "1800000900"))
	case 15:
		return texts("DQPOP", q, "COUNT", pick(g, "0", "1001", "-1"))
	case 16:
		return texts("DQPOP", q, "LEASE", pick(g, "0", "999us", "13h", "-1"))
	case 17:
		return texts("DQEXTEND", q, id, "5", pick(g, "0", "999us", "-1", "x"))
	case 18:
		return texts("DQACK", q, id, pick(g, "x", "", "1.5"))
	case 19:
		return texts("DQMACK", q, "JOBS", "2", id, "5")
	case 20:
		return texts("DQLEN", q, "STATE", "lost")
	case 21:
		args := add()
		for i := range 33 {
			args = append(args, texts("META", strconv.Itoa(i), "v")...)
		}
		return args
	case 22:
		return texts("DQRESCHEDULE", q, id, pick(g, "GT", "SOON"))
	case 23: // one word short
		short := pick(g, "DQADD q a", "DQMADD q", "DQPOP", "DQMPOP 2 q", "DQACK q a", "DQACK q a 1 b", "DQMACK q JOBS", "DQNACK q a", "DQEXTEND q a 1",
			"DQMEXTEND q 5", "DQCANCEL q", "DQMCANCEL q IDS", "DQRESCHEDULE q a", "DQGET q", "DQLEN", "DQPEEK", "DQLEN q STATE", "DQPEEK q COUNT")
		return texts(strings.Fields(short)...)
	case 24: // an option without its value
		return append(add(), texts(pick(g, "DELAY", "AT", "TTL", "EXPIREAT", "PRI", "ATTEMPTS", "BACKOFF", "LEASE", "META", "MAXLEN", "SOON", ""))...)
	case 25: // beyond the limits
		switch g.rnd.IntN(3) {
		case 0:
			return texts("DQADD", q, id, strings.Repeat("p", maxPayload+1))
		case 1:
			return texts("DQMADD", q, "JOBS", "2", "first", "p", "+5", id, "p", g.time(g.model.wallNs()+150*365*day))
		}
		return add("META", "k", strings.Repeat("v", 8<<10))
	case 26:
		bad := pick(g, "DELAY 5 NOW", "NOW GT LT", "NOW PRI 256", "NOW PRI", "DELAY -5", "AT 5", "NOW NOW")
		return append(texts("DQRESCHEDULE", q, id), texts(strings.Fields(bad)...)...)
	case 27:
		bad := pick(g, "DELAY 1.5", "AT 1800000900", "REASON", "FREE FREE", "SOON", "DELAY 5 DELAY 5")
		return append(texts("DQNACK", q, id, "5"), texts(strings.Fields(bad)...)...)
	case 28:
		bad := pick(g, "BLOCK -1", "BLOCK 1.5", "LEASE", "COUNT 1 COUNT 1", "NOACK NOACK", "FULL 1", "WORKER", "LEASE x")
		return append(texts("DQPOP", q), texts(strings.Fields(bad)...)...)
	}
	return texts("DQNACK", q, id, "5", "DELAY", "5", "AT", "1800000000000")
}
