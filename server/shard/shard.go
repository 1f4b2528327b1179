package shard

import (
	"log/slog"
	"math"
	"sync"
	"sync/atomic"

	"dqd/commands"
	"dqd/persist"
	"dqd/persist/record"
	"dqd/server/shard/dispatch"
	"dqd/server/shard/evaluate"
	"dqd/tsc"
)

// Log is the replicated log that the shard writes, and the state it builds.
type Log interface {
	// Propose appends an entry. done is called once, in order of proposal, from
	// one goroutine: nil when the entry is applied and visible in the store.
	Propose(entry []byte, done func(error))
	// Applied returns the state's position.
	Applied() record.Applied
	// Leadership tells when this node starts (true) and stops to lead.
	Leadership() <-chan bool
	// Barrier returns when all earlier entries are applied.
	Barrier() error
}

// Options configure a shard.
type Options struct {
	Number uint32
	Log    Log
	State  *persist.State
	Clock  tsc.Source
	// ClockInfo describes the clock for DQCLOCK; nil = nothing to say.
	ClockInfo func() tsc.Info
	// ClockTrust is the largest forward step of the wall clock, in ns, that is followed
	// without DQCLOCK ACCEPT, once it has stood for 10 s; 0 = none is.
	ClockTrust int64
	Limits     evaluate.Limits
	// Early is how many bytes of waiting requests begin an entry while others are in
	// flight; 0 = 8 KiB.
	Early int64
	// Slice is how many jobs a slice of a bulk command has at most; 0 = 128.
	Slice int
	// Fatal is called when the state cannot be read. It must not return.
	Fatal  func(error)
	Logger *slog.Logger
	// Observe gets measurements; nil functions are left out.
	Observe Observe
}

// Observe takes measurements, on the shard's goroutine.
type Observe struct {
	Lateness   func(ns int64) // of a delivery, from due to the lease's stamp
	TimerError func(ns int64) // from the time an alarm was set for to the boundary it caused
}

// Bounds of one batch.
const (
	batchCalls = 1024      // calls
	batchBytes = 256 << 10 // effects; a sealing target, one large call may exceed it
	batchWakes = 1024      // wake-ups of each timeline
	// Work that can go on in the next batch, wake-ups and bulk commands, ends when
	// stepTime ns have passed: with its way through the log it is what the commands of
	// others may have to wait for. The clock is looked at every stepJobs jobs.
	stepTime = int64(5e5)
	stepJobs = 32
	// inboxBytes bounds the requests that wait for the log ("proposals in
	// flight"); what is beyond is answered BUSY.
	inboxBytes = 64 << 20
	// maxFlights is how many entries may be in flight. While one is being written the
	// next ones are evaluated, if requests of earlyBytes have gathered: what is less is
	// better evaluated with those that come until the entry is written.
	maxFlights = 3
	earlyBytes = 8 << 10 // default of Options.Early
	// maxReaders is how many calls are answered beside the actor at a time.
	maxReaders = 2
)

// Shard is one Raft group's queue. Its goroutine, the actor, owns everything
// below the line; the other goroutines leave messages in the inbox.
type Shard struct {
	opt   Options
	alarm tsc.Alarm
	wake  chan struct{} // one token: the actor has something to look at
	quit  chan struct{} // closed by Close
	done  chan struct{} // closed by the actor when it has ended

	mu    sync.Mutex
	inbox inbox

	// readers are the goroutines that read snapshots: they fill filters and answer
	// calls that read a lot. They end by themselves, and soon after quit.
	readers sync.WaitGroup

	// deliverMu orders the delivery of replies: a batch's replies leave before
	// those of the next one.
	deliverMu sync.Mutex

	gauges  atomic.Pointer[Gauges]
	asked   atomic.Pointer[surveyCall]
	serving func()       // see OnServing; guarded by mu
	bytes   atomic.Int64 // of the calls in the inbox and in todo

	// ---- the actor's own ----

	timeline     *timeline
	memory       *evaluate.Memory // nil while this node does not lead
	leads        bool             // the log's latest word
	accepted     bool             // a held step was accepted: it goes into an entry before the answer
	parked       map[Client]*dispatch.Waiter
	todo         []*Call   // taken from the inbox, not yet evaluated
	spare        []*Call   // the inbox's next backing array
	spareFlights []*flight // likewise
	hints        []dispatch.Hint
	back         []giveBack
	unblock      []unblock // to be answered once todo is evaluated: the pop may be in it
	reads        []read    // calls that wait for one of the readers
	reading      int       // readers at work
	bulks        []*bulk   // commands that work in slices, in order; the first maxBulks are at work
	flights      []*flight // the entries that commit now, the oldest first
	held         []*Call   // to be delivered with the next entry, or when none is in flight
	drain        bool      // the next batch begins when none is
	moved        bool      // the wall offset was set, and no entry says so yet
	wentBack     bool      // and back: the wall window must be made anew
	stats        stats
	scans        *scanWindows // new with each memory
	alarmAt      int64        // mono; MaxInt64 = not set
}

