package commands

import "dqd/persist/record"

// Request is a parsed command: every argument checked for syntax and for limits
// that need no state. Byte slices may alias the arguments given to Parse, which
// stay untouched until the request is answered.
type Request interface{ isRequest() }

// Due says when a job shall be delivered.
type Due struct {
	Kind DueKind
	// Ns is a delay (≥ 0) for DueDelay, Unix nanoseconds (≥ 0) for DueAt; else 0.
	Ns int64
}

// DueKind tells a delay, which counts on progress time, from an instant, which follows wall time.
type DueKind uint8

const (
	DueNone  DueKind = iota // not given: at once for an add, by backoff for a nack
	DueDelay                // DELAY dur
	DueAt                   // AT time
	DueNow                  // NOW (DQRESCHEDULE)
)

// Cond is an add's condition on the id.
type Cond uint8

const (
	CondNone Cond = iota
	CondNX
	CondXX
	CondUpsert
	CondIdem
)

// Compare is an add's or reschedule's condition on the new due time.
type Compare uint8

const (
	CompareNone Compare = iota
	CompareGT           // only if the new due is later
	CompareLT           // only if the new due is earlier
)

// AddOptions are the options that DQADD and DQMADD share.
type AddOptions struct {
	Cond     Cond
	Compare  Compare
	TTL      int64 // ns, 0 = not given
	ExpireAt int64 // Unix ns, 0 = not given
	Pri      int   // 0–255; -1 = not given
	Attempts int   // 0–65535, 0 = no limit; -1 = not given
	Backoff  *record.Backoff
	Lease    int64 // ns, 0 = not given
	Meta     []record.Field
	MaxLen   int64 // 0 = not given
}

// NewJob is one job of an add.
type NewJob struct {
	ID      []byte // nil = * (the server makes one)
	Payload []byte
	Due     Due
	// Digest identifies the request for IDEM: a hash of everything the client
	// asked for, after parsing (zero unless Cond is CondIdem).
	Digest record.Digest
}

// JobToken names a lease: token 0 stands for *, the current lease. Tokens start at 1.
type JobToken struct {
	ID    []byte
	Token uint64
}

// The requests of the job commands.
type (
	// Add is DQADD.
	Add struct {
		Queue   []byte
		Job     NewJob
		Options AddOptions
	}
	// MAdd is DQMADD.
	MAdd struct {
		Queue   []byte
		Jobs    []NewJob
		Options AddOptions
	}
	// Cancel is DQCANCEL, or DQMCANCEL when Codes is set.
	Cancel struct {
		Queue []byte
		IDs   [][]byte
		Force bool
		Codes bool
	}
	// Reschedule is DQRESCHEDULE.
	Reschedule struct {
		Queue, ID  []byte
		Due        Due
		Compare    Compare
		Pri        int // -1 = not given
		HasPayload bool
		Payload    []byte
	}
	// Pop is DQPOP (and DQMPOP, with several queues).
	Pop struct {
		Queues [][]byte
		Count  int   // 1–1000
		Block  int64 // ns to wait; 0 = return at once. The contract's BLOCK 0 is parsed to max-block.
		Lease  int64 // ns, 0 = not given
		NoAck  bool
		Worker []byte
		Full   bool
		// CutLease: a Lease that is longer than a queue allows is cut, not refused.
		CutLease bool
	}
	// Ack is DQACK, or DQMACK when Codes is set.
	Ack struct {
		Queue []byte
		Jobs  []JobToken
		Codes bool
	}
	// Nack is DQNACK.
	Nack struct {
		Queue  []byte
		Job    JobToken
		Due    Due
		Free   bool
		Dead   bool
		Reason []byte
	}
	// Extend is DQEXTEND, or DQMEXTEND when Codes is set.
	Extend struct {
		Queue []byte
		Lease int64 // ns
		Jobs  []JobToken
		Codes bool
	}
	// Get is DQGET.
	Get struct {
		Queue, ID []byte
		Fields    []string // lower case; nil = all, as a map
	}
	// Peek is DQPEEK.
	Peek struct {
		Queue []byte
		State record.State // 0 = ready then delayed
		Count int
	}
	// Range is DQRANGE.
	Range struct {
		Queue    []byte
		Min, Max Bound
		State    record.State // 0 = delayed and ready
		Offset   int64        // jobs to skip
		Count    int
		Rev      bool
		Payload  bool
	}
	// Count is DQCOUNT.
	Count struct {
		Queue    []byte
		Min, Max Bound
		State    record.State // 0 = delayed and ready
	}
	// Scan is DQSCAN.
	Scan struct {
		Queue  []byte
		Cursor uint64
		Match  []byte       // nil = all
		State  record.State // 0 = live
		Worker []byte       // nil = any or none
		Count  int
		Full   bool
	}
	// Queues is DQQUEUES, and SCAN.
	Queues struct {
		Cursor  uint64
		Match   []byte // nil = all
		Count   int
		WithLen bool
		Nothing bool // keys of another type are asked for
	}
	// DeadJobs is DQDEAD.
	DeadJobs struct {
		Queue  []byte
		Cursor uint64
		Count  int
	}
	// Len is DQLEN.
	Len struct {
		Queue []byte
		State record.State // 0 = live
	}
	// Stats is DQSTATS; a nil Queue asks for all queues together.
	Stats struct{ Queue []byte }
	// Clock is DQCLOCK.
	Clock struct{ Accept bool }
	// SetConfig is DQCONFIG SET. Here and below Queue is * for the defaults of all.
	SetConfig struct {
		Queue []byte
		Set   record.Own
	}
	// GetConfig is DQCONFIG GET; a nil Pattern = all fields.
	GetConfig struct{ Queue, Pattern []byte }
	// ResetConfig is DQCONFIG RESET.
	ResetConfig struct {
		Queue  []byte
		Fields record.Fields
	}
	// Pause is DQPAUSE.
	Pause struct {
		Queue []byte
		Ways  Ways
		// Until is when the pause ends: DueNone = never, DueDelay (> 0) or DueAt.
		Until Due
	}
	// Resume is DQRESUME.
	Resume struct {
		Queue []byte
		Ways  Ways
	}
	// Requeue is DQREQUEUE; without IDs it is about ALL dead jobs.
	Requeue struct {
		Queue         []byte
		Delay, Spread int64 // ns
		IDs           [][]byte
	}
	// Release is DQRELEASE.
	Release struct{ Queue, Worker []byte }
	// Purge is DQPURGE.
	Purge struct {
		Queue    []byte
		States   StateSet
		Min, Max Bound
		Limit    int64 // 0 = not given
		DryRun   bool
	}
	// Drop is DQDROP.
	Drop struct {
		Queue []byte
		Force bool
	}
)

