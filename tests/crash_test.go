package tests

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dqd/persist"
	"dqd/persist/record"
	"dqd/tests/dqdtest"
	"dqd/tests/ledger"
	"dqd/tests/script"
)

// TestNothingAcknowledgedIsLostByKill9 kills the program with SIGKILL at random
// moments under load, starts it again on the same data, and holds it to what it
// had acknowledged. More rounds: go test ./tests -run Kill9 -rounds 500
func TestNothingAcknowledgedIsLostByKill9(t *testing.T) {
	const queue, workers = "kill", 8
	random := newRandom(t)
	book := ledger.New()
	server := dqdtest.Start(t, dqdtest.Options{})
	for round := range *rounds {
		l := &load{t: t, addr: server.Addr, queue: queue, book: book, round: round,
			stopAfter: 50 + random.Int64N(2000), reached: make(chan struct{})}
		var wg sync.WaitGroup
		for w := range workers {
			r := rand.New(rand.NewPCG(random.Uint64(), uint64(w)))
			wg.Go(func() { l.work(w, r) })
		}
		select {
		case <-l.reached:
		case <-time.After(2 * dqdtest.Deadline):
			t.Fatalf("round %d: only %d operations were answered", round, l.answered.Load())
		case <-server.Ended():
			t.Fatalf("round %d: the server ended by itself:\n%s", round, server.Log())
		}
		server.Kill()
		wg.Wait()
		verifyStore(t, server.Dir, false)
		t.Logf("round %d: killed after %d answers; %s", round, l.answered.Load(), book.Summary())
		if err := server.Restart(); err != nil {
			t.Fatalf("round %d: start after kill -9: %v", round, err)
		}
		checkLedger(t, server, book, queue, round)
	}
	drain(t, server, book, queue)
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	verifyStore(t, server.Dir, true) // a graceful end writes everything out
}

// verifyStore checks the state store that a killed program left: it is a prefix of
// what was applied, and whole in itself.
//
// Shortly after a kill there may be nothing to check, as the log has it all.
func verifyStore(t *testing.T, dir string, written bool) {
	t.Helper()
	state, err := persist.OpenState(filepath.Join(dir, "shard-0", "state"), persist.StateOptions{MustExist: true})
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	switch _, ok, err := state.Get(record.AppliedKey()); {
	case err != nil:
		t.Fatal(err)
	case !ok && written:
		t.Fatal("the state store is empty")
	case !ok:
		return
	}
	if err := persist.Verify(state); err != nil {
		t.Fatal(err)
	}
}

// load runs workers until enough operations were answered.
type load struct {
	t         *testing.T
	addr      string
	queue     string
	book      *ledger.Ledger
	round     int
	answered  atomic.Int64
	stopAfter int64         // answers
	reached   chan struct{} // closed then
}

func (l *load) count() {
	if l.answered.Add(1) == l.stopAfter {
		close(l.reached)
	}
}

// worker is one client of the load. It ends when its connection does.
type worker struct {
	*load
	name   string
	random *rand.Rand
	conn   *dqdtest.Client
	next   int
	mine   []string // ids that this worker has added and not ended, as far as it knows
}

func (l *load) work(number int, random *rand.Rand) {
	conn, err := dqdtest.Dial(l.addr)
	if err != nil {
		return // killed already
	}
	defer conn.Close()
	w := &worker{load: l, name: fmt.Sprintf("r%d-w%d", l.round, number), random: random, conn: conn}
	for {
		if err := w.step(); err != nil {
			var refused *dqdtest.ReplyError
			if errors.Is(err, errWrongReply) || errors.As(err, &refused) {
				l.t.Error(err)
			} // else the connection ended with the server
			return
		}
	}
}

var errWrongReply = errors.New("wrong reply")

func (w *worker) step() error {
	switch n := w.random.IntN(100); {
	case n < 35:
		return w.add()
	case n < 50:
		return w.addMany()
	case n < 60:
		return w.cancel()
	case n < 75:
		return w.reschedule()
	default:
		return w.popAndAck()
	}
}

// when draws a due time: the words for it, and where it must lie if sent now.
func (w *worker) when() (words [2]string, span func() ledger.Span, relative bool) {
	now := time.Now()
	var ahead time.Duration
	switch w.random.IntN(3) {
	case 0:
		ahead = time.Duration(w.random.IntN(300)) * time.Millisecond
	default:
		ahead = time.Hour + time.Duration(w.random.Int64N(int64(1000*time.Hour)))
	}
	if w.random.IntN(2) == 0 {
		due := now.Add(ahead).UnixNano()
		return [2]string{"AT", strconv.FormatInt(due, 10) + "ns"}, func() ledger.Span { return ledger.At(due) }, false
	}
	// Until the reply is here it may lie anywhere from now on; two seconds are
	// more than a reply takes, and a reply that never comes leaves it so.
	return [2]string{"DELAY", strconv.FormatInt(int64(ahead), 10) + "ns"},
		func() ledger.Span {
			return ledger.Span{From: now.Add(ahead).UnixNano(), To: now.Add(ahead + dqdtest.Deadline).UnixNano()}
		}, true
}

