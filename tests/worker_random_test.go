package tests

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	work "dqd/worker"
)

// Workers, cuts and restarts at random: every job ends, none is done under two
// tokens at once, and the counters agree.
func TestWorkersAtRandom(t *testing.T) {
	r := newRandom(t)
	inWorkshop(t, "", func(w *workshop) {
		const jobs = 200
		var (
			mu      sync.Mutex
			fence   = map[string]int64{} // the highest token that had an effect
			metrics []*work.Metrics
			lines   []*wire
			stops   []func() error
		)
		handle := func(ctx context.Context, job *work.Job) error {
			mu.Lock()
			pause := time.Duration(r.IntN(60_000)) * time.Millisecond
			what := r.IntN(8)
			mu.Unlock()
			if what == 0 {
				time.Sleep(pause) // and does not look at its context
			} else {
				select {
				case <-time.After(pause):
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			mu.Lock()
			defer mu.Unlock()
			if job.Token < fence[job.Queue+job.ID] {
				return errors.New("somebody else has taken over")
			}
			fence[job.Queue+job.ID] = job.Token
			switch what {
			case 1:
				return errors.New("failed")
			case 2:
				return work.Retry(errors.New("failed"), pause)
			case 3:
				return work.Skip(pause)
			case 4:
				return work.Dead(errors.New("never"))
			case 5:
				panic("random")
			}
			return nil
		}
		for i := range 3 {
			lines = append(lines, &wire{})
			metrics = append(metrics, work.NewMetrics())
			stops = append(stops, w.employ(work.Options{
				Name: fmt.Sprint("worker-", i), Concurrency: 1 + r.IntN(8), Metrics: metrics[i], Handle: handle,
				Queues: []work.Queue{{Name: "a", Weight: 1 + r.IntN(5)}, {Name: "b"}},
			}, lines[i]))
		}
		for i := range jobs {
			w.do("DQADD", []string{"a", "b"}[i%2], fmt.Sprint(i), "x", "DELAY", fmt.Sprintf("%dms", r.IntN(100_000)), "LEASE", fmt.Sprintf("%dms", 1000+r.IntN(20_000)), "BACKOFF", "fixed:1s", "ATTEMPTS", 0)
		}
		for range 20 {
			mu.Lock()
			pause, i, what := time.Duration(r.IntN(30_000))*time.Millisecond, r.IntN(len(lines)), r.IntN(5)
			mu.Unlock()
			time.Sleep(pause)
			switch what {
			case 0:
				for _, l := range lines {
					l.cut()
				}
				w.shell.Close()
				if err := w.server.Restart(); err != nil {
					t.Fatal(err)
				}
				w.shell = redis.NewClient(w.redis(nil))
				for _, l := range lines {
					l.mend()
				}
			case 1, 2:
				lines[i].cut()
			default:
				lines[i].mend()
			}
		}
		for _, l := range lines {
			l.mend()
		}
		w.await("all jobs have ended", func() bool { return w.do("DQLEN", "a") == int64(0) && w.do("DQLEN", "b") == int64(0) })
		for _, stop := range stops {
			if err := stop(); err != nil && !strings.Contains(err.Error(), "did not end") {
				t.Error(err)
			}
		}
		time.Sleep(time.Hour) // what hangs comes to its end
		var acked, dead int64
		for _, q := range []string{"a", "b"} {
			v := w.do("DQSTATS", q).(map[any]any)
			acked += v["acked"].(int64)
			dead += v["dead"].(int64)
		}
		if acked+dead != jobs || len(fence) != jobs {
			t.Errorf("%d acked, %d dead, %d had an effect; want %d in all", acked, dead, len(fence), jobs)
		}
		var heard float64
		for _, m := range metrics {
			heard += counted(t, m, "dqd_worker_jobs_settled_total", "acked")
			if held := counted(t, m, "dqd_worker_jobs_held", "a") + counted(t, m, "dqd_worker_jobs_held", "b"); held != 0 {
				t.Errorf("%v jobs are held for ever", held)
			}
		}
		if heard > float64(acked) {
			t.Errorf("%v acks were counted, the server had %d", heard, acked)
		}
	})
}
