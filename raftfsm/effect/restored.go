package effect

import "dqd/persist/record"

const (
	sparedTokens = 1 << 32
	longestLost  = 366 * 24 * 3600 * 1_000_000_000 // ns
)

// Restored returns the position from which a state that was restored from a backup
// goes on; lost are the nanoseconds since the backup was taken. The restore counts as
// an entry of the log.
//
// What happened after the backup is forgotten, but the tokens of that time may still
// fence somebody's database, and must not be given again: so many are left out as
// nobody can have given in that time, one per microsecond, and 2^32 in case a clock is
// wrong. Of the 2^53 tokens that is nothing: what is lost counts up to 366 days.
func Restored(last record.Applied, lost int64) record.Applied {
	next := last
	next.Index++
	next.Term = max(last.Term, 1)
	next.NextToken += sparedTokens + uint64(min(max(lost, 0), longestLost)/1000)
	next.StateHash = chain(last.StateHash, next.AppendValue(nil))
	return next
}