func (w *worker) newID() string {
	w.next++
	return fmt.Sprintf("%s-%d", w.name, w.next)
}

func (w *worker) add() error {
	id := w.newID()
	words, span, relative := w.when()
	args := []string{"DQADD", w.queue, id, payload(w.random), words[0], words[1], "ATTEMPTS", "0", "BACKOFF", "fixed:0"}
	if w.random.IntN(2) == 0 {
		args = append(args, "IDEM")
	}
	op := w.book.Add(id, span(), relative)
	v, err := w.conn.Do(args...)
	if err != nil {
		return err
	}
	if v.Text != id {
		return fmt.Errorf("%w to %v: %s", errWrongReply, args[:3], script.Format(v))
	}
	op.Done()
	w.mine = append(w.mine, id)
	w.count()
	return nil
}

func (w *worker) addMany() error {
	n := 1 + w.random.IntN(20)
	args := []string{"DQMADD", w.queue, "ATTEMPTS", "0", "BACKOFF", "fixed:0", "JOBS", strconv.Itoa(n)}
	var ids []string
	var ops []ledger.Op
	for range n {
		id := w.newID()
		words, span, relative := w.when()
		if relative {
			words[1] = "+" + words[1]
		}
		args = append(args, id, payload(w.random), words[1])
		ids = append(ids, id)
		ops = append(ops, w.book.Add(id, span(), relative))
	}
	v, err := w.conn.Do(args...)
	if err != nil {
		return err
	}
	if len(v.Items) != n {
		return fmt.Errorf("%w to DQMADD: %s", errWrongReply, script.Format(v))
	}
	for _, op := range ops {
		op.Done()
	}
	w.mine = append(w.mine, ids...)
	w.count()
	return nil
}

// pick takes one of the worker's own jobs.
func (w *worker) pick() (id string, ok bool) {
	if len(w.mine) == 0 {
		return "", false
	}
	i := w.random.IntN(len(w.mine))
	return w.mine[i], true
}

func (w *worker) forget(id string) {
	for i, m := range w.mine {
		if m == id {
			w.mine[i] = w.mine[len(w.mine)-1]
			w.mine = w.mine[:len(w.mine)-1]
			return
		}
	}
}

func (w *worker) cancel() error {
	id, ok := w.pick()
	if !ok {
		return nil
	}
	op := w.book.End(id, ledger.Cancelled)
	v, err := w.conn.Must("DQMCANCEL", w.queue, "IDS", "1", id)
	if err != nil {
		return err
	}
	if len(v.Items) == 1 && v.Items[0].Int() == 1 {
		op.Done()
	} else { // leased, or acked already
		op.Refused()
	}
	w.forget(id)
	w.count()
	return nil
}

func (w *worker) reschedule() error {
	id, ok := w.pick()
	if !ok {
		return nil
	}
	words, span, relative := w.when()
	op := w.book.Move(id, span(), relative)
	v, err := w.conn.Must("DQRESCHEDULE", w.queue, id, words[0], words[1])
	if err != nil {
		return err
	}
	if v.Int() == 1 {
		op.Done()
	} else {
		op.Refused()
		w.forget(id)
	}
	w.count()
	return nil
}

// popAndAck takes a few jobs and acks most of them; the others come back when
// their short lease has run out.
func (w *worker) popAndAck() error {
	jobs, err := pop(w.conn, w.book, w.queue, strconv.Itoa(1+w.random.IntN(10)), "1s")
	if err != nil {
		return err
	}
	for _, j := range jobs {
		if w.random.IntN(10) == 0 {
			continue
		}
		if err := ack(w.conn, w.book, w.queue, j); err != nil {
			return err
		}
		w.count()
	}
	return nil
}

type delivery struct{ id, token string }

func pop(c *dqdtest.Client, book *ledger.Ledger, queue, count, lease string) ([]delivery, error) {
	sent := time.Now()
	v, err := c.Must("DQPOP", queue, "COUNT", count, "LEASE", lease, "BLOCK", "20")
	if err != nil {
		return nil, err
	}
	return deliveries(v, book, lease, sent)
}

// deliveries reads the reply of a pop that was sent at the given time, and notes it.
func deliveries(v script.Value, book *ledger.Ledger, lease string, sent time.Time) ([]delivery, error) {
	d, err := time.ParseDuration(lease)
	if err != nil {
		return nil, err
	}
	received := time.Now()
	var jobs []delivery
	for _, tuple := range v.Items {
		if len(tuple.Items) != 6 {
			return nil, fmt.Errorf("%w to DQPOP: %s", errWrongReply, script.Format(v))
		}
		id := tuple.Items[1].Text
		book.Delivered(id, ledger.Delivery{Token: tuple.Items[3].Int(), Due: tuple.Items[5].Int() * 1e6, Lease: d, Sent: sent, Received: received})
		jobs = append(jobs, delivery{id, tuple.Items[3].Text})
	}
	return jobs, nil
}

