package tests

import (
	"fmt"
	"strconv"
	"testing"

	"dqd/tests/dqdtest"
	"dqd/tests/ledger"
	"dqd/tests/script"
)

// The program is killed in the middle of a command on many jobs, 200,000 in a purge, while
// another client runs transactions. Started again it has each job once, either done with or
// not; nothing that was seen done is undone; each transaction that was answered is there, the last one
// whole or not at all; and the same command sent again does the rest.
func TestKill9InTheMiddleOfManyJobs(t *testing.T) {
	random := newRandom(t)
	server := dqdtest.Start(t, dqdtest.Options{})
	between := 0
	for _, b := range []struct {
		queue   string
		jobs    int
		ttl     string // of the jobs: they die of it; else they are due in an hour
		command []string
		done    func(k ledger.Counters) int64 // how many jobs it has done
	}{
		{"purged", 200_000, "", []string{"DQPURGE", "purged"}, func(k ledger.Counters) int64 { return k.Purged }},
		{"requeued", 40_000, "1ns", []string{"DQREQUEUE", "requeued", "DELAY", "1h", "ALL"}, func(k ledger.Counters) int64 { return k.Delayed }},
		{"dropped", 40_000, "", []string{"DQDROP", "dropped", "FORCE"}, func(k ledger.Counters) int64 { return k.Purged }},
	} {
		jobs := int64(b.jobs)
		c := server.Dial()
		fillQueue(t, c, b.queue, b.jobs, b.ttl)
		one, two := server.Dial(), server.Dial()
		if err := one.Send(b.command...); err != nil {
			t.Fatal(err)
		}
		answered := make(chan int, 1)
		go func() { answered <- transactions(two, b.queue) }()

		enough, seen := 1000+random.Int64N(jobs/2), int64(0)
		err := dqdtest.WaitFor(2*dqdtest.Deadline, func() error {
			k, err := readCounters(c, b.queue)
			if err != nil {
				return dqdtest.Stop(err)
			}
			if k.Added == 0 { // dropped
				return nil
			}
			if seen = b.done(k); seen < enough {
				return fmt.Errorf("%s: %d jobs are done, want %d", b.queue, seen, enough)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		server.Kill()
		whole := <-answered
		verifyStore(t, server.Dir, false)
		if err := server.Restart(); err != nil {
			t.Fatalf("%s: start after kill -9: %v", b.queue, err)
		}

		c = server.Dial()
		k, err := readCounters(c, b.queue)
		if err != nil {
			t.Fatal(err)
		}
		live := k.Delayed + k.Ready + k.Leased
		done := b.done(k)
		switch {
		case k.Added == 0 && b.queue == "dropped":
			done = jobs
		case k.Added != jobs || live+k.Dead+k.Purged != jobs || done < seen:
			t.Errorf("%s: of %d jobs, %d seen done before the kill, there are %+v", b.queue, jobs, seen, k)
		}
		if done < jobs {
			between++
		}
		t.Logf("%s: killed with %d jobs done, seen %d; %d transactions", b.queue, done, seen, whole)
		for i := range whole + 2 {
			v, err := c.Must("EXISTS", fmt.Sprintf("%s-%d-a", b.queue, i), fmt.Sprintf("%s-%d-b", b.queue, i))
			if err != nil {
				t.Fatal(err)
			}
			if n := v.Int(); n == 1 || i < whole && n != 2 || i > whole && n != 0 {
				t.Errorf("%s: of transaction %d (answered: %v) there are %d of 2 jobs", b.queue, i, i < whole, n)
			}
		}
		want := jobs - done
		if b.queue == "dropped" {
			want = min(want, 1)
		}
		if err := c.Send(b.command...); err != nil {
			t.Fatal(err)
		}
		v, err := c.Receive(2 * dqdtest.Deadline)
		if err != nil || v.Int() != want {
			t.Errorf("%s: %v again: %s (%v), want %d", b.queue, b.command, script.Format(v), err, want)
		}
	}
	if between == 0 {
		t.Error("every command was done before the kill: this proves nothing")
	}
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	verifyStore(t, server.Dir, true)
}

// fillQueue adds jobs, which die if they have a TTL.
func fillQueue(t *testing.T, c *dqdtest.Client, queue string, jobs int, ttl string) {
	t.Helper()
	const each = 2000
	if _, err := c.Must("DQCONFIG", "SET", queue, "expire-to", "dead"); err != nil {
		t.Fatal(err)
	}
	due, options := "+1h", []string{}
	if ttl != "" {
		due, options = "+0", []string{"TTL", ttl}
	}
	for at := 0; at < jobs; at += each {
		args := append([]string{"DQMADD", queue}, options...)
		args = append(args, "JOBS", strconv.Itoa(each))
		for i := range each {
			args = append(args, fmt.Sprintf("job-%d", at+i), "x", due)
		}
		if _, err := c.Must(args...); err != nil {
			t.Fatal(err)
		}
	}
	if ttl == "" {
		return
	}
	err := dqdtest.WaitFor(2*dqdtest.Deadline, func() error {
		k, err := readCounters(c, queue)
		if err != nil {
			return dqdtest.Stop(err)
		}
		if k.Dead != int64(jobs) {
			return fmt.Errorf("%d jobs of %s are dead", k.Dead, queue)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// transactions adds two jobs at a time, each in a queue of its own, until the server ends. It
// returns how many transactions were answered.
func transactions(c *dqdtest.Client, prefix string) (answered int) {
	for ; ; answered++ {
		for _, args := range [][]string{
			{"MULTI"},
			{"DQADD", fmt.Sprintf("%s-%d-a", prefix, answered), "a", "x", "DELAY", "1h"},
			{"DQADD", fmt.Sprintf("%s-%d-b", prefix, answered), "b", "x", "DELAY", "1h"},
		} {
			if _, err := c.Must(args...); err != nil {
				return answered
			}
		}
		if v, err := c.Must("EXEC"); err != nil || len(v.Items) != 2 {
			return answered
		}
	}
}
