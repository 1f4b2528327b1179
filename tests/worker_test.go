package tests

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	work "dqd/worker"
)

// What a handler returns decides what becomes of the job.
func TestWorkerSettlesByReturnValue(t *testing.T) {
	inWorkshop(t, "", func(w *workshop) {
		results := map[string]error{
			"done":   nil,
			"failed": errors.New("no route"),
			"later":  fmt.Errorf("in the shop: %w", work.Retry(errors.New("busy"), 90*time.Second)),
			"skip":   work.Skip(time.Minute),
			"dead":   fmt.Errorf("in the shop: %w", work.Dead(errors.New("no such order"))),
		}
		stop := w.employ(work.Options{Concurrency: 3, Handle: func(ctx context.Context, job *work.Job) error {
			switch job.ID {
			case "panic":
				panic("out of ink")
			case "goexit":
				runtime.Goexit()
			}
			return results[job.ID]
		}}, nil)
		for id := range results {
			w.do("DQADD", "q", id, "x", "BACKOFF", "fixed:1h")
		}
		w.do("DQADD", "q", "panic", "x", "BACKOFF", "fixed:1h")
		w.do("DQADD", "q", "goexit", "x", "BACKOFF", "fixed:1h")
		synctest.Wait()
		now := time.Now()
		w.expect("<nil>", "DQGET", "q", "done")
		for _, c := range []struct {
			id, state, reason string
			attempt           int
			after             time.Duration
		}{
			{"failed", "delayed", "no route", 1, time.Hour},
			{"later", "delayed", "in the shop: busy", 1, 90 * time.Second},
			{"skip", "delayed", "<nil>", 0, time.Minute},
			{"panic", "delayed", "panic: out of ink", 1, time.Hour},
			{"goexit", "delayed", "the handler ended its goroutine with runtime.Goexit", 1, time.Hour},
		} {
			w.expect(fmt.Sprint([]any{c.state, c.reason, c.attempt, now.Add(c.after).UnixMilli()}), "DQGET", "q", c.id, "state", "reason", "attempt", "due")
		}
		w.expect("[dead in the shop: no such order]", "DQGET", "q", "dead", "state", "reason")
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// A job that failed is logged: a warning if it comes back, an error if it is dead.
func TestWorkerLogsFailures(t *testing.T) {
	inWorkshop(t, "", func(w *workshop) {
		var log bytes.Buffer
		stop := w.employ(work.Options{
			Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.TimeKey {
					return slog.Attr{}
				}
				return a
			}})),
			Handle: func(ctx context.Context, job *work.Job) error {
				switch job.ID {
				case "dead":
					return work.Dead(errors.New("no such order"))
				case "skip":
					if job.Created.Equal(job.Due) {
						return work.Skip(time.Minute)
					}
					return nil
				case "done":
					return nil
				}
				return errors.New("no route")
			},
		}, nil)
		for _, id := range []string{"done", "dead", "skip", "failed"} {
			w.do("DQADD", "q", id, "secret", "ATTEMPTS", 2, "BACKOFF", "fixed:1s")
			synctest.Wait()
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		w.expect("[dead]", "DQGET", "q", "failed", "state")
		if err := stop(); err != nil {
			t.Error(err)
		}
		const want = `level=ERROR msg="a job failed for good: it is dead" queue=q id=dead attempt=1 max-attempts=2 err="no such order"
level=WARN msg="a job failed: it comes back" queue=q id=failed attempt=1 max-attempts=2 err="no route"
level=ERROR msg="a job failed, and its attempts are used up: it is dead" queue=q id=failed attempt=2 max-attempts=2 err="no route"
level=INFO msg="worker stops" running=0 grace=10s
`
		if log.String() != want {
			t.Errorf("it logs\n%swant\n%s", log.String(), want)
		}
	})
}

