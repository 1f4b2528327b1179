package worker_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"dqd/tests/dqdtest"
)

// The examples run against the program.
func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	code := m.Run()
	examples.end()
	dqdtest.RemoveBinary()
	os.Exit(code)
}

// addr starts the server of the examples, once.
var addr = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "dqd-worker-")
	if err != nil {
		panic(err)
	}
	examples.Cleanup(func() { os.RemoveAll(dir) })
	return dqdtest.Start(&examples, dqdtest.Options{Dir: dir}).Addr
})

func add(server *redis.Options, queue, id, payload string) {
	do(server, "DQADD", queue, id, payload)
}

func get(server *redis.Options, queue, id string, fields ...any) any {
	v := do(server, append([]any{"DQGET", queue, id}, fields...)...)
	if v == nil {
		return []any{}
	}
	return v
}

func do(server *redis.Options, args ...any) any {
	rdb := redis.NewClient(server)
	defer rdb.Close()
	v, err := rdb.Do(context.Background(), args...).Result()
	if err != nil && err != redis.Nil {
		panic(err)
	}
	return v
}

var examples exampleTB

// exampleTB is what a server needs of a test; an example has none.
type exampleTB struct {
	testing.TB
	cleanups []func()
}

func (*exampleTB) Helper()                         {}
func (*exampleTB) Failed() bool                    { return false }
func (e *exampleTB) Cleanup(f func())              { e.cleanups = append(e.cleanups, f) }
func (*exampleTB) Fatalf(text string, args ...any) { panic(fmt.Sprintf(text, args...)) }

func (e *exampleTB) end() {
	for i := len(e.cleanups) - 1; i >= 0; i-- {
		e.cleanups[i]()
	}
}
