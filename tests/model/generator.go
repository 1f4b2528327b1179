package model

import (
	"math/rand/v2"
	"strings"
)

// Options choose what a random run contains. The zero value of a field is its default.
type Options struct {
	Queues, IDs, Clients int             // 3, 7, 4
	CheckEvery           int             // whole-state views every so many steps (20)
	Skip                 map[string]bool // commands that are not sent
	NoConfig             bool            // no DQCONFIG SET at the start
	NoPolicy             bool            // no DQCONFIG and DQPAUSE in between
	Release              bool            // also on-disconnect release, for a Subject that keeps its connections
	NoWallSteps          bool
	NoInvalid            bool             // no malformed commands
	LateExpire           bool             // also EXPIREATs that have passed already (R15)
	Near                 bool             // no advance of more than 31 s: for a Subject whose time is dear
	Marked               func(points int) // called with each new point of a Tape
	ShrinkTries          int              // replays for the shrinker (600)
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
	Kind   string // "do", "exec", "drop", "advance", "wall", "accept", "restart", "walk", "check"
	Client int    // walk: its number
	Args   []Arg
	Queued [][]Arg // exec: the commands of the transaction
	Ns     int64   // advance: to this progress time; wall, restart: by so much
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
	plan    []step             // of a scene that has begun
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
		if op, ok := g.scene(client); ok {
			return op
		}
		switch n := g.rnd.IntN(100); {
		case n < 28:
			return g.advance()
		case n < 31 && !g.opt.NoWallSteps:
			return g.wall(parked)
		case n < 34:
			args := g.walk()
			if !g.opt.Skip[args[0].Text] {
				return Op{Kind: "walk", Client: g.rnd.IntN(3), Args: args}
			}
		case n < 39:
			return Op{Kind: "exec", Client: client, Queued: g.transaction()}
		case n < 41 && g.opt.Release:
			return Op{Kind: "drop", Client: client}
		default:
			args := g.command()
			if !g.opt.NoPolicy && g.one(9) {
				args = g.policy()
			}
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
	ok = ok && wake-now < 2*hour && (!g.opt.Near || wake-now < 31*second) // the end of dead-keep is too far: a store that ticks takes long to get there
	switch n := g.rnd.IntN(40); {
	case n < 2:
	case n < 6:
		to++
	case n < 16 && ok:
		to = wake
	case n < 22 && ok:
		to = wake - 1
	case n < 37 || now-g.startNs > 20*day: // dead jobs are kept for 30 days
		to += pick(g, 1000, 100_000, ms, 2*ms, 3*ms+7, 10*ms, 25*ms, 50*ms, 300*ms)
	case n < 39 || g.opt.Near:
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
