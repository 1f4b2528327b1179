package model

import (
	"slices"
	"strconv"
)

// step makes one op of a scene. Its client does not wait.
type step func(client int) Op

// scene goes on with the scene that has begun, or begins one, now and then: a few ops that together reach what chance reaches in one history of fifty.
// Any other op may come between them.
func (g *Generator) scene(client int) (op Op, ok bool) {
	if len(g.plan) == 0 {
		if !g.one(20) {
			return op, false
		}
		g.plan = g.newScene()
	}
	if len(g.plan) == 0 || g.one(3) {
		return op, false
	}
	op = g.plan[0](client)
	g.plan = g.plan[1:]
	if len(op.Args) > 0 && g.opt.Skip[op.Args[0].Text] {
		return op, false
	}
	return op, true
}

func (g *Generator) newScene() []step {
	scenes := []func(queue string) []step{g.manyDie, g.dueTogether, g.stepBack, g.bulkOver, g.sentAgain, g.sentAgain}
	if !g.opt.NoPolicy {
		scenes = append(scenes, g.heldByPause, g.heldByRate, g.heldByLeases, g.heldByRate)
	}
	return pick(g, scenes...)(g.queue())
}

func (g *Generator) send(words ...string) step {
	return func(client int) Op { return Op{Kind: "do", Client: client, Args: texts(words...)} }
}

// addReady adds a few jobs that are ready at once, in any case.
func (g *Generator) addReady(queue string, more ...string) step {
	return func(client int) Op {
		args := texts("DQMADD", queue, "UPSERT")
		args = append(args, texts(more...)...)
		n := 2 + g.rnd.IntN(3)
		args = append(args, texts("JOBS", strconv.Itoa(n))...)
		for _, k := range g.rnd.Perm(len(g.ids))[:n] {
			args = append(args, texts(g.ids[k], g.payload(), "+0")...)
		}
		return Op{Kind: "do", Client: client, Args: args}
	}
}

// waits is a pop that waits if it finds nothing, for longer than a scene takes.
func (g *Generator) waits(queue string) step {
	return func(client int) Op {
		args := texts("DQPOP", queue)
		if g.one(3) {
			args = texts("DQMPOP", "2", g.queue(), queue)
		}
		args = append(args, texts("BLOCK", g.dur(2*second+143))...)
		if g.one(3) {
			args = append(args, texts("COUNT", pick(g, "2", "5"))...)
		}
		return Op{Kind: "do", Client: client, Args: args}
	}
}

// toWake goes to the next moment at which something happens, or to the nanosecond before, if it is near.
func (g *Generator) toWake() step {
	return func(int) Op {
		to := g.model.nowNs + pick(g, ms, 5*ms)
		if wake, ok := g.model.NextWake(); ok && wake < g.model.nowNs+2*second {
			to = wake - pick[int64](g, 0, 0, 1)
		}
		return Op{Kind: "advance", Ns: max(to, g.model.nowNs)}
	}
}

// heldByPause: a queue with ready jobs and waiting pops is paused; the pause ends by its time, by a step of the clock, or by DQRESUME.
func (g *Generator) heldByPause(queue string) []step {
	pause := []string{"DQPAUSE", queue, pick(g, "OUT", "ALL")}
	switch g.rnd.IntN(3) {
	case 0:
		pause = append(pause, "FOR", g.dur(pick(g, 2*ms, 20*ms)))
	case 1:
		pause = append(pause, "UNTIL", g.time(g.model.wallNs()+pick(g, 7*ms, 40*ms)))
	}
	end := g.send("DQRESUME", queue, "ALL")
	if g.one(4) {
		end = g.send("DQPAUSE", queue, "OUT", "FOR", "1")
	}
	return []step{g.addReady(queue), g.send(pause...), g.waits(queue), g.waits(queue), g.toWake(), end, g.toWake(), g.toWake(), g.send("DQRESUME", queue, "ALL")}
}

// heldByRate: more is asked for than the rate lets through.
func (g *Generator) heldByRate(queue string) []step {
	rate := g.send("DQCONFIG", "SET", queue, "rate", pick(g, "3", "100", "300"), "burst", pick(g, "1", "2"))
	return []step{g.send("DQCONFIG", "RESET", queue, "max-inflight", "max-len"), g.send("DQRESUME", queue, "ALL"), rate, g.addReady(queue, "ATTEMPTS", "0"), g.send("DQPOP", queue, "COUNT", "2", "NOACK"),
		g.waits(queue), g.waits(queue), g.toWake(), g.send("DQPOP", queue), g.toWake(), g.toWake(), g.addReady(queue), g.toWake(), g.send("DQCONFIG", "RESET", queue, "rate", "burst")}
}

// heldByLeases: a queue is at max-inflight, and a lease ends, or the setting does.
func (g *Generator) heldByLeases(queue string) []step {
	end := pick(g, g.toWake(), g.send("DQCONFIG", "RESET", queue, "max-inflight"), g.send("DQCONFIG", "SET", queue, "max-inflight", "3"), g.send("DQPURGE", queue, "STATE", "leased"))
	return []step{g.send("DQCONFIG", "SET", queue, "max-inflight", pick(g, "1", "2")), g.send("DQRESUME", queue, "ALL"), g.addReady(queue), g.send("DQPOP", queue, "COUNT", "2", "LEASE", "3"),
		g.waits(queue), g.waits(queue), end, g.toWake(), g.send("DQCONFIG", "RESET", queue, "max-inflight")}
}

