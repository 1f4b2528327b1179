package ledger

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// The proof that the ledger sees a lost job, a repeat, a moved due, a wrong
// counter: a right server passes, and each fault put into it is found.
func TestLedgerSeesEachFault(t *testing.T) {
	for _, c := range []struct {
		fault string
		brk   func(*store)
		want  string // part of the complaint; empty = none
	}{
		{"none", func(*store) {}, ""},
		{"a lost job", func(s *store) { delete(s.jobs, "delayed"); s.c.Delayed--; s.c.Added-- }, "delayed is lost"},
		{"a lost job, counted as cancelled", func(s *store) { delete(s.jobs, "delayed"); s.c.Delayed--; s.c.Cancelled++ }, "delayed is lost"},
		{"a lost leased job", func(s *store) { delete(s.jobs, "leased"); s.c.Leased--; s.c.Added-- }, "leased is lost"},
		{"an acked job is back", func(s *store) { s.put("acked", "ready", 5, 1); s.c.Acked-- }, "acked is there again"},
		{"a cancelled job is back", func(s *store) { s.put("cancelled", "delayed", 5, 0); s.c.Cancelled-- }, "cancelled is there again"},
		{"due moved by 1 ns", func(s *store) { s.put("delayed", "delayed", 1001, 0); s.c.Delayed-- }, "delayed has moved"},
		{"due moved back by 1 ns", func(s *store) { s.put("delayed", "delayed", 999, 0); s.c.Delayed-- }, "delayed has moved"},
		{"a reschedule forgotten", func(s *store) { s.put("moved", "delayed", 1000, 0); s.c.Delayed-- }, "moved has moved"},
		{"a DELAY job moved by 1 s", func(s *store) { s.put("relative", "delayed", 2e9, 0); s.c.Delayed-- }, "relative has moved"},
		{"a counter is off", func(s *store) { s.c.Acked++ }, "counters do not add up"},
		{"two counters are off", func(s *store) { s.c.Acked++; s.c.Added++ }, "counter acked is 2"},
		{"a gauge is off", func(s *store) { s.c.Delayed--; s.c.Acked++ }, "counter live is"},
	} {
		t.Run(c.fault, func(t *testing.T) {
			l, s := history()
			c.brk(s)
			found, err := l.Check(s.look, s.counters)
			if err != nil {
				t.Fatal(err)
			}
			text := strings.Join(found, "; ")
			if c.want == "" && text != "" || !strings.Contains(text, c.want) {
				t.Errorf("complaints: %q, want %q", text, c.want)
			}
		})
	}
}

// Deliveries are judged by when their pop was sent.
func TestLedgerSeesWrongDeliveries(t *testing.T) {
	now := time.Now()
	at := func(sent, received time.Duration) Delivery {
		return Delivery{Token: 9, Due: 1000, Lease: time.Minute, Sent: now.Add(sent), Received: now.Add(received)}
	}
	again := func(token int64, sent, received time.Duration) func(*Ledger) {
		return func(l *Ledger) {
			d := at(sent, received)
			d.Token = token
			l.Delivered("delayed", at(0, time.Second))
			l.Delivered("delayed", d)
		}
	}
	for _, c := range []struct {
		name string
		do   func(*Ledger)
		want string
	}{
		{"right", func(l *Ledger) { l.Delivered("delayed", at(0, 0)) }, ""},
		{"again after an ack", func(l *Ledger) { l.Delivered("acked", at(time.Hour, time.Hour)) }, "delivered again after it had been acked"},
		{"after a cancel", func(l *Ledger) { l.Delivered("cancelled", at(time.Hour, time.Hour)) }, "delivered again after it had been cancelled"},
		{"its pop was under way when the ack came", func(l *Ledger) { l.Delivered("acked", at(-time.Hour, 0)) }, ""},
		{"never added", func(l *Ledger) { l.Delivered("nobody", at(0, 0)) }, "never added"},
		{"early", func(l *Ledger) { l.Delivered("delayed", Delivery{Due: now.Add(time.Minute).UnixNano(), Received: now}) }, "before its due time"},
		{"again when the lease is over", again(10, time.Minute, time.Minute+time.Second), ""},
		{"again, by a pop that has waited long", again(10, -time.Hour, time.Minute+time.Second), ""},
		{"again while it is leased", again(10, 50*time.Second, 59*time.Second), "at least 1s before the lease of the token 9 was over"},
		{"leased before, and known later", again(8, -time.Hour, 0), ""},
		{"leased while it was leased before, and known later", again(8, -30*time.Second, 0), "token 9 at least 29s before the lease of the token 8 was over"},
		{"one token twice", again(9, time.Hour, time.Hour), "twice with the token 9"},
		{"acked twice", func(l *Ledger) { l.End("acked", Acked).Done() }, "was acked although it had been acked"},
		{"cancelled and acked", func(l *Ledger) { l.End("cancelled", Acked).Done() }, "was acked although it had been cancelled"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, s := history()
			c.do(l)
			s.c = Counters{} // only the delivery counts here
			found, err := l.Check(func(string) (Observed, error) { return Observed{}, errors.New("not looked at") }, s.counters)
			if err == nil {
				t.Fatal(found)
			}
			text := strings.Join(l.violations, "; ")
			if c.want == "" && text != "" || !strings.Contains(text, c.want) {
				t.Errorf("complaints: %q, want %q", text, c.want)
			}
		})
	}
}