func ack(c *dqdtest.Client, book *ledger.Ledger, queue string, j delivery) error {
	op := book.End(j.id, ledger.Acked)
	v, err := c.Must("DQACK", queue, j.id, j.token)
	if err != nil {
		return err
	}
	if v.Int() == 1 {
		op.Done()
	} else { // its lease ran out and somebody else took it
		op.Refused()
	}
	return nil
}

// checkLedger holds a restarted server to the ledger.
func checkLedger(t *testing.T, server *dqdtest.Server, book *ledger.Ledger, queue string, round int) {
	t.Helper()
	found, err := audit(server, book, queue)
	if err != nil {
		t.Fatalf("round %d: %v", round, err)
	}
	for i, bad := range found {
		if i == 20 {
			t.Errorf("round %d: and %d more", round, len(found)-i)
			break
		}
		t.Errorf("round %d: %s", round, bad)
	}
	if len(found) > 0 {
		t.FailNow()
	}
}

// audit looks at every job of the ledger, and at the counters.
func audit(server *dqdtest.Server, book *ledger.Ledger, queue string) (found []string, err error) {
	c, err := dqdtest.Dial(server.Addr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	look := func(id string) (ledger.Observed, error) {
		v, err := c.Must("DQGET", queue, id, "state", "due-ns", "attempt")
		if err != nil || len(v.Items) != 3 {
			return ledger.Observed{}, err
		}
		return ledger.Observed{Present: true, State: v.Items[0].Text, DueNs: v.Items[1].Int(), Attempt: int(v.Items[2].Int())}, nil
	}
	counters := func() (ledger.Counters, error) { return readCounters(c, queue) }
	return book.Check(look, counters)
}

func readCounters(c *dqdtest.Client, queue string) (ledger.Counters, error) {
	var k ledger.Counters
	v, err := c.Must("DQSTATS", queue)
	if err != nil {
		return k, err
	}
	for name, into := range map[string]*int64{
		"delayed": &k.Delayed, "ready": &k.Ready, "leased": &k.Leased, "dead": &k.Dead,
		"added": &k.Added, "acked": &k.Acked, "noack": &k.Noack, "cancelled": &k.Cancelled,
		"expired": &k.Expired, "purged": &k.Purged, "pruned": &k.Pruned,
	} {
		field, ok := v.Pick(name)
		if !ok && v.Kind != script.KindNull {
			return k, fmt.Errorf("DQSTATS has no %s", name)
		}
		*into = field.Int()
	}
	return k, nil
}

// drain delivers and acks everything that lives, after which each job must have
// ended exactly once.
func drain(t *testing.T, server *dqdtest.Server, book *ledger.Ledger, queue string) {
	t.Helper()
	c := server.Dial()
	for _, id := range book.Living() {
		now := time.Now().UnixNano()
		op := book.Move(id, ledger.Around(now, dqdtest.Deadline), true)
		v, err := c.Must("DQRESCHEDULE", queue, id, "NOW")
		if err != nil {
			t.Fatal(err)
		}
		if v.Int() == 1 {
			op.Done()
		} else { // leased by a client that was killed with the server
			op.Refused()
		}
	}
	err := dqdtest.WaitFor(3*dqdtest.Deadline, func() error {
		jobs, err := pop(c, book, queue, "1000", "30s")
		if err != nil {
			return dqdtest.Stop(err)
		}
		for _, j := range jobs {
			if err := ack(c, book, queue, j); err != nil {
				return dqdtest.Stop(err)
			}
		}
		v, err := c.Must("DQLEN", queue)
		if err != nil {
			return dqdtest.Stop(err)
		}
		if v.Int() > 0 {
			return fmt.Errorf("%d jobs live", v.Int())
		}
		return nil
	})
	if err != nil {
		t.Fatalf("drain: %v", err)
	}
	checkLedger(t, server, book, queue, *rounds)
	if living := book.Living(); len(living) > 0 {
		t.Errorf("%d jobs were never delivered: %.10q", len(living), living)
	}
}

func payload(r *rand.Rand) string {
	b := make([]byte, r.IntN(600))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return string(b)
}

// newRandom returns the source of a random test, and prints its seed.
func newRandom(t *testing.T) *rand.Rand {
	s := *seed
	for s == 0 {
		s = rand.Uint64()
	}
	t.Logf("replay with -seed %d", s)
	return rand.New(rand.NewPCG(s, 0))
}
