package record

import "time"

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
