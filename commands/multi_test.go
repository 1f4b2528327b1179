package commands

import (
	"strings"
	"testing"
)

// What may read a lot or works in slices is refused when it is queued; every other
// command may stand in a transaction.
func TestNotInTransactions(t *testing.T) {
	refused := []string{
		"DQPEEK q", "DQRANGE q -inf +inf", "DQCOUNT q -inf +inf", "DQSCAN q 0", "DQDEAD q 0", "DQPURGE q", "DQDROP q", "DQRELEASE q WORKER w", "DQREQUEUE q ALL",
		"DQQUEUES 0", "SCAN 0", "SHUTDOWN", "DQSTATS", "DQCLOCK ACCEPT", "CLIENT REPLY OFF", "HELLO 3",
	}
	allowed := []string{
		"DQADD q a x", "DQMADD q JOBS 1 a x +0", "DQPOP q", "DQACK q a 1", "DQMACK q JOBS 1 a 1", "DQNACK q a 1", "DQEXTEND q a 1 5s", "DQCANCEL q a", "DQMCANCEL q IDS 1 a",
		"DQRESCHEDULE q a NOW", "DQGET q a", "DQLEN q", "DQSTATS q", "DQCLOCK", "DQMPOP 1 q", "DQMEXTEND q 5s JOBS 1 a 1", "DQREQUEUE q IDS 1 a", "DQPAUSE q", "DQRESUME q",
		"DQCONFIG SET q lease 5s", "DQCONFIG GET q", "PING", "HELLO", "CLIENT ID", "UNWATCH",
	}
	check := func(line string, want bool) {
		args := splitLine(t, line)
		row, request, err := Parse(args, DefaultLimits())
		if err != nil {
			t.Fatal(line, err)
		}
		err = CheckQueued(row, request, 1, 1)
		if got := err != nil; got != want || got && !strings.HasPrefix(err.Error(), "ERR Command not allowed inside a transaction: ") {
			t.Errorf("%s in a transaction: %v", line, err)
		}
	}
	for _, line := range refused {
		check(line, true)
	}
	for _, line := range allowed {
		check(line, false)
	}
}
