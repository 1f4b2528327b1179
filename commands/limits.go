package commands

import "time"

// Limits are the bounds on arguments that need neither state nor a clock. They
// are configuration: the server holds one value and passes it to every Parse.
// How far ahead of now an instant may lie is checked by the shard, which has
// the time; so are the limits that a queue sets for itself.
type Limits struct {
	MaxQueue  int // bytes of a queue name
	MaxID     int // bytes of an id
	MaxWorker int // bytes of a WORKER name
	MaxReason int // bytes of a REASON; the rest is cut off

	MaxPayload   int // bytes
	MaxMetaPairs int // META fields of one job
	MaxMetaBytes int // their names and values together

	MaxAhead int64 // ns: the longest duration, and the farthest due
	LeaseMin int64 // ns
	LeaseMax int64 // ns: the longest LEASE of an add or a pop
	MaxBlock int64 // ns: a pop that asks for more, or for 0, waits so long

	MaxPopCount   int // COUNT of a pop
	MaxPopQueues  int // queues of a DQMPOP
	MaxIDs        int // ids of a variadic command
	MaxBatchJobs  int // jobs of a DQMADD
	MaxBatchBytes int // bytes of all arguments of a DQMADD
	MaxFields     int // fields named in one DQGET, arguments of one CONFIG
	DefaultList   int // COUNT of a list that names none
	MaxList       int // a list's larger COUNT is taken as this
	MaxPattern    int // bytes of a MATCH
}

// attemptsMax is the largest number of deliveries in all; 0 stands for no limit.
const attemptsMax = 65535

// DefaultLimits returns the limits of a server that was not told otherwise.
func DefaultLimits() *Limits {
	return &Limits{
		MaxQueue:  255,
		MaxID:     1024,
		MaxWorker: 255,
		MaxReason: 1 << 10,

		MaxPayload:   1 << 20,
		MaxMetaPairs: 32,
		MaxMetaBytes: 8 << 10,

		MaxAhead: int64(36525 * 24 * time.Hour), // 100 years
		LeaseMin: int64(time.Millisecond),
		LeaseMax: int64(12 * time.Hour),
		MaxBlock: int64(30 * time.Second),

		MaxPopCount:   1000,
		MaxPopQueues:  1000,
		MaxIDs:        10_000,
		MaxBatchJobs:  4096,
		MaxBatchBytes: 16 << 20,
		MaxFields:     64,
		DefaultList:   100,
		MaxList:       10_000,
		MaxPattern:    4096,
	}
}
