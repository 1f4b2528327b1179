package model

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// own is a Model as a Subject, with an optional fault. The faults change the model's state from outside: the model itself has no wrong branch.
type own struct {
	m     *Model
	fault fault
	calls int
}

// fault is one mistake that a server could make. All hooks may be nil.
type fault struct {
	why     string
	args    func(s *own, args []string) []string
	before  func(s *own, args []string)
	after   func(s *own, args []string, reply Reply)
	advance func(s *own, to int64) // instead of m.Advance
	step    func(s *own, delta int64)
	stepped func(s *own) // after a step, or its acceptance
	restart func(s *own, delta int64)
}

// Start is the moment at which a model as a Subject begins.
const (
	StartProgressNs = 5 * second
	StartWallNs     = 1_800_000_000_123_456_789
)

// Own is a model as a correct Subject. Its tokens and made ids differ from those of another model, as a server's do.
func Own(m *Model) Subject { return newOwn(m, fault{}) }

// Broken is a model as a Subject with one of Faults put in.
func Broken(m *Model, kind string) Subject {
	f, ok := faults[kind]
	if !ok {
		panic("no such fault: " + kind)
	}
	return newOwn(m, f)
}

// Faults are the kinds of Broken.
func Faults() []string {
	var kinds []string
	for k := range faults {
		kinds = append(kinds, k)
	}
	sort.Strings(kinds)
	return kinds
}

func newOwn(m *Model, f fault) *own {
	m.lastToken, m.lastMade = 7000, 500
	m.at(StartProgressNs, StartWallNs)
	return &own{m: m, fault: f}
}

func (s *own) Now() (progressNs, wallNs int64) { return s.m.nowNs, s.m.wallNs() }

func (s *own) Do(client int, args []string) (reply Reply, parked bool) {
	s.calls++
	args = slices.Clone(args)
	args[0] = strings.ToUpper(args[0])
	if s.fault.args != nil {
		args = s.fault.args(s, args)
	}
	if s.fault.before != nil {
		s.fault.before(s, args)
	}
	s.m.client = client
	if args[0] == "DQPOP" || args[0] == "DQMPOP" {
		reply, parked = s.m.Park(client, s.m.nowNs, s.m.wallNs(), args...)
	} else {
		reply = s.m.Do(s.m.nowNs, s.m.wallNs(), args...)
	}
	reply = reply.Plain()
	if s.fault.after != nil {
		s.fault.after(s, args, reply)
	}
	return reply, parked
}

// Exec implements Transactor. The hooks do not see what is in it.
func (s *own) Exec(client int, commands [][]string) Reply {
	s.m.client = client
	return s.m.Exec(s.m.nowNs, s.m.wallNs(), commands).Plain()
}

func (s *own) Drop(client int) { s.m.Drop(client) }

func (s *own) AdvanceTo(progressNs int64) {
	if s.fault.advance != nil {
		s.fault.advance(s, progressNs)
		return
	}
	s.m.Advance(progressNs)
}

func (s *own) StepWall(deltaNs int64) {
	if s.fault.step != nil {
		s.fault.step(s, deltaNs)
	}
	s.m.StepWall(deltaNs)
	s.m.settle()
	if s.fault.stepped != nil {
		s.fault.stepped(s)
	}
}

func (s *own) Accept() {
	s.m.Accept()
	if s.fault.stepped != nil {
		s.fault.stepped(s)
	}
}

func (s *own) Restart(deltaNs int64) {
	s.m.Restart(deltaNs)
	if s.fault.restart != nil {
		s.fault.restart(s, deltaNs)
	}
}

func (s *own) Arrived() []Arrival {
	out := s.m.Arrived()
	for i := range out {
		out[i].Reply = out[i].Reply.Plain()
	}
	return out
}

func (s *own) Recount() error {
	for _, j := range s.m.jobs {
		if j.queue == "" {
			return fmt.Errorf("job without a queue")
		}
	}
	return nil
}

func adds(args []string) bool { return args[0] == "DQADD" || args[0] == "DQMADD" }

// place finds an option's place, -1 when it is not there.
func place(args []string, option string) int {
	return slices.IndexFunc(args, func(s string) bool { return strings.EqualFold(s, option) })
}

