package tests

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"dqd/tests/dqdtest"
)

// Without the server's password the example says what to do.
func TestOrderTimeoutPassword(t *testing.T) {
	server := dqdtest.Start(t, dqdtest.Options{Password: "secret"})
	for password, want := range map[string]string{"": "the server wants its password: give it in the environment as DQD_REQUIREPASS", "wrong": "the server refuses the password"} {
		cmd := exec.Command("go", "run", "dqd/examples/ordertimeout", "-addr", server.Addr)
		cmd.Env = append(os.Environ(), "DQD_REQUIREPASS="+password)
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), want) {
			t.Errorf("password %q: %v\n%s\nwant %s", password, err, out, want)
		}
	}
}

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
	// Twice, as whoever tries it does, and with a time that has a fraction.
	for range 2 {
		out, err := exec.CommandContext(ctx, program, "-addr", server.Addr, "-pay-within", "1.1s", "-lease", "500ms").CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for _, line := range []string{
			"-1 placed, to be paid within 1.1s",
			"-1 paid in time: true",
			"-2 is not paid: taken by alice, who crashes",
			"-2 is not paid: cancelled by bob, attempt 2",
			"-3 is not paid: cancelled by bob, attempt 1",
			"-2 paid in time: false",
		} {
			if n := strings.Count(string(out), line+"\n"); n != 1 {
				t.Errorf("it prints %d times %q:\n%s", n, line, out)
			}
		}
	}
	k, err := readCounters(server.Dial(), "ordertimeout")
	if err != nil {
		t.Fatal(err)
	}
	if k.Added != 6 || k.Cancelled != 2 || k.Acked != 4 || k.Delayed+k.Ready+k.Leased+k.Dead != 0 {
		t.Errorf("counters afterwards: %+v", k)
	}
}