// What was not answered may have happened or not, and is settled by the next look.
func TestLedgerSettlesOpenOperations(t *testing.T) {
	l, s := history()
	l.Add("open-add", At(7), false)
	l.End("delayed", Cancelled)
	l.End("leased", Acked)
	l.Move("moved", At(3000), false)
	// Of these the cancel and the reschedule have happened.
	delete(s.jobs, "delayed")
	s.c.Delayed--
	s.c.Cancelled++
	s.put("moved", "delayed", 3000, 0)
	s.c.Delayed--
	for range 2 {
		found, err := l.Check(s.look, s.counters)
		if err != nil || len(found) > 0 {
			t.Fatalf("complaints about a right server: %q, %v", found, err)
		}
	}
	// Now they are facts.
	s.put("moved", "delayed", 2000, 0)
	s.put("delayed", "delayed", 1000, 0)
	found, err := l.Check(s.look, s.counters)
	text := strings.Join(found, "; ")
	if err != nil || !strings.Contains(text, "moved has moved") || !strings.Contains(text, "delayed is there again") {
		t.Errorf("complaints: %q, %v", text, err)
	}
}

// history is a ledger, and a server on which all of it is true.
func history() (*Ledger, *store) {
	l := New()
	l.Add("delayed", At(1000), false).Done()
	l.Add("relative", Span{100, 200}, true).Done()
	l.Add("moved", At(1000), false).Done()
	l.Move("moved", At(2000), false).Done()
	l.Move("moved", At(4000), false).Refused()
	l.Add("leased", At(5), false).Done()
	l.Delivered("leased", Delivery{Token: 1, Received: time.Now()})
	l.Add("acked", At(5), false).Done()
	l.Delivered("acked", Delivery{Token: 2, Sent: time.Now(), Received: time.Now()})
	l.End("acked", Acked).Done()
	l.Add("cancelled", At(5), false).Done()
	l.End("cancelled", Cancelled).Done()
	l.Add("refused", At(5), false).Refused()

	s := &store{jobs: map[string]Observed{}}
	s.put("delayed", "delayed", 1000, 0)
	s.put("relative", "delayed", 150, 0)
	s.put("moved", "delayed", 2000, 0)
	s.put("leased", "leased", 5, 1)
	s.c.Leased, s.c.Delayed = 1, 3
	s.c.Acked, s.c.Cancelled, s.c.Added = 1, 1, 6
	return l, s
}

type store struct {
	jobs map[string]Observed
	c    Counters
}

// put puts a job in as delayed, as far as the counters go.
func (s *store) put(id, state string, due int64, attempt int) {
	s.jobs[id] = Observed{true, state, due, attempt}
	s.c.Delayed++
}

func (s *store) look(id string) (Observed, error) { return s.jobs[id], nil }
func (s *store) counters() (Counters, error)      { return s.c, nil }
