package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/redis/go-redis/v9"
)

// Limits of the options.
const (
	MaxConcurrency = 10_000
	MaxQueues      = 1000
	MaxWeight      = 1000
)

// DefaultGrace is the time that running handlers have when Run is stopped.
const DefaultGrace = 10 * time.Second

// Options say what Run does.
type Options struct {
	// Redis says where the server is, with password, TLS and time-outs. Run
	// makes clients of its own with it: retries, the size of the pool and the
	// read time-out of waiting pops are set by Run.
	Redis *redis.Options
	// Queues are taken from together, 1 to MaxQueues, each once.
	Queues []Queue
	// Handle does the work. It is called on up to Concurrency goroutines at a time.
	Handle func(ctx context.Context, job *Job) error
	// Concurrency is how many jobs are held at a time, 1 to MaxConcurrency; 0 = 1.
	Concurrency int
	// Lease is asked for with each pop, at least 1 ms, and cut to the queue's
	// lease-max; 0 = as the job or its queue says.
	Lease time.Duration
	// Grace is how long handlers may go on when Run is stopped, at least 1 ms;
	// 0 = DefaultGrace.
	Grace time.Duration
	// Name is shown by DQGET as the worker of a job, and names it in DQRELEASE,
	// 1 to 255 bytes; "" = the host's name and the process's number.
	Name string
	// Log gets what happens; nil = slog.Default(). A job that failed and comes back
	// is a Warn, one that is dead now an Error, with queue, id, attempt and the
	// handler's error; whether attempts are used up goes by what they were when the job
	// was taken. Payloads are not logged.
	Log *slog.Logger
	// Metrics count what happens; nil = nobody counts.
	Metrics *Metrics
}

// Queue is a queue to take jobs from.
type Queue struct {
	Name string
	// Weight is the queue's share, 1 to MaxWeight, while several queues have more
	// jobs than can be handled; 0 = 1. Every queue gets its share, so none
	// starves; what one leaves goes to the others.
	Weight int
}

// complete returns the options with their defaults, or what is wrong with them.
func (o Options) complete() (Options, error) {
	switch {
	case o.Redis == nil:
		return o, errors.New("worker: Options.Redis is nil: say where the server is, as in &redis.Options{Addr: \"127.0.0.1:7711\"}")
	case o.Handle == nil:
		return o, errors.New("worker: Options.Handle is nil: give the function that does the work")
	case len(o.Queues) < 1 || len(o.Queues) > MaxQueues:
		return o, fmt.Errorf("worker: %d queues: give 1 to %d", len(o.Queues), MaxQueues)
	case o.Concurrency < 0 || o.Concurrency > MaxConcurrency:
		return o, fmt.Errorf("worker: Options.Concurrency is %d: give 1 to %d", o.Concurrency, MaxConcurrency)
	case o.Lease != 0 && o.Lease < time.Millisecond:
		return o, fmt.Errorf("worker: Options.Lease is %v: give at least 1ms, or 0 for the queue's", o.Lease)
	case o.Grace != 0 && o.Grace < time.Millisecond:
		return o, fmt.Errorf("worker: Options.Grace is %v: give at least 1ms, or 0 for %v", o.Grace, DefaultGrace)
	}
	seen := map[string]bool{}
	queues := make([]Queue, len(o.Queues))
	for i, q := range o.Queues {
		if seen[q.Name] {
			return o, fmt.Errorf("worker: queue %q is given twice: give it once, with a weight", q.Name)
		}
		if q.Weight < 0 || q.Weight > MaxWeight {
			return o, fmt.Errorf("worker: the weight of queue %q is %d: give 1 to %d", q.Name, q.Weight, MaxWeight)
		}
		seen[q.Name] = true
		q.Weight = max(q.Weight, 1)
		queues[i] = q
	}
	o.Queues = queues
	o.Concurrency = max(o.Concurrency, 1)
	if o.Grace == 0 {
		o.Grace = DefaultGrace
	}
	if o.Name == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "worker"
		}
		o.Name = fmt.Sprintf("%s-%d", host, os.Getpid())
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o, nil
}

// clients returns the client for pops, whose only connection waits, and that for
// all else.
func (o *Options) clients(onConnect func(context.Context, *redis.Conn) error) (pops, rdb *redis.Client) {
	common := *o.Redis
	common.MaxRetries = -1   // a pop that is sent again takes other jobs
	common.DialerRetries = 1 // Run tries again itself, and has a bound for it
	common.ContextTimeoutEnabled = true
	common.MinIdleConns, common.MaxIdleConns, common.MaxActiveConns = 0, 0, 0

	waiting := common
	waiting.PoolSize = 1
	waiting.ReadTimeout = block + answerTime
	waiting.OnConnect = func(ctx context.Context, c *redis.Conn) error {
		if o.Redis.OnConnect != nil {
			if err := o.Redis.OnConnect(ctx, c); err != nil {
				return err
			}
		}
		return onConnect(ctx, c)
	}
	common.PoolSize = min(o.Concurrency, maxConnections) + 2 // and for extensions and CLIENT UNBLOCK
	return redis.NewClient(&waiting), redis.NewClient(&common)
}

const (
	// block is how long a pop waits for a job.
	block = 5 * time.Second
	// answerTime is how long after that the answer may take.
	answerTime = 5 * time.Second
	// maxConnections bounds the connections for acks and nacks.
	maxConnections = 64
)
