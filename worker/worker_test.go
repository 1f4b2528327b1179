package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/redis/go-redis/v9"
)

// replyError is an error reply as go-redis gives it.
type replyError string

func (e replyError) Error() string { return string(e) }
func (replyError) RedisError()     {}

var _ redis.Error = replyError("")

func TestStandingOfErrors(t *testing.T) {
	for text, want := range map[string]standing{
		"LOADING dqd is loading":              notDone,
		"TRYAGAIN no leader":                  notDone,
		"CLUSTERDOWN no quorum":               notDone,
		"READONLY NOTLEADER leader=a:1":       notDone,
		"BUSY too many clients wait":          notDone,
		"MISCONF the disk is full":            notDone,
		"OOM memory":                          notDone,
		"ERR max number of clients reached":   notDone,
		"UNBLOCKED client unblocked":          notDone,
		"INDOUBT may have happened":           unknown,
		"WRONGPASS invalid":                   hopeless,
		"NOAUTH Authentication required.":     hopeless,
		"NOPERM no":                           hopeless,
		"BADTIME LEASE":                       hopeless,
		"BADID queue name":                    hopeless,
		"CROSSSLOT":                           hopeless,
		"ERR unknown command 'DQMPOP'":        hopeless,
		"ERR max-something else is not right": hopeless,
	} {
		if got := standingOf(fmt.Errorf("init: %w", replyError(text))); got != want {
			t.Errorf("%s stands as %d, want %d", text, got, want)
		}
	}
	for _, err := range []error{io.EOF, context.DeadlineExceeded, redis.ErrClosed} {
		if got := standingOf(err); got != unknown {
			t.Errorf("%v stands as %d", err, got)
		}
	}
}

func TestDurations(t *testing.T) {
	for d, want := range map[time.Duration]int64{
		-time.Hour: 0, 0: 0, 1: 1, time.Millisecond: 1, time.Millisecond + 1: 2, 1500 * time.Microsecond: 2, math.MaxInt64: math.MaxInt64/1_000_000 + 1,
	} {
		if got := ms(d); got != want {
			t.Errorf("%v is %d ms, want %d", d, got, want)
		}
	}
}

func TestReasonIsCut(t *testing.T) {
	if got := reason(errors.New(strings.Repeat("x", 5000))); len(got) != 1024 {
		t.Errorf("%d bytes", len(got))
	}
}

func TestBadOptions(t *testing.T) {
	good := func() Options {
		return Options{Redis: &redis.Options{}, Queues: []Queue{{Name: "q"}}, Handle: func(context.Context, *Job) error { return nil }}
	}
	for want, spoil := range map[string]func(*Options){
		"Redis is nil":           func(o *Options) { o.Redis = nil },
		"Handle is nil":          func(o *Options) { o.Handle = nil },
		"0 queues":               func(o *Options) { o.Queues = nil },
		"1001 queues":            func(o *Options) { o.Queues = make([]Queue, 1001) },
		`"q" is given twice`:     func(o *Options) { o.Queues = []Queue{{Name: "q"}, {Name: "q"}} },
		"is 1001: give 1 to":     func(o *Options) { o.Queues[0].Weight = 1001 },
		"is -1: give 1 to":       func(o *Options) { o.Queues[0].Weight = -1 },
		"Concurrency is -1":      func(o *Options) { o.Concurrency = -1 },
		"Concurrency is 10001":   func(o *Options) { o.Concurrency = 10_001 },
		"Lease is 1µs":           func(o *Options) { o.Lease = time.Microsecond },
		"Grace is -1s: give at ": func(o *Options) { o.Grace = -time.Second },
	} {
		o := good()
		spoil(&o)
		if err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Run returns %v, want %s", err, want)
		}
	}
	o := good()
	o.Concurrency, o.Queues[0].Weight = MaxConcurrency, MaxWeight
	if o, err := o.complete(); err != nil || o.Grace != DefaultGrace || o.Name == "" || o.Log == nil {
		t.Errorf("%+v, %v", o, err)
	}
}