// The job has what the server knows of it, in both versions of the protocol.
func TestWorkerJob(t *testing.T) {
	for _, protocol := range []int{2, 3} {
		t.Run(fmt.Sprint("RESP", protocol), func(t *testing.T) {
			inWorkshop(t, "", func(w *workshop) {
				created := time.Now()
				w.do("DQADD", "q", "\x00id", "\xffpayload", "DELAY", "10s", "PRI", 7, "ATTEMPTS", 3, "BACKOFF", "fixed:5s", "META", "shop", "north")
				options := w.redis(nil)
				options.Protocol = protocol
				var jobs []*work.Job
				stop := w.employ(work.Options{Redis: options, Handle: func(ctx context.Context, job *work.Job) error {
					jobs = append(jobs, job)
					if job.Attempt == 1 {
						return errors.New("first")
					}
					return nil
				}}, nil)
				time.Sleep(20 * time.Second)
				stop()
				if len(jobs) != 2 {
					t.Fatalf("%d deliveries", len(jobs))
				}
				for i, j := range jobs {
					if j.Queue != "q" || j.ID != "\x00id" || string(j.Payload) != "\xffpayload" || j.Attempt != i+1 || j.MaxAttempts != 3 || j.Priority != 7 ||
						len(j.Meta) != 1 || j.Meta["shop"] != "north" || j.Reason != []string{"", "first"}[i] ||
						j.Created.UnixMilli() != created.UnixMilli() || j.Due.UnixNano() != created.Add(time.Duration(10+5*i)*time.Second).UnixNano() {
						t.Errorf("delivery %d: %+v", i, j)
					}
				}
				if jobs[0].Token >= jobs[1].Token {
					t.Errorf("tokens %d, %d", jobs[0].Token, jobs[1].Token)
				}
			})
		})
	}
}

