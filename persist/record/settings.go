package record

import "time"

// Settings are what a queue goes by. Durations in ns.
type Settings struct {
	Lease, LeaseMax int64
	Attempts        int64
	TTL             int64 // 0 = none
	IdemMemory      int64
	MaxLen          int64 // 0 = no limit
	MaxPayload      int64 // bytes
	MaxDelay        int64 // 0 = no limit beyond the global one
	MaxInflight     int64 // 0 = no limit
	Rate, Burst     int64 // deliveries per second, 0 = no limit; at once, 0 = as many as Rate
	DeadKeep        int64 // 0 = for ever
	DeadCount       int64 // 0 = no limit
	Backoff         Backoff
	ExpireToDead    bool // expire-to dead instead of drop
	Release         bool // on-disconnect release instead of keep
}

// DefaultSettings are a queue's settings until somebody changes them.
func DefaultSettings() Settings {
	return Settings{
		Lease:      int64(30 * time.Second),
		LeaseMax:   int64(12 * time.Hour),
		Attempts:   25,
		Backoff:    Backoff{Kind: BackoffExp, Steps: []int64{int64(time.Second), int64(time.Hour)}, Factor: 2000},
		IdemMemory: int64(time.Minute),
		MaxPayload: 1 << 20,
		DeadKeep:   int64(30 * 24 * time.Hour),
	}
}

// BurstOrRate returns how many deliveries the rate allows at once.
func (s *Settings) BurstOrRate() int64 {
	if s.Burst == 0 {
		return s.Rate
	}
	return s.Burst
}

// Fields is a set of settings. The bits are on disk: never reused.
type Fields uint32

const (
	FieldLease Fields = 1 << iota
	FieldLeaseMax
	FieldAttempts
	FieldTTL
	FieldIdemMemory
	FieldMaxLen
	FieldMaxPayload
	FieldMaxDelay
	FieldMaxInflight
	FieldRate
	FieldBurst
	FieldDeadKeep
	FieldDeadCount
	FieldBackoff
	FieldExpireTo
	FieldOnDisconnect

	AllFields Fields = 1<<iota - 1
)

// Has reports whether all of f are in the set.
func (s Fields) Has(f Fields) bool { return s&f == f }

// numbers are the settings of the first bits, in their order.
func (s *Settings) numbers() [13]*int64 {
	return [...]*int64{
		&s.Lease, &s.LeaseMax, &s.Attempts, &s.TTL, &s.IdemMemory, &s.MaxLen, &s.MaxPayload, &s.MaxDelay,
		&s.MaxInflight, &s.Rate, &s.Burst, &s.DeadKeep, &s.DeadCount,
	}
}

// Copy takes over some of another's settings.
func (s *Settings) Copy(from *Settings, which Fields) {
	to := s.numbers()
	for i, n := range from.numbers() {
		if which.Has(1 << i) {
			*to[i] = *n
		}
	}
	if which.Has(FieldBackoff) {
		s.Backoff = from.Backoff
	}
	if which.Has(FieldExpireTo) {
		s.ExpireToDead = from.ExpireToDead
	}
	if which.Has(FieldOnDisconnect) {
		s.Release = from.Release
	}
}

// Own are the settings that somebody gave a queue, or the defaults of all queues.
type Own struct {
	Given    Fields
	Settings // those that are not in Given mean nothing
}

// Over returns the defaults with the own settings in their place.
func (o *Own) Over(defaults *Settings) Settings {
	s := *defaults
	s.Copy(&o.Settings, o.Given)
	return s
}