// inbox is what other goroutines leave for the actor.
type inbox struct {
	calls    []*Call
	back     []giveBack
	gone     []Client
	unblock  []unblock
	finished []*flight // in order
	known    []filledKnown
	readDone int // reads that have ended
	flying   int // entries in flight
}

type unblock struct {
	client Client
	reply  commands.Reply
}

// filledKnown is a filter of known ids, filled for the memory it is for.
type filledKnown struct {
	memory *evaluate.Memory
	filter *dispatch.Known
}

// giveBack names a delivered job whose reply could not be written.
type giveBack struct {
	queue, id []byte
	token     uint64
}

// flight is a batch on its way.
type flight struct {
	memory  *evaluate.Memory // that the batch is of
	number  uint64           // of the batch
	answers []*Call
	report  evaluate.Report
	err     error
}

// Gauges are the shard's numbers for INFO and metrics, as of the latest batch.
type Gauges struct {
	Totals  record.Queue
	Queues  int64
	Waiting int64
	Window  int64 // wake-ups in memory
	Clock   commands.ClockInfo
	Leading bool
}

// New starts a shard on a log and its state. It serves once the log says that
// this node leads; calls wait until then.
func New(opt Options) *Shard {
	if opt.Early == 0 {
		opt.Early = earlyBytes
	}
	if opt.Slice == 0 {
		opt.Slice = sliceJobs
	}
	s := &Shard{
		opt:    opt,
		wake:   make(chan struct{}, 1),
		quit:   make(chan struct{}),
		done:   make(chan struct{}),
		parked: map[Client]*dispatch.Waiter{},
		stats:  newStats(),
	}
	s.gauges.Store(&Gauges{})
	s.alarmAt = math.MaxInt64
	s.alarm = opt.Clock.NewAlarm(s.poke)
	go s.run()
	return s
}

// Submit hands over calls of one client, in order. Each is delivered once.
func (s *Shard) Submit(calls []*Call) {
	n := int64(0)
	for _, c := range calls {
		n += int64(c.Size)
	}
	s.bytes.Add(n)
	s.mu.Lock()
	s.inbox.calls = append(s.inbox.calls, calls...)
	s.unlockAndPoke()
}

// ClientGone ends a client's waiting pop, before any lease. Client.Gone is true by now.
func (s *Shard) ClientGone(c Client) {
	s.mu.Lock()
	s.inbox.gone = append(s.inbox.gone, c)
	s.unlockAndPoke()
}

// Unblock answers the client's waiting pop with reply, if it still waits.
func (s *Shard) Unblock(c Client, reply commands.Reply) {
	s.mu.Lock()
	s.inbox.unblock = append(s.inbox.unblock, unblock{c, reply})
	s.unlockAndPoke()
}

// Undelivered gives back the jobs of a pop, or of the pops of a transaction, whose reply could not be written:
// they are ready at once and the attempt does not count.
func (s *Shard) Undelivered(c *Call) {
	all := commands.DeliveriesIn(c.Reply)
	if all == nil {
		return
	}
	s.mu.Lock()
	for _, d := range all {
		for i := range d.Jobs {
			s.inbox.back = append(s.inbox.back, giveBack{d.Jobs[i].Queue, d.Jobs[i].ID, d.Jobs[i].Token})
		}
	}
	s.unlockAndPoke()
}

// OnServing has f called, once, when the shard begins to serve, or now if it does.
func (s *Shard) OnServing(f func()) {
	s.mu.Lock()
	if !s.gauges.Load().Leading {
		s.serving = f
		f = nil
	}
	s.mu.Unlock()
	if f != nil {
		f()
	}
}

// Gauges returns the numbers as of the latest batch.
func (s *Shard) Gauges() *Gauges { return s.gauges.Load() }

// Close answers the waiting pops with null, finishes what is in flight, and ends
// the actor. Calls submitted later are not answered.
func (s *Shard) Close() {
	close(s.quit)
	<-s.done
	s.readers.Wait()
	s.alarm.Stop()
}

// unlockAndPoke releases mu and wakes the actor, if it would begin an entry now.
// Else it looks at the inbox when one in flight is done, and need not be woken per
// message.
func (s *Shard) unlockAndPoke() {
	begin := s.inbox.flying == 0 || s.inbox.flying < maxFlights && s.bytes.Load() >= s.opt.Early
	s.mu.Unlock()
	if begin {
		s.poke()
	}
}

func (s *Shard) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