// A lease is extended at half its time, those of one queue in one command.
func TestWorkerExtendsLeases(t *testing.T) {
	inWorkshop(t, "", func(w *workshop) {
		m := work.NewMetrics()
		stop := w.employ(work.Options{Concurrency: 5, Metrics: m, Handle: func(ctx context.Context, job *work.Job) error {
			time.Sleep(95 * time.Second)
			return ctx.Err()
		}}, nil)
		for i := range 5 {
			w.do("DQADD", "q", fmt.Sprint("job-", i), "x")
		}
		time.Sleep(94 * time.Second)
		w.expect("[leased 1]", "DQGET", "q", "job-0", "state", "attempt")
		calls := w.do("INFO", "commandstats").(string)
		if !strings.Contains(calls, "cmdstat_dqmextend:calls=6,") { // at 15, 30, 45, 60, 75, 90 s
			t.Errorf("INFO commandstats says %s", calls)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		w.expect("0", "DQLEN", "q")
		expectCount(t, m, "dqd_worker_lease_extensions_total", "q", 30)
		expectCount(t, m, "dqd_worker_jobs_settled_total", "acked", 5)
		expectCount(t, m, "dqd_worker_leases_lost_total", "q", 0)
	})
}

// A handler whose job is taken from it hears of it with the next extension.
func TestWorkerHearsThatTheLeaseIsLost(t *testing.T) {
	inWorkshop(t, "", func(w *workshop) {
		m := work.NewMetrics()
		began := time.Now()
		var after time.Duration
		var cause error
		stop := w.employ(work.Options{Metrics: m, Handle: func(ctx context.Context, job *work.Job) error {
			<-ctx.Done()
			after, cause = time.Since(began), context.Cause(ctx)
			return ctx.Err()
		}}, nil)
		w.do("DQADD", "q", "a", "x", "LEASE", "20s")
		time.Sleep(time.Second)
		w.expect("[1]", "DQMCANCEL", "q", "FORCE", "IDS", 1, "a")
		time.Sleep(time.Minute)
		synctest.Wait()
		if cause != work.ErrLeaseLost || after != 10*time.Second {
			t.Errorf("after %v: %v", after, cause)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		expectCount(t, m, "dqd_worker_jobs_settled_total", "lost", 1)
		expectCount(t, m, "dqd_worker_leases_lost_total", "q", 1)
	})
}

// A worker that loses the server loses its lease when it ends, not later: another
// takes the job over, and the first one's ack changes nothing.
func TestWorkerIsTakenOver(t *testing.T) {
	inWorkshop(t, "", func(w *workshop) {
		m := work.NewMetrics()
		began := time.Now()
		var after time.Duration
		var tokens []int64
		line := &wire{}
		stopAlice := w.employ(work.Options{Name: "alice", Metrics: m, Handle: func(ctx context.Context, job *work.Job) error {
			tokens = append(tokens, job.Token)
			line.cut()
			<-ctx.Done()
			after = time.Since(began)
			if context.Cause(ctx) != work.ErrLeaseLost {
				t.Errorf("the cause is %v", context.Cause(ctx))
			}
			time.Sleep(10 * time.Second) // it takes its time
			line.mend()
			return nil
		}}, line)
		w.do("DQADD", "q", "a", "x", "BACKOFF", "fixed:1s")
		synctest.Wait()
		stopBob := w.employ(work.Options{Name: "bob", Handle: func(ctx context.Context, job *work.Job) error {
			tokens = append(tokens, job.Token)
			w.expect("[bob 2]", "DQGET", "q", "a", "worker", "attempt")
			time.Sleep(20 * time.Second)
			return ctx.Err()
		}}, nil)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if after != 30*time.Second {
			t.Errorf("alice heard after %v that her lease is lost", after)
		}
		if len(tokens) != 2 || tokens[0] >= tokens[1] {
			t.Errorf("tokens %v", tokens)
		}
		for _, stop := range []func() error{stopAlice, stopBob} {
			if err := stop(); err != nil {
				t.Error(err)
			}
		}
		expectCount(t, m, "dqd_worker_jobs_settled_total", "lost", 1)
		v := w.do("DQSTATS", "q").(map[any]any)
		if v["acked"] != int64(1) || v["delivered"] != int64(2) || v["lease-timeouts"] != int64(1) {
			t.Errorf("DQSTATS says %v", v)
		}
	})
}

// A lease cannot be made longer than lease-max, whether it was asked for or extended.
func TestWorkerLeaseMax(t *testing.T) {
	for _, c := range []struct{ lease, after time.Duration }{
		{0, 30 * time.Second}, // the queue's; 15 s + 30 s are too long
		{time.Hour, 40 * time.Second},
	} {
		t.Run(c.lease.String(), func(t *testing.T) {
			inWorkshop(t, "", func(w *workshop) {
				w.do("DQCONFIG", "SET", "q", "lease", "30s", "lease-max", "40s")
				began := time.Now()
				var after time.Duration
				stop := w.employ(work.Options{Lease: c.lease, Handle: func(ctx context.Context, job *work.Job) error {
					if job.Attempt > 1 {
						return work.Dead(nil)
					}
					<-ctx.Done()
					after = time.Since(began)
					return context.Cause(ctx)
				}}, nil)
				w.do("DQADD", "q", "a", "x")
				time.Sleep(time.Minute)
				synctest.Wait()
				if after != c.after {
					t.Errorf("its lease is over after %v, want %v", after, c.after)
				}
				stop()
			})
		})
	}
}

// What runs when the worker is stopped may come to its end.
func TestWorkerDrains(t *testing.T) {
	inWorkshop(t, "", func(w *workshop) {
		m := work.NewMetrics()
		release := make(chan struct{})
		stop := w.employ(work.Options{Concurrency: 4, Grace: 20 * time.Second, Metrics: m, Handle: func(ctx context.Context, job *work.Job) error {
			switch job.ID {
			case "short":
				time.Sleep(12 * time.Second)
				return ctx.Err()
			case "long":
				<-ctx.Done()
				if context.Cause(ctx) != work.ErrStopped {
					t.Errorf("the cause is %v", context.Cause(ctx))
				}
				return ctx.Err()
			case "failing":
				<-ctx.Done()
				return errors.New("no route")
			default:
				<-release // and does not look at its context
				return nil
			}
		}}, nil)
		for _, id := range []string{"short", "long", "failing", "deaf"} {
			w.do("DQADD", "q", id, "x", "LEASE", "4s", "BACKOFF", "fixed:1h")
		}
		time.Sleep(time.Second)
		w.expect("4", "DQLEN", "q", "STATE", "leased")
		began := time.Now()
		err := stop()
		if err == nil || !strings.Contains(err.Error(), "1 handlers did not end") {
			t.Errorf("Run returns %v", err)
		}
		if took := time.Since(began); took != 21*time.Second {
			t.Errorf("it took %v", took)
		}
		w.expect("<nil>", "DQGET", "q", "short")
		w.expect("[ready 0]", "DQGET", "q", "long", "state", "attempt")
		w.expect("[delayed 1 no route]", "DQGET", "q", "failing", "state", "attempt", "reason")
		w.expect("[ready 1]", "DQGET", "q", "deaf", "state", "attempt")
		expectCount(t, m, "dqd_worker_jobs_settled_total", "returned", 2)
		expectCount(t, m, "dqd_worker_jobs_held", "q", 0)
		close(release)
		synctest.Wait()
		w.expect("[ready 1]", "DQGET", "q", "deaf", "state", "attempt")
	})
}

// An idle worker stops at once, although its pop waits for some seconds.
func TestWorkerStopsAtOnce(t *testing.T) {
	inWorkshop(t, "", func(w *workshop) {
		stop := w.employ(work.Options{Handle: func(context.Context, *work.Job) error { return nil }}, nil)
		time.Sleep(7 * time.Second)
		began := time.Now()
		if err := stop(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("it took %v", took)
		}
	})
}

// A job that arrives when the worker is being stopped is given back, untried.
func TestWorkerGivesBackWhatArrivesLate(t *testing.T) {
	inWorkshop(t, "", func(w *workshop) {
		gate := &gated{Conn: nil, open: make(chan struct{})}
		options := w.redis(nil)
		dial := options.Dialer
		options.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := dial(ctx, network, addr)
			return &gated{Conn: c, open: gate.open}, err
		}
		stop := w.employ(work.Options{Redis: options, Handle: func(_ context.Context, job *work.Job) error {
			t.Errorf("%s is handled", job.ID)
			return nil
		}}, nil)
		synctest.Wait()
		w.do("DQADD", "q", "a", "late")
		w.expect("[leased]", "DQGET", "q", "a", "state")
		time.AfterFunc(time.Second, func() { close(gate.open) })
		if err := stop(); err != nil {
			t.Error(err)
		}
		w.expect("[ready 0]", "DQGET", "q", "a", "state", "attempt")
	})
}

// gated is a connection on which jobs arrive only when a gate is open.
type gated struct {
	net.Conn
	open chan struct{}
}

func (g *gated) Read(b []byte) (int, error) {
	n, err := g.Conn.Read(b)
	if strings.Contains(string(b[:n]), "late") {
		<-g.open
	}
	return n, err
}

// Queues share by weight while all have jobs, exactly; none starves, and one that
// has nothing to do leaves its share to the others.
func TestWorkerWeights(t *testing.T) {
	r := newRandom(t)
	inWorkshop(t, "", func(w *workshop) {
		queues := []work.Queue{{Name: "idle", Weight: 16}}
		sum := 0
		for i := range 2 + r.IntN(4) {
			q := work.Queue{Name: fmt.Sprint("q", i), Weight: 1 + r.IntN(16)}
			sum += q.Weight
			queues = append(queues, q)
		}
		const turns = 3
		for _, q := range queues[1:] {
			for i := range turns*sum + 1 {
				w.do("DQADD", q.Name, fmt.Sprint(i), "x")
			}
		}
		got := map[string]int{}
		handled := 0
		enough := make(chan struct{})
		stop := w.employ(work.Options{Queues: queues, Handle: func(ctx context.Context, job *work.Job) error {
			if handled == turns*sum {
				<-ctx.Done()
				return ctx.Err()
			}
			got[job.Queue]++
			if handled++; handled == turns*sum {
				close(enough)
			}
			return nil
		}}, nil)
		<-enough
		stop()
		for _, q := range queues[1:] {
			if got[q.Name] != turns*q.Weight {
				t.Errorf("%s of weight %d had %d jobs of %d, want %d", q.Name, q.Weight, got[q.Name], turns*sum, turns*q.Weight)
			}
		}
	})
}

// There are never more handlers than allowed, also when they hang.
func TestWorkerConcurrency(t *testing.T) {
	inWorkshop(t, "", func(w *workshop) {
		var mu sync.Mutex
		running, most, handled := 0, 0, 0
		stop := w.employ(work.Options{Concurrency: 7, Handle: func(ctx context.Context, job *work.Job) error {
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			time.Sleep(time.Duration(1+job.Token%5) * time.Second)
			mu.Lock()
			defer mu.Unlock()
			running--
			handled++
			return nil
		}}, nil)
		for i := range 100 {
			w.do("DQADD", "q", fmt.Sprint(i), "x")
		}
		w.await("all jobs are handled", func() bool { mu.Lock(); defer mu.Unlock(); return handled == 100 })
		stop()
		if most != 7 {
			t.Errorf("%d handlers ran at a time", most)
		}
	})
}

// An ack whose answer is lost is sent again, and what that one says is understood.
func TestWorkerAckAnswerIsLost(t *testing.T) {
	inWorkshop(t, "", func(w *workshop) {
		m := work.NewMetrics()
		options := w.redis(nil)
		dial := options.Dialer
		var breaks sync.Once
		options.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := dial(ctx, network, addr)
			return &deaf{c, &breaks}, err
		}
		stop := w.employ(work.Options{Redis: options, Metrics: m, Handle: func(context.Context, *work.Job) error { return nil }}, nil)
		w.do("DQADD", "q", "a", "x")
		time.Sleep(time.Minute)
		if err := stop(); err != nil {
			t.Error(err)
		}
		w.expect("<nil>", "DQGET", "q", "a")
		expectCount(t, m, "dqd_worker_jobs_settled_total", "acked", 1)
		expectCount(t, m, "dqd_worker_errors_total", "settle", 1)
	})
}

