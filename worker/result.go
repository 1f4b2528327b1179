package worker

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Causes of a handler's cancelled context; see context.Cause.
var (
	// ErrLeaseLost says that the job is not this worker's any more.
	ErrLeaseLost = errors.New("the lease of the job is lost")
	// ErrStopped says that Run was stopped and its grace time is over.
	ErrStopped = errors.New("the worker is stopped")
)

// Retry is returned by a handler for a job that failed and is to come back after
// a time, rounded up to the millisecond, instead of the queue's backoff. When its
// attempts are used up the job is dead.
func Retry(err error, after time.Duration) error {
	return &verdict{result: retried, err: err, after: after}
}

// Skip is returned by a handler that did not try the job. The job comes back after
// a time, rounded up to the millisecond; the attempt does not count.
func Skip(after time.Duration) error {
	return &verdict{result: skipped, err: errors.New("skipped"), after: after}
}

// Dead is returned by a handler for a job that no attempt will ever do. It is kept
// among the queue's dead, where DQDEAD shows it.
func Dead(err error) error {
	return &verdict{result: dead, err: err}
}

// verdict is an error that says what becomes of the job.
type verdict struct {
	result result
	err    error
	after  time.Duration
}

func (v *verdict) Error() string {
	if v.err == nil {
		return v.result.String()
	}
	return v.err.Error()
}

func (v *verdict) Unwrap() error { return v.err }

// result is what became of a job, as metrics show it.
type result int

const (
	acked     result = iota
	retried          // it comes back after its backoff, or is dead when its attempts are used up
	skipped          // given back by the handler
	dead             // by the handler's word
	returned         // given back because Run was stopped
	lost             // the server refused the token
	unsettled        // no answer to the ack or nack: the lease's end decides
	results
)

var resultNames = [results]string{"acked", "retried", "skipped", "dead", "returned", "lost", "unsettled"}

func (r result) String() string { return resultNames[r] }

// panicked is the error of a handler that panicked.
type panicked struct{ value any }

func (p *panicked) Error() string { return fmt.Sprint("panic: ", p.value) }

// errGoexit is the error of a handler that ended its goroutine.
var errGoexit = errors.New("the handler ended its goroutine with runtime.Goexit")

// settlement is what is sent for a job, and what became of it if that is accepted.
type settlement struct {
	result  result
	command []any
	err     error // of the handler
}

// settlementOf says what to send for a job whose handler returned err; ctx is the
// handler's.
func settlementOf(ctx context.Context, j *Job, err error) settlement {
	if err == nil {
		return settlement{result: acked, command: []any{"DQMACK", j.Queue, "JOBS", 1, j.ID, j.Token}}
	}
	nack := func(r result, options ...any) settlement {
		return settlement{r, append([]any{"DQNACK", j.Queue, j.ID, j.Token}, options...), err}
	}
	var v *verdict
	if errors.As(err, &v) {
		switch v.result {
		case dead:
			return nack(dead, "DEAD", "REASON", reason(err))
		case skipped:
			return nack(skipped, "FREE", "DELAY", ms(v.after))
		}
		return nack(retried, "DELAY", ms(v.after), "REASON", reason(err))
	}
	if context.Cause(ctx) == ErrStopped && (errors.Is(err, context.Canceled) || errors.Is(err, ErrStopped)) {
		return nack(returned, "FREE", "DELAY", 0)
	}
	return nack(retried, "REASON", reason(err))
}

// givenBack is what is sent for a job that no handler has begun.
func givenBack(j *Job) settlement {
	return settlement{result: returned, command: []any{"DQNACK", j.Queue, j.ID, j.Token, "FREE", "DELAY", 0}}
}

// takenBack is what is sent for a job whose handler does not end.
func takenBack(j *Job) settlement {
	return settlement{result: returned, command: []any{"DQNACK", j.Queue, j.ID, j.Token, "DELAY", 0, "REASON", "the worker was stopped, and the handler did not end"}}
}

// reason is the text of an error as far as the server keeps it.
func reason(err error) string {
	const kept = 1024
	text := err.Error()
	return text[:min(len(text), kept)]
}

// ms is a duration for the server, which reads a bare integer as milliseconds:
// rounded up, as nothing may be early, and not negative.
func ms(d time.Duration) int64 {
	n := d.Milliseconds()
	if d%time.Millisecond > 0 {
		n++
	}
	return max(0, n)
}