// What DQMPOP should never answer is an error, and no panic.
func TestStrangeReplies(t *testing.T) {
	fine := []any{"q", "id", "payload", int64(1), int64(1), int64(0), map[any]any{
		"due-ns": "0", "late-us": int64(0), "created": int64(0), "lease-until": int64(30_000), "max-attempts": int64(25), "pri": int64(128),
		"meta": []any{}, "reason": nil,
	}}
	jobs, err := readJobs([]any{fine})
	if err != nil || jobs[0].lease != 30*time.Second {
		t.Fatalf("%+v, %v", jobs, err)
	}
	for i := range 7 {
		spoilt := append([]any(nil), fine...)
		spoilt[i] = errors.New("x")
		if _, err := readJobs([]any{spoilt}); err == nil && i != 5 { // due is read from due-ns
			t.Errorf("element %d is not missed", i)
		}
	}
	for _, reply := range []any{nil, "x", []any{}, fine[:6]} {
		if _, err := readJobs([]any{reply}); err == nil {
			t.Errorf("%v is a job", reply)
		}
	}
}

// docs/workers.md has exactly the metrics that there are.
func TestMetricsAreDocumented(t *testing.T) {
	document, err := os.ReadFile("../docs/workers.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| `(dqd_worker_[a-z_]+)` \\| ([a-z]+) \\|.* \\| (.*) \\|$").FindAllStringSubmatch(string(document), -1)
	m := NewMetrics()
	m.took(&Job{Queue: "q"})
	m.settled("q", acked)
	m.handled("q", time.Second)
	m.extended("q")
	m.leaseLost("q")
	m.panicked("\xff")
	m.failed("pop")
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
	list, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != len(list) {
		t.Fatalf("%d metrics are documented of %d", len(rows), len(list))
	}
	problems, err := promlint.NewWithMetricFamilies(list).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
	slices.SortFunc(rows, func(a, b []string) int { return strings.Compare(a[1], b[1]) }) // as the others are
	for i, row := range rows {
		f := list[i]
		if row[1] != f.GetName() || strings.ToLower(f.GetType().String()) != row[2] || !strings.HasPrefix(row[3], f.GetHelp()) {
			t.Errorf("%s is a %v, %q; documented is a %s, %q", row[1], f.GetType(), f.GetHelp(), row[2], row[3])
		}
	}
}

// Shares at random: while all queues have jobs no queue is ever behind its share
// by more than the largest pop; whatever was idle before.
func TestShares(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		queues := make([]Queue, 1+r.IntN(6))
		sum := 0
		for i := range queues {
			queues[i] = Queue{fmt.Sprint(i), 1 + r.IntN(16)}
			sum += queues[i].Weight
		}
		s := newShares(queues)
		for range r.IntN(50) { // some have jobs, some not
			var jobs []*Job
			order := s.order()
			i := order[r.IntN(len(order))]
			for range r.IntN(20) {
				jobs = append(jobs, &Job{Queue: queues[i].Name})
			}
			s.served(order, jobs)
		}
		largest := 1 + r.IntN(10)
		got, total := make([]int, len(queues)), 0
		for range 500 {
			order, n := s.order(), 1+r.IntN(largest)
			var jobs []*Job
			for range n {
				jobs = append(jobs, &Job{Queue: queues[order[0]].Name})
			}
			got[order[0]] += n
			total += n
			s.served(order, jobs)
		}
		for i, q := range queues {
			// What it was ahead or behind at the beginning is a pop of 20 at most, times
			// the weights of the others.
			if want := total * q.Weight / sum; got[i] < want-(20+largest)*16 {
				t.Fatalf("seed %d: queue %d of %v had %d of %d jobs, its share is %d", seed, i, queues, got[i], total, want)
			}
		}
	}
}
