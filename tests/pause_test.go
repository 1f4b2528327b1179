package tests

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"dqd/tests/dqdtest"
	"dqd/tests/ledger"
)

// The process is stopped for longer than go-redis waits for an answer, while jobs
// come due and leases run out, and goes on (F13). Clients with default options see
// no error: they send again, and IDEM makes that safe. No job is lost or early, and
// none is leased twice at a time.
func TestStoppedProcessGoesOn(t *testing.T) {
	const queue, pause = "pause", 3500 * time.Millisecond
	book := ledger.New()
	server := dqdtest.Start(t, dqdtest.Options{})
	w := &pausing{t: t, queue: queue, book: book, rdb: redis.NewClient(&redis.Options{Addr: server.Addr})}
	defer w.rdb.Close()

	// Leases that run out before, in and after the pause, and jobs due all along.
	for n := range 30 {
		w.add(fmt.Sprint("leased-", n), time.Now())
	}
	for _, lease := range []string{"500ms", "2s", "6s"} {
		if jobs, err := w.pop(lease, "COUNT", 10); err != nil || len(jobs) != 10 {
			t.Fatalf("%d jobs, %v", len(jobs), err)
		}
	}
	begin := time.Now()
	for n := range 300 {
		w.add(fmt.Sprint("due-", n), begin.Add(time.Duration(n)*20*time.Millisecond))
	}
	for n := range 100 {
		w.add(fmt.Sprint("later-", n), begin.Add(time.Hour))
	}

	ctx, cancel := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	for n := range 4 {
		clients.Go(func() { w.produce(ctx, n) })
		clients.Go(func() { w.consume(ctx) })
	}
	defer clients.Wait()
	defer cancel()
	w.handles(10)

	if err := server.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	over := time.After(pause)
	stopped := func() error { return isStopped(server.Pid()) }
	if err := dqdtest.WaitFor(dqdtest.Deadline, stopped); err != nil {
		t.Fatal(err)
	}
	before := w.count()
	<-over
	if err := stopped(); err != nil {
		t.Errorf("after the pause: %v", err)
	}
	// What was on its way when the process stopped may still arrive.
	if n := w.count() - before; n > 8*10 {
		t.Errorf("a stopped process answered %d commands", n)
	}
	if err := server.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	w.handles(w.count() + 200)
	cancel()
	clients.Wait()
	drain(t, server, book, queue)
	c := server.Dial()
	if v, err := c.Must("DQSTATS", queue); err != nil {
		t.Error(err)
	} else if n, ok := v.Pick("lease-timeouts"); !ok || n.Int() < 20 {
		t.Errorf("only %d leases ran out", n.Int())
	}
}

// isStopped returns an error unless a process is stopped by a signal.
func isStopped(pid int) error {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return err
	}
	_, state, _ := bytes.Cut(stat, []byte(") "))
	if !bytes.HasPrefix(state, []byte("T")) {
		return fmt.Errorf("the process is not stopped: its state is %.1s", state)
	}
	return nil
}

// pausing is a go-redis client whose server stops for a while.
type pausing struct {
	t     *testing.T
	queue string
	book  *ledger.Ledger
	rdb   *redis.Client

	mu   sync.Mutex
	done int // commands answered
}

func (w *pausing) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.done
}

func (w *pausing) answered() {
	w.mu.Lock()
	w.done++
	w.mu.Unlock()
}

// handles waits until n commands were answered.
func (w *pausing) handles(n int) {
	w.t.Helper()
	err := dqdtest.WaitFor(2*dqdtest.Deadline, func() error {
		if got := w.count(); got < n {
			return fmt.Errorf("%d commands were answered, want %d", got, n)
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// add adds a job; go-redis may send it more than once.
func (w *pausing) add(id string, due time.Time) {
	ns := due.UnixNano()
	op := w.book.Add(id, ledger.At(ns), false)
	got, err := w.rdb.Do(context.Background(), "DQADD", w.queue, id, "x", "AT", fmt.Sprint(ns, "ns"), "ATTEMPTS", 0, "BACKOFF", "fixed:0", "IDEM").Text()
	if err != nil || got != id {
		w.t.Errorf("DQADD %s: %q, %v", id, got, err)
		return
	}
	op.Done()
	w.answered()
}

// pop takes jobs; a pop that go-redis gave up may have taken some, which come back
// when their lease is over.
func (w *pausing) pop(lease string, options ...any) ([]delivery, error) {
	length, err := time.ParseDuration(lease)
	if err != nil {
		return nil, err
	}
	sent := time.Now()
	tuples, err := w.rdb.Do(context.Background(), append([]any{"DQPOP", w.queue, "LEASE", lease}, options...)...).Slice()
	if errors.Is(err, redis.Nil) {
		err = nil
	}
	received := time.Now()
	var jobs []delivery
	for _, tuple := range tuples {
		f := tuple.([]any)
		id, token := f[1].(string), f[3].(int64)
		w.book.Delivered(id, ledger.Delivery{Token: token, Due: f[5].(int64) * 1e6, Lease: length, Sent: sent, Received: received})
		jobs = append(jobs, delivery{id, fmt.Sprint(token)})
	}
	return jobs, err
}

func (w *pausing) produce(ctx context.Context, n int) {
	for i := 0; ctx.Err() == nil; i++ {
		w.add(fmt.Sprintf("new-%d-%d", n, i), time.Now().Add(time.Duration(i%50)*10*time.Millisecond))
	}
}

func (w *pausing) consume(ctx context.Context) {
	for ctx.Err() == nil {
		jobs, err := w.pop("1s", "COUNT", 3, "BLOCK", "200ms")
		if err != nil {
			w.t.Errorf("DQPOP: %v", err)
			return
		}
		for _, j := range jobs {
			op := w.book.End(j.id, ledger.Acked)
			acked, err := w.rdb.Do(context.Background(), "DQACK", w.queue, j.id, j.token).Int()
			switch {
			case err != nil:
				w.t.Errorf("DQACK: %v", err)
			case acked == 1:
				op.Done()
			} // 0: it was sent twice and the first one counted, or the lease was over; the next look tells
			w.answered()
		}
	}
}