// deaf is a connection that breaks, once, when an ack has been sent.
type deaf struct {
	net.Conn
	breaks *sync.Once
}

func (d *deaf) Write(b []byte) (int, error) {
	n, err := d.Conn.Write(b)
	if strings.Contains(string(b), "DQMACK") {
		d.breaks.Do(func() {
			time.Sleep(time.Second) // the server has it
			d.Conn.Close()
		})
	}
	return n, err
}

// A restart of the server costs no attempt, and an outage longer than the leases
// costs one.
func TestWorkerOutlivesTheServer(t *testing.T) {
	for _, outage := range []time.Duration{0, 10 * time.Minute} {
		t.Run(outage.String(), func(t *testing.T) {
			inWorkshop(t, "", func(w *workshop) {
				line := &wire{}
				m := work.NewMetrics()
				stop := w.employ(work.Options{Concurrency: 10, Metrics: m, Handle: func(ctx context.Context, job *work.Job) error {
					select {
					case <-time.After(10 * time.Second):
						return nil
					case <-ctx.Done():
						return ctx.Err()
					}
				}}, line)
				for i := range 20 {
					w.do("DQADD", "q", fmt.Sprint(i), "x", "LEASE", "8s")
				}
				time.Sleep(5 * time.Second)
				line.cut()
				if err := w.server.stop(); err != nil {
					t.Fatal(err)
				}
				time.Sleep(outage)
				if err := w.server.start(); err != nil {
					t.Fatal(err)
				}
				line.mend()
				w.shell.Close()
				w.shell = redis.NewClient(w.redis(nil))
				w.await("all jobs are done", func() bool { return w.do("DQLEN", "q") == int64(0) })
				if err := stop(); err != nil {
					t.Error(err)
				}
				v := w.do("DQSTATS", "q").(map[any]any)
				timeouts := int64(0)
				if outage > 0 {
					timeouts = 10
				}
				if v["acked"] != int64(20) || v["delivered"] != 20+timeouts || v["lease-timeouts"] != timeouts {
					t.Errorf("DQSTATS says %v", v)
				}
				expectCount(t, m, "dqd_worker_jobs_settled_total", "acked", 20)
				expectCount(t, m, "dqd_worker_jobs_held", "q", 0)
			})
		})
	}
}

