package record

import "math"

// State is a job's state. The numbers are on disk and in the log: never reused.
type State uint8

const (
	Delayed State = 1 // due in the future
	Ready   State = 2 // due has come, nobody has it
	Leased  State = 3 // a worker has it
	Dead    State = 4 // its attempts are used up, or its worker said so, or it expired
)

// Live reports whether the state is delayed, ready or leased.
func (s State) Live() bool { return s >= Delayed && s <= Leased }

// Domain names a timeline. Progress time never steps (DELAY, leases, retries
// count on it); wall time is progress plus the replicated wall offset (AT follows it).
type Domain uint8

const (
	Progress Domain = 0
	Wall     Domain = 1
)

// Instant is a moment on one of the two timelines, in nanoseconds ≥ 0.
// The zero Instant means "never".
type Instant struct {
	Domain Domain
	Ns     int64
}

// TokenState says what a job's latest token is still good for.
type TokenState uint8

const (
	// TokenStale: for nothing (also: never leased, with Token 0).
	TokenStale TokenState = 0
	// TokenHeld: the lease runs.
	TokenHeld TokenState = 1
	// TokenRanOut: the lease ran out and nobody took or changed the job since; ack and nack still work.
	TokenRanOut TokenState = 2
	// TokenNacked: settled by DQNACK; only a repeated DQNACK finds it, and changes nothing.
	TokenNacked TokenState = 3
)

// Cause says why a job died. The numbers are on disk.
type Cause uint8

const (
	CauseNone     Cause = 0
	CauseAttempts Cause = 1
	CauseNack     Cause = 2
	CauseExpired  Cause = 3
)

// Digest identifies an IDEM request; the zero Digest means "not IDEM".
type Digest [16]byte

// Field is one pair of a job's META.
type Field struct{ Name, Value []byte }

// Job is a job's record without its Body. It is rewritten by every transition;
// together with Queue and ID it determines all keys of the job (see Keys).
type Job struct {
	Queue uint32
	ID    []byte // in the key of live and dead jobs, not in the value

	// Seq is the order of acceptance in the shard, unique among all jobs; it
	// names the body and breaks ties in every index.
	Seq   uint64
	State State
	Pri   uint8
	// Due as last set. When a job becomes ready its due is frozen on the wall
	// timeline, so that the order of the ready index never changes.
	Due Instant
	// Wake is the next time to look at the job; the zero Instant = never.
	// Delayed: due (or expiry, if earlier). Leased: the lease's end (Progress).
	// Ready: expiry. Dead: the end of dead-keep.
	Wake Instant
	// Expire is when the job leaves if nobody took it; zero = never.
	Expire  Instant
	TTL     int64 // ns, kept so that a reschedule can count it anew; 0 = none, or EXPIREAT
	Created int64 // wall ns of acceptance

	Attempt     uint32 // deliveries so far
	MaxAttempts int32  // deliveries in all, 0 = no limit, -1 = as the queue says

	Token      uint64 // latest token; 0 = never leased
	TokenState TokenState
	LeasedAt   int64  // progress ns of the latest delivery; 0 = never
	LateUs     int64  // of the latest delivery, µs
	Worker     []byte // of the latest delivery; nil = not named
	Reason     []byte // of the latest DQNACK; nil = none

	Died  int64 // progress ns, dead only
	Cause Cause // dead only

	Idem      Digest // of the IDEM request that was accepted; zero = none
	IdemUntil int64  // progress ns; later the request is forgotten

	// PayloadSize is the payload's length in bytes.
	PayloadSize uint32
	// Body is the immutable part. When inline it travels in the record; else it
	// is nil after decoding and stands under its own key.
	Body *Body
	// Separate says that Body has its own key.
	Separate bool
}

// Body is what a client gave and no transition rewrites.
type Body struct {
	Payload []byte
	Meta    []Field
	Backoff *Backoff // nil = as the queue says
	Lease   int64    // ns, 0 = as the queue says
}

// InlineMax is the largest encoded Body, in bytes, that is kept in the Job
// record itself: one Get per ack or cancel, at the price of rewriting it with each lease.
const InlineMax = 256

// BackoffKind is the shape of a retry delay.
type BackoffKind uint8

const (
	BackoffFixed BackoffKind = 1
	BackoffExp   BackoffKind = 2
	BackoffList  BackoffKind = 3
)

// Backoff is a parsed retry policy.
type Backoff struct {
	Kind   BackoffKind
	Steps  []int64 // ns: fixed: [delay]; exp: [first, max]; list: the delays, the last repeats
	Factor uint32  // exp: multiplier in thousandths, 2000 = doubling
	Jitter uint8   // exp: 0–100 %, subtracted
}

// Queue is a queue's registry entry, counters and pause.
// Invariant I7: Added = live + Dead + Acked + Noack + Cancelled + Expired + Purged + Pruned.
type Queue struct {
	Number uint32
	Name   []byte

	// Gauges; each equals a recount of the store.
	Delayed, Ready, Leased, Dead int64
	Bytes                        int64 // payload bytes of live and dead jobs

	// Counters since the queue was created.
	Added, Delivered, Acked, Noack, Nacked            int64
	Expired, Cancelled, Purged, Pruned, LeaseTimeouts int64

	// Pauses of adds and of deliveries end then; zero = not paused, Endless = until somebody resumes.
	InUntil, OutUntil Instant

	// IdemUntil: no IDEM memory of an ended job lasts beyond it, progress ns.
	IdemUntil int64
	// IdemNumber is the number that the keys of those memories have; 0 = the queue's own.
	// DQDROP FORCE gives a queue that stays another one: what it remembered is out of reach.
	IdemNumber uint32

	// The bucket of the setting rate is full again at BucketFull (progress ns), counted
	// by this rate and burst; where the settings have changed it is full.
	BucketFull, BucketRate, BucketBurst int64
}

// Endless is the end of a pause that has none.
var Endless = Instant{Domain: Progress, Ns: math.MaxInt64}

// Live returns delayed + ready + leased.
func (q *Queue) Live() int64 { return q.Delayed + q.Ready + q.Leased }

// Memories returns the number that the keys of its IDEM memories have.
func (q *Queue) Memories() uint32 {
	if q.IdemNumber != 0 {
		return q.IdemNumber
	}
	return q.Number
}

// Idem is the memory of an IDEM request whose job has ended.
type Idem struct {
	Digest Digest
	Until  int64 // progress ns; later the memory counts for nothing
}

// Applied is the state's position; it is in every batch.
type Applied struct {
	Index, Term     uint64   // of the raft log
	Epoch, Sequence uint64   // of the fence
	Time            int64    // progress ns, never goes back
	WallOffset      int64    // wall = progress + offset, ns
	NextToken       uint64   // the next lease's token
	NextSeq         uint64   // the next job's order of acceptance
	NextQueue       uint32   // the next queue's number
	Cursors         [2]int64 // per domain: every wake-up below it is processed
	IdemCursor      int64    // IDEM memory below it is swept
	StateHash       uint64   // chain hash over the applied entries
}
