package model

import "time"

const (
	ms     = int64(time.Millisecond)
	second = int64(time.Second)
	hour   = int64(time.Hour)
	day    = 24 * hour

	maxAhead   = 100 * 365 * day
	maxBlock   = 30 * second
	maxPayload = 1 << 20
	minLease   = ms
)

// Settings are those of a queue that has none of its own. All durations are nanoseconds; zero means "none" for TTL and MaxLen, "no limit" for Attempts.
type Settings struct {
	Lease    int64
	LeaseMax int64
	Attempts int
	Backoff  Backoff
	TTL      int64
	ExpireTo string // "drop" or "dead"
	IDMemory int64
	MaxLen   int64

	MaxPayload, MaxDelay, MaxInflight int64
	Rate, Burst                       int64
	DeadKeep, DeadCount               int64
	OnDisconnect                      string // "keep" or "release"

	// Ignore names the fields of DQGET, FULL and DQSTATS whose presence is checked but whose value is not.
	Ignore map[string]bool

	// Readings are the points where the contract can be read in two ways.
	Readings Readings
}

// DefaultSettings are the defaults of COMMANDS §5.
func DefaultSettings() Settings {
	return Settings{
		Lease:    30 * second,
		LeaseMax: 12 * hour,
		Attempts: 25,
		Backoff:  Backoff{Kind: "exp", First: second, Max: hour, Factor: 2},
		ExpireTo: "drop",
		IDMemory: 60 * second,

		MaxPayload: maxPayload, DeadKeep: 30 * day, OnDisconnect: "keep",
		Ignore: map[string]bool{
			"backoff": true, "size": true, "bytes": true, "oldest-ready-ms": true, "get-late-us": true,
			"late-p50-us": true, "late-p99-us": true, "late-max-us": true, "run-p50-us": true, "run-p99-us": true,
		},
	}
}

// Readings flips the model where the contract is open. The zero value is the reading in use; the numbers are those of READINGS.md.
type Readings struct {
	OrderByProgress        bool // R1: ready jobs sort by due on the progress clock, not by the wall due that is shown
	ServeEachWake          bool // R2: waiting pops are served after each single wake-up, not after all of one instant
	TimeoutBeatsJob        bool // R3: a BLOCK that ends in the very nanosecond a job becomes ready answers null
	IdemLastInstant        bool // R4: acceptance + id-memory is still within it
	PlainAddForgets        bool // R5: an accepted add without IDEM makes the id forget
	FullRefusesReplacing   bool // R6: MAXLEN refuses a replacing UPSERT/XX when live > n
	UpsertKeepsCreated     bool // R7: UPSERT/XX keep `created`
	FreeBackoffOneLess     bool // R8: FREE takes the attempt back first, then picks the retry delay
	ExpiredDeadKeepsToken  bool // R9: a job whose lease ran out and whose TTL then made it dead can still be acked
	PastATExpiresByWall    bool // R10: TTL of a past AT counts on the wall, not on progress
	RescheduleOverExpireAt bool // R11: DQRESCHEDULE may set a due at or after EXPIREAT (the job then expires before it)
	PeekIgnoresPriority    bool // R12: delayed jobs of one due are listed by acceptance alone
	NoAckNotDelivered      bool // R13: `delivered` does not count NOACK
	DeadNackNotCounted     bool // R14: a DQNACK that finds the job dead and leaves it dead does not count in `nacked`
}

// Backoff is the delay before the next attempt. Durations are nanoseconds. Jitter is always 0 here: its value is the server's own affair.
type Backoff struct {
	Kind   string // "fixed", "exp", "list"
	First  int64
	Max    int64
	Factor int64
	List   []int64
}

// After is the delay after the given attempt (1 = the first).
func (b Backoff) After(attempt int) int64 {
	if attempt < 1 {
		attempt = 1
	}
	switch b.Kind {
	case "fixed":
		return b.First
	case "list":
		if attempt > len(b.List) {
			attempt = len(b.List)
		}
		return b.List[attempt-1]
	}
	d := b.First
	for i := 1; i < attempt && d < b.Max; i++ {
		d *= b.Factor
	}
	return min(d, b.Max)
}
