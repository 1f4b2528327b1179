package worker

import (
	"context"
	"errors"
	"time"
)

var errCodes = errors.New("worker: the server answered another number of codes than asked for")

// settle sends what settles a job, again if need be, and frees the job's place. It
// goes on for one lease time; then the lease has ended, and the job comes back by
// itself.
func (r *runner) settle(j *Job, s settlement) {
	defer r.release()
	ctx, cancel := context.WithTimeout(r.calls, max(j.lease, time.Second))
	defer cancel()
	var pause backoff
	mayBeDone := false // an earlier try may have been done
	for {
		code, err := r.codeOf(ctx, s.command)
		if err == nil {
			result := s.result
			switch {
			case code == codeDone, code == codeNoJob && s.result == acked && mayBeDone:
				r.tell(j, s)
			default:
				result = lost
				r.Log.Warn("a job was not this worker's any more when it was settled", "as", s.result, "queue", j.Queue, "id", j.ID, "token", j.Token, "code", code, "handler-err", s.err)
			}
			r.Metrics.settled(j.Queue, result)
			return
		}
		r.Metrics.failed("settle")
		standing := standingOf(err)
		mayBeDone = mayBeDone || standing == unknown
		if standing == hopeless || !pause.wait(ctx) {
			r.Metrics.settled(j.Queue, unsettled)
			r.Log.Error("a job is not settled: it comes back when its lease ends", "as", s.result, "queue", j.Queue, "id", j.ID, "token", j.Token, "err", err, "handler-err", s.err)
			return
		}
	}
}

// tell logs what became of a job that failed.
func (r *runner) tell(j *Job, s settlement) {
	about := []any{"queue", j.Queue, "id", j.ID, "attempt", j.Attempt, "max-attempts", j.MaxAttempts, "err", s.err}
	switch {
	case s.result == dead:
		r.Log.Error("a job failed for good: it is dead", about...)
	case s.result == retried && j.lastAttempt():
		r.Log.Error("a job failed, and its attempts are used up: it is dead", about...)
	case s.result == retried:
		r.Log.Warn("a job failed: it comes back", about...)
	}
}

// codeOf sends a command and returns its code, alone or as the only one of a list.
func (r *runner) codeOf(ctx context.Context, command []any) (int64, error) {
	reply, err := r.rdb.Do(ctx, command...).Result()
	if err != nil {
		return 0, err
	}
	if list, ok := reply.([]any); ok && len(list) == 1 {
		reply = list[0]
	}
	code, ok := reply.(int64)
	if !ok {
		return 0, errCodes
	}
	return code, nil
}