// What no repetition mends ends Run, at once and with the server's words.
func TestWorkerEndsWithWhatCannotBeMended(t *testing.T) {
	never := func(context.Context, *work.Job) error { return nil }
	for name, c := range map[string]struct {
		options work.Options
		setup   func(*redis.Options)
		want    string
	}{
		"no password":    {work.Options{}, func(o *redis.Options) { o.Password = "" }, "NOAUTH"},
		"wrong password": {work.Options{}, func(o *redis.Options) { o.Password = "guess" }, "WRONGPASS"},
		"queue name":     {work.Options{Queues: []work.Queue{{Name: strings.Repeat("q", 256)}}}, nil, "BADID"},
		"worker's name":  {work.Options{Name: strings.Repeat("n", 256)}, nil, "BADID"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorkshop(t, "secret", func(w *workshop) {
				o := c.options
				o.Handle = never
				o.Redis = w.redis(nil)
				o.Redis.Password = "secret"
				if c.setup != nil {
					c.setup(o.Redis)
				}
				if o.Queues == nil {
					o.Queues = []work.Queue{{Name: "q"}}
				}
				var log bytes.Buffer
				o.Log = slog.New(slog.NewTextHandler(&log, nil))
				ctx, cancel := context.WithTimeout(w.t.Context(), time.Hour)
				defer cancel()
				err := work.Run(ctx, o)
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("Run returns %v, want %s", err, c.want)
				}
				if text := log.String(); strings.Count(text, c.want) != 1 || !strings.Contains(text, `level=ERROR msg="cannot work: `) || strings.Contains(text, "trying again") {
					t.Errorf("the log says %s", text)
				}
			})
		})
	}
}

// A server that is away is waited for, without end and without haste; and a worker
// that waits for it can be stopped.
func TestWorkerWaitsForTheServer(t *testing.T) {
	inWorkshop(t, "", func(w *workshop) {
		m := work.NewMetrics()
		line := &wire{down: true}
		stop := w.employ(work.Options{Metrics: m, Handle: func(context.Context, *work.Job) error { return nil }}, line)
		w.do("DQADD", "q", "a", "x")
		time.Sleep(time.Hour)
		if tries := counted(t, m, "dqd_worker_errors_total", "pop"); tries < 700 || tries > 730 {
			t.Errorf("%v tries in an hour", tries)
		}
		w.expect("[ready]", "DQGET", "q", "a", "state")
		line.mend()
		time.Sleep(6 * time.Second)
		w.expect("<nil>", "DQGET", "q", "a")
		line.cut()
		time.Sleep(time.Minute)
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}