// manyDie: several jobs die at once, are walked through one by one, and come back.
func (g *Generator) manyDie(queue string) []step {
	walk := func(int) Op { return Op{Kind: "walk", Client: 2, Args: texts("DQDEAD", queue, "0", "COUNT", "1")} }
	back := g.send("DQREQUEUE", queue, "SPREAD", g.dur(pick(g, ms, 10*ms+1)), "ALL")
	return []step{g.addReady(queue, "ATTEMPTS", "1", "LEASE", "2"), g.send("DQPOP", queue, "COUNT", "1000", "WORKER", "w1"), pick(g, g.toWake(), g.send("DQRELEASE", queue, "WORKER", "w1")),
		walk, walk, walk, pick(g, back, g.send("DQPURGE", queue, "STATE", "dead", "LIMIT", "2")), walk, back, g.waits(queue), g.toWake()}
}

// dueTogether: jobs become ready in one instant, for pops that wait.
func (g *Generator) dueTogether(queue string) []step {
	add := func(client int) Op {
		args := texts("DQMADD", queue, "UPSERT", "PRI", pick(g, "0", "255"), "JOBS", "3")
		at := "+" + g.dur(pick(g, ms, 2*ms+1))
		for _, k := range g.rnd.Perm(len(g.ids))[:3] {
			args = append(args, texts(g.ids[k], g.payload(), at)...)
		}
		return Op{Kind: "do", Client: client, Args: args}
	}
	return []step{g.waits(queue), add, g.waits(queue), g.toWake(), g.toWake()}
}

// stepBack: jobs at times of the wall, and a clock that goes back over them.
func (g *Generator) stepBack(queue string) []step {
	at := func(client int) Op {
		args := texts("DQMADD", queue, "UPSERT", "JOBS", "2")
		for _, k := range g.rnd.Perm(len(g.ids))[:2] {
			args = append(args, texts(g.ids[k], g.payload(), g.time(g.model.wallNs()+pick(g, ms, 30*ms, second)))...)
		}
		return Op{Kind: "do", Client: client, Args: args}
	}
	back := func(int) Op {
		if g.opt.NoWallSteps {
			return Op{Kind: "advance", Ns: g.model.nowNs + ms}
		}
		return Op{Kind: "wall", Ns: -pick(g, 60*ms, 75*ms+1, second) - g.model.clock.aheadNs}
	}
	return []step{at, g.toWake(), back, g.toWake(), g.waits(queue), g.toWake(), at, g.toWake()}
}

// bulkOver: a command on many jobs meets all of their states.
func (g *Generator) bulkOver(queue string) []step {
	bulk := pick(g, []string{"DQPURGE", queue, "STATE", "leased", "STATE", "dead", "STATE", "delayed", "STATE", "ready"}, []string{"DQPURGE", queue}, []string{"DQDROP", queue, "FORCE"},
		[]string{"DQREQUEUE", queue, "ALL"}, []string{"DQRELEASE", queue, "WORKER", "w2\x00"})
	later := func(client int) Op {
		args := texts("DQMADD", queue, "UPSERT", "JOBS", "2")
		for _, k := range g.rnd.Perm(len(g.ids))[:2] {
			args = append(args, texts(g.ids[k], g.payload(), "+"+g.dur(pick(g, ms, second)))...)
		}
		return Op{Kind: "do", Client: client, Args: args}
	}
	some := func(client int) Op {
		return Op{Kind: "exec", Client: client, Queued: [][]Arg{slices.Clone(g.ack()), slices.Clone(g.cancel())}}
	}
	return []step{g.addReady(queue, "ATTEMPTS", "1"), g.send("DQPOP", queue, "COUNT", "2", "LEASE", "1"), g.toWake(), g.addReady(queue), g.send("DQPOP", queue, "COUNT", "2", "WORKER", "w2\x00", "LEASE", "15"),
		later, some, g.send(bulk...), later, g.waits(queue), g.toWake()}
}

// sentAgain: an IDEM add comes again when its job has ended, before it is forgotten and after.
func (g *Generator) sentAgain(queue string) []step {
	id, payload := pick(g, g.ids...), g.payload()
	add := g.send("DQADD", queue, id, payload, "IDEM", "PRI", "0")
	end := func(client int) Op {
		args := texts("DQACK", queue, id)
		return Op{Kind: "do", Client: client, Args: append(args, g.token(queue, Arg{Text: id}))}
	}
	if g.one(3) {
		end = g.send("DQCANCEL", queue, id)
	}
	over := func(int) Op {
		to := g.model.nowNs
		for _, r := range g.model.memories {
			if r.queue == queue && r.id == id {
				to = r.until - pick[int64](g, 0, 1)
			}
		}
		return Op{Kind: "advance", Ns: to}
	}
	return []step{g.send("DQMCANCEL", queue, "FORCE", "IDS", "1", id), add, add, pick(g, end, g.send("DQPOP", queue, "COUNT", "1000")), end, add, over, add}
}
