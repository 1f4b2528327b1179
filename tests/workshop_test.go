package tests

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"dqd/tests/script"
	work "dqd/worker"
)

// What go-redis says of broken connections is not worth reading here.
func init() { redis.SetLogger(silent{}) }

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// workshop is a server in this process with workers, under virtual time.
type workshop struct {
	t      *testing.T
	server *inProcess
	shell  *redis.Client // what a person types
}

// inWorkshop runs a test in a bubble with a server of its own.
func inWorkshop(t *testing.T, password string, test func(w *workshop)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)))
		config := map[string]string{}
		if password != "" {
			config["requirepass"] = password
		}
		target, err := openInProcess(t, config)
		if err != nil {
			t.Fatal(err)
		}
		w := &workshop{t: t, server: target.(*inProcess)}
		w.shell = redis.NewClient(w.redis(nil))
		w.shell.Options().Password = password
		test(w)
		w.shell.Close()
		time.Sleep(time.Minute) // go-redis looks for a server that was away a little longer
		if err := target.Close(); err != nil {
			t.Error(err)
		}
	})
}

// redis are options for a client of the server, over a wire that can be cut.
func (w *workshop) redis(line *wire) *redis.Options {
	return &redis.Options{
		Addr: "127.0.0.1:7711",
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			return line.dial(w.server)
		},
	}
}

// do is a command whose answer is printed as redis-cli does.
func (w *workshop) do(args ...any) any {
	w.t.Helper()
	v, err := w.shell.Do(w.t.Context(), args...).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		w.t.Fatalf("%v: %v", args, err)
	}
	return v
}

func (w *workshop) expect(want string, args ...any) {
	w.t.Helper()
	if got := fmt.Sprint(w.do(args...)); got != want {
		w.t.Errorf("%v answers %s, want %s", args, got, want)
	}
}

// employ starts a worker. Its end is awaited by stop, which returns Run's error.
func (w *workshop) employ(o work.Options, line *wire) (stop func() error) {
	ctx, cancel := context.WithCancel(w.t.Context())
	if o.Redis == nil {
		o.Redis = w.redis(line)
	}
	if o.Queues == nil {
		o.Queues = []work.Queue{{Name: "q"}}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	ended := make(chan error, 1)
	go func() { ended <- work.Run(ctx, o) }()
	return func() error {
		cancel()
		return <-ended
	}
}

// wire is how a worker reaches the server; nil never breaks.
type wire struct {
	mu    sync.Mutex // guards what follows
	down  bool
	conns []net.Conn
}

var errDown = errors.New("the wire is cut")

func (l *wire) dial(to script.Target) (net.Conn, error) {
	if l == nil {
		return to.Dial()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down {
		return nil, errDown
	}
	c, err := to.Dial()
	if err == nil {
		l.conns = append(l.conns, c)
	}
	return c, err
}

// cut breaks all connections and lets none through.
func (l *wire) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = true
	for _, c := range l.conns {
		c.Close()
	}
	l.conns = nil
}

func (l *wire) mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = false
}

// await waits, in virtual time, until a condition holds.
func (w *workshop) await(what string, condition func() bool) {
	w.t.Helper()
	for range 100_000 {
		synctest.Wait()
		if condition() {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	w.t.Fatalf("not within hours: %s", what)
}

// counted is a sum of what metrics say, of the samples with this label value.
func counted(t *testing.T, m *work.Metrics, name, label string) (sum float64) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(m); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, sample := range f.Metric {
			for _, l := range sample.Label {
				if f.GetName() == name && l.GetValue() == label {
					sum += sample.GetCounter().GetValue() + sample.GetGauge().GetValue()
				}
			}
		}
	}
	return sum
}

func expectCount(t *testing.T, m *work.Metrics, name, label string, want float64) {
	t.Helper()
	if got := counted(t, m, name, label); got != want {
		t.Errorf("%s of %s is %v, want %v", name, label, got, want)
	}
}