// StateSet is a set of states.
type StateSet [record.Dead + 1]bool

// Ways are the ways through a queue that DQPAUSE and DQRESUME mean.
type Ways uint8

const (
	WayIn  Ways = 1 // adds
	WayOut Ways = 2 // deliveries
)

// AllDefaults reports whether the queue of a DQCONFIG stands for the defaults of all.
func AllDefaults(queue []byte) bool { return isStar(queue) }

func (*Add) isRequest()         {}
func (*MAdd) isRequest()        {}
func (*Cancel) isRequest()      {}
func (*Reschedule) isRequest()  {}
func (*Pop) isRequest()         {}
func (*Ack) isRequest()         {}
func (*Nack) isRequest()        {}
func (*Extend) isRequest()      {}
func (*Get) isRequest()         {}
func (*Peek) isRequest()        {}
func (*Range) isRequest()       {}
func (*Count) isRequest()       {}
func (*Scan) isRequest()        {}
func (*Queues) isRequest()      {}
func (*DeadJobs) isRequest()    {}
func (*Len) isRequest()         {}
func (*Stats) isRequest()       {}
func (*Clock) isRequest()       {}
func (*SetConfig) isRequest()   {}
func (*GetConfig) isRequest()   {}
func (*ResetConfig) isRequest() {}
func (*Pause) isRequest()       {}
func (*Resume) isRequest()      {}
func (*Requeue) isRequest()     {}
func (*Release) isRequest()     {}
func (*Purge) isRequest()       {}
func (*Drop) isRequest()        {}

// ReadsMuch reports a request that may read a lot: it is answered beside all others,
// and a client has one of them at a time.
func ReadsMuch(request Request) bool {
	switch r := request.(type) {
	case *Peek, *Range, *Count, *Scan, *Queues, *DeadJobs:
		return true
	case *Stats:
		return r.Queue == nil
	case *Purge:
		return r.DryRun
	}
	return false
}

// Slices reports a request that may concern so many jobs that it takes effect in slices:
// it is at work for a while, and other commands come between. A client has one of them
// at a time.
func Slices(request Request) bool {
	switch r := request.(type) {
	case *Requeue:
		return r.IDs == nil
	case *Purge:
		return !r.DryRun
	case *Release, *Drop:
		return true
	}
	return false
}
