package tests

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"dqd/tests/dqdtest"
)

// The example program, end to end: an unpaid order is cancelled after its time,
// a payment cancels the timer, a crashed worker's order is taken over.
func TestOrderTimeoutExample(t *testing.T) {
	server := dqdtest.Start(t, dqdtest.Options{})
	program := filepath.Join(t.TempDir(), "ordertimeout")
	if out, err := exec.Command("go", "build", "-o", program, "dqd/examples/ordertimeout").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*dqdtest.Deadline)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, "-addr", server.Addr, "-pay-within", "1s", "-lease", "500ms").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, line := range []string{
		"order-1 placed, to be paid within 1s",
		"order-1 paid in time: true",
		"order-2 is not paid: taken by alice, who crashes",
		"order-2 is not paid: cancelled by bob, attempt 2",
		"order-3 is not paid: cancelled by bob, attempt 1",
		"order-2 paid in time: false",
	} {
		if n := strings.Count(string(out), line+"\n"); n != 1 {
			t.Errorf("it prints %d times %q:\n%s", n, line, out)
		}
	}
	k, err := readCounters(server.Dial(), "orders")
	if err != nil {
		t.Fatal(err)
	}
	if k.Added != 3 || k.Cancelled != 1 || k.Acked != 2 || k.Delayed+k.Ready+k.Leased+k.Dead != 0 {
		t.Errorf("counters afterwards: %+v", k)
	}
}