// popping changes all ready jobs for the time of one pop and puts back what it changed on those that are left.
func popping(change func(s *own, jobs []*job) (undo func())) fault {
	var undo func()
	return fault{
		before: func(s *own, args []string) {
			if args[0] == "DQPOP" || args[0] == "DQMPOP" {
				undo = change(s, s.m.jobs)
			}
		},
		after: func(s *own, args []string, reply Reply) {
			if undo != nil {
				undo()
				undo = nil
			}
		},
	}
}

var faults = map[string]fault{
	"early by 1 ns": {
		why: "a job is ready one nanosecond before its due",
		advance: func(s *own, to int64) {
			s.m.Advance(to)
			for _, j := range s.m.jobs {
				if j.state == "delayed" && s.m.toProgress(j.due) == to+1 {
					s.m.makeReady(j)
				}
			}
			s.m.settle()
		},
	},
	"accepts a stale token": {
		why: "an ack with any token of a leased job works",
		before: func(s *own, args []string) {
			if args[0] != "DQACK" || len(args) < 4 {
				return
			}
			if j := s.m.find(args[1], args[2]); j != nil && j.state == "leased" && args[3] != "*" {
				if n, err := strconv.ParseInt(args[3], 10, 64); err == nil && slices.Contains(s.m.issued[jobKey(j.queue, j.id)], n) {
					j.token = n
				}
			}
		},
	},
	"forgets a wake": {
		why: "of the jobs that become due at one moment, one in twenty is not noticed until the next",
		advance: func(s *own, to int64) {
			var asleep *job
			for _, j := range s.m.jobs {
				if j.state == "delayed" && s.m.toProgress(j.due) <= to && s.calls%20 == 0 {
					asleep = j
				}
			}
			if asleep == nil {
				s.m.Advance(to)
				return
			}
			s.m.remove(asleep)
			s.m.Advance(to)
			s.m.jobs = append(s.m.jobs, asleep)
		},
	},
	"loses the order of acceptance": popping(func(s *own, jobs []*job) func() {
		jobs = slices.Clone(jobs)
		for _, j := range jobs {
			j.accepted = -j.accepted
		}
		return func() {
			for _, j := range jobs {
				j.accepted = -j.accepted
			}
		}
	}),
	"ignores priority": popping(func(s *own, jobs []*job) func() {
		jobs = slices.Clone(jobs)
		var was []int
		for _, j := range jobs {
			was = append(was, j.pri)
			j.pri = 128
		}
		return func() {
			for i, j := range jobs {
				j.pri = was[i]
			}
		}
	}),
	"leases twice": {
		why: "one job in some pops stays ready",
		after: func(s *own, args []string, reply Reply) {
			if args[0] == "DQPOP" && reply.Kind == Array && s.calls%3 == 0 && len(reply.Items[0].Items) > 1 {
				if j := s.m.live(args[1], reply.Items[0].Items[1].Str); j != nil {
					j.state = "ready"
				}
			}
		},
	},
	"counts TTL from the retry": {
		why: "a nack sets the TTL anew",
		after: func(s *own, args []string, reply Reply) {
			if args[0] == "DQNACK" && reply.Num == 1 {
				if j := s.m.live(args[1], args[2]); j != nil && j.ttl > 0 && j.state == "delayed" {
					j.expire = instant{j.due.ns + j.ttl, j.due.wall}
					j.look = s.m.lookAt(j)
				}
			}
		},
	},
	"forgets IDEM after the ack": {
		why: "the memory of an IDEM add goes with its job",
		after: func(s *own, args []string, reply Reply) {
			if args[0] == "DQACK" && reply.Num > 0 {
				s.m.forget(args[1], args[2])
			}
		},
	},
	"remembers IDEM after a cancel": {
		why: "a cancelled job's IDEM request is still answered as before",
		before: func(s *own, args []string) {
			if args[0] == "DQCANCEL" {
				for i, r := range s.m.memories {
					s.m.memories[i].queue = "\x01" + r.queue
				}
			}
		},
		after: func(s *own, args []string, reply Reply) {
			for i, r := range s.m.memories {
				s.m.memories[i].queue = strings.TrimPrefix(r.queue, "\x01")
			}
		},
	},
	"counts the attempt on FREE": {
		why: "FREE does not give the attempt back",
		after: func(s *own, args []string, reply Reply) {
			if args[0] == "DQNACK" && reply.Num == 1 && place(args[4:], "FREE") >= 0 {
				if j := s.m.live(args[1], args[2]); j != nil && j.state != "leased" {
					j.attempt++
				}
			}
		},
	},
	"swaps GT and LT": {
		why: "the condition is turned round",
		args: func(s *own, args []string) []string {
			if args[0] != "DQRESCHEDULE" {
				return args
			}
			for i := 3; i < len(args); i++ {
				switch strings.ToUpper(args[i]) {
				case "GT":
					args[i] = "LT"
				case "LT":
					args[i] = "GT"
				}
			}
			return args
		},
	},
	"MAXLEN off by one": {
		why: "one job too many is let in",
		args: func(s *own, args []string) []string {
			if i := place(args, "MAXLEN"); adds(args) && i > 0 && i+1 < len(args) {
				if n, err := strconv.Atoi(args[i+1]); err == nil {
					args[i+1] = strconv.Itoa(n + 1)
				}
			}
			return args
		},
	},
	"refuses a late ack": {
		why: "an ack after the lease ran out is refused although nobody took the job",
		before: func(s *own, args []string) {
			if args[0] == "DQACK" && len(args) > 2 {
				if j := s.m.find(args[1], args[2]); j != nil && j.state != "leased" {
					j.token = 0
				}
			}
		},
	},
	"a reschedule keeps tokens": {
		why: "DQRESCHEDULE does not make the earlier token stale",
		after: func(s *own, args []string, reply Reply) {
			if args[0] == "DQRESCHEDULE" && reply.Num == 1 {
				if j := s.m.live(args[1], args[2]); j != nil && j.state != "leased" {
					j.token = j.shown
				}
			}
		},
	},
	"the wall moves DELAY jobs": {
		why: "a backward step of the wall delays relative jobs too",
		step: func(s *own, delta int64) {
			for _, j := range s.m.jobs {
				if j.state == "delayed" && !j.due.wall {
					j.due.ns -= delta
					j.look.ns -= delta
				}
			}
		},
	},
	"AT jobs ignore a wall step": {
		why: "a backward step of the wall does not make AT jobs wait",
		step: func(s *own, delta int64) {
			for _, j := range s.m.jobs {
				if j.state == "delayed" && j.due.wall {
					j.due.ns += delta
					j.look.ns += delta
				}
			}
		},
	},
	"follows a forward step at once": {
		why: "AT jobs fire by a clock that may be wrong",
		stepped: func(s *own) {
			if s.m.clock.aheadNs > 0 {
				s.m.Accept()
			}
		},
	},
	"follows a forward step of any size": {
		why: "a step beyond clock-trust is followed after 10 s",
		stepped: func(s *own) {
			if s.m.clock.aheadNs > trustNs {
				s.m.clock.followNs = s.m.nowNs + standNs
			}
		},
	},
	"never follows a forward step": {
		why:     "a held step is forgotten",
		stepped: func(s *own) { s.m.clock.followNs = 0 },
	},
	"moves DELAY jobs by a forward step": {
		why: "what was held is taken for time that has passed",
		stepped: func(s *own) {
			if s.m.clock.aheadNs > 0 {
				s.m.clock.passed = true
			}
		},
	},
	"does not look at the clock at the start": {
		why: "the time of a stop is lost",
		restart: func(s *own, delta int64) {
			if delta > 0 && s.m.clock.aheadNs == 0 {
				s.m.offsetNs += delta
				s.m.nowNs -= delta
			}
		},
	},
	"serves the last waiter first": {
		why: "blocked pops are not served in order of arrival",
		before: func(s *own, args []string) {
			slices.Reverse(s.m.waiters)
		},
		after: func(s *own, args []string, reply Reply) {
			slices.Reverse(s.m.waiters)
		},
	},
	"backoff one step ahead": {
		why: "the delay after attempt n is that of n+1",
		after: func(s *own, args []string, reply Reply) {
			if !adds(args) {
				return
			}
			for _, j := range s.m.jobs {
				if b := s.m.backoff(j); j.attempt == 0 && b.Kind == "exp" {
					b.First = min(b.First*b.Factor, b.Max)
					j.ownBackoff = &b
				}
			}
		},
	},
	"a refused DQMADD leaves its first job": {
		why: "DQMADD is not all or nothing",
		after: func(s *own, args []string, reply Reply) {
			if i := place(args, "JOBS"); args[0] == "DQMADD" && reply.Word() == "DUPID" && len(args) > i+4 {
				s.m.Do(s.m.nowNs, s.m.wallNs(), "DQADD", args[1], args[i+2], args[i+3])
			}
		},
	},
	"forgets who waits when a queue goes on": {
		why: "DQRESUME does not serve the waiting pops",
		before: func(s *own, args []string) {
			if args[0] == "DQRESUME" {
				for _, w := range s.m.waiters {
					w.pop.count = -w.pop.count
				}
			}
		},
		after: func(s *own, args []string, reply Reply) {
			if args[0] == "DQRESUME" {
				for _, w := range s.m.waiters {
					w.pop.count = -w.pop.count
				}
			}
		},
	},
	"max-inflight off by one": {
		why: "one lease too many is given",
		args: func(s *own, args []string) []string {
			if i := place(args, "MAX-INFLIGHT"); args[0] == "DQCONFIG" && i > 0 && i+1 < len(args) && args[i+1] != "0" {
				if n, err := strconv.Atoi(args[i+1]); err == nil {
					args[i+1] = strconv.Itoa(n + 1)
				}
			}
			return args
		},
	},
	"a rate refills twice": {
		why: "what was delivered comes back in half the time",
		before: func(s *own, args []string) {
			for queue, b := range s.m.buckets {
				if len(b.back) > 0 && b.back[0]-s.m.nowNs < second/b.rate/2 {
					b.back = b.back[1:]
					s.m.buckets[queue] = b
				}
			}
		},
	},
	"a refused SET leaves its first field": {
		why: "DQCONFIG SET is not all or nothing",
		after: func(s *own, args []string, reply Reply) {
			if args[0] == "DQCONFIG" && len(args) > 5 && strings.EqualFold(args[1], "SET") && reply.Kind == Error {
				s.m.Do(s.m.nowNs, s.m.wallNs(), args[:5]...)
			}
		},
	},
	"loses a count": {
		why: "a cancel by FORCE is not counted",
		after: func(s *own, args []string, reply Reply) {
			if args[0] == "DQMCANCEL" && place(args, "FORCE") == 2 && reply.Kind == Array && reply.Items[0].Num == 1 {
				s.m.count(args[1]).cancelled--
			}
		},
	},
	"a cursor skips a job": {
		why: "a walk goes on behind what comes next",
		args: func(s *own, args []string) []string {
			if i := len(args) - 1; walks(args[0]) && i > 0 {
				place := 1
				if args[0] == "DQSCAN" || args[0] == "DQDEAD" {
					place = min(2, i)
				}
				if n, err := strconv.Atoi(args[place]); err == nil && n > 0 {
					args[place] = strconv.Itoa(n + 1)
				}
			}
			return args
		},
	},
	"a bound does not leave itself out": {
		why: "( before min or max is not seen",
		args: func(s *own, args []string) []string {
			if (args[0] == "DQRANGE" || args[0] == "DQCOUNT") && len(args) > 3 {
				args[2], args[3] = strings.TrimPrefix(args[2], "("), strings.TrimPrefix(args[3], "(")
			}
			return args
		},
	},
	"DQMPOP serves right to left": {
		why: "the last queue comes first",
		args: func(s *own, args []string) []string {
			if args[0] == "DQMPOP" && len(args) > 3 && args[1] == "2" {
				args[2], args[3] = args[3], args[2]
			}
			return args
		},
	},
	"cuts payloads at the inline limit": {
		why: "a payload above 256 bytes loses its end",
		after: func(s *own, args []string, reply Reply) {
			for _, j := range s.m.jobs {
				if len(j.payload) > 256 {
					j.payload = j.payload[:256]
				}
			}
		},
	},
}
