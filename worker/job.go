package worker

import (
	"fmt"
	"strconv"
	"time"
)

// Job is a delivered job.
type Job struct {
	Queue   string
	ID      string
	Payload []byte
	// Token names this lease of the job. It only grows for a queue and id: hand it
	// to your database as a fence.
	Token int64
	// Attempt is 1 for the first delivery.
	Attempt int
	// MaxAttempts is after how many deliveries the job is dead; 0 = no limit.
	MaxAttempts int
	// Priority is 0 to 255; 0 goes first.
	Priority int
	// Due is when the job was due: the end of the backoff if this is a retry.
	Due time.Time
	// Created is when the job was added, rounded up to the millisecond.
	Created time.Time
	// Meta is what the job was given with META.
	Meta map[string]string
	// Reason is the text of the latest DQNACK, empty if there was none.
	Reason string

	lease time.Duration // how long it is leased from its delivery on
}

// lastAttempt reports that the job is dead if this attempt of it fails.
func (j *Job) lastAttempt() bool { return j.MaxAttempts > 0 && j.Attempt >= j.MaxAttempts }

// readJobs reads the answer to DQMPOP … FULL.
func readJobs(reply []any) ([]*Job, error) {
	jobs := make([]*Job, 0, len(reply))
	for _, item := range reply {
		j, err := readJob(item)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}

func readJob(item any) (*Job, error) {
	tuple, ok := item.([]any)
	if !ok || len(tuple) < 7 {
		return nil, fmt.Errorf("worker: DQMPOP answered %T where a job should be", item)
	}
	r := reader{what: "DQMPOP"}
	j := &Job{
		Queue:   r.text("queue", tuple[0]),
		ID:      r.text("id", tuple[1]),
		Payload: []byte(r.text("payload", tuple[2])),
		Token:   r.integer("token", tuple[3]),
		Attempt: int(r.integer("attempt", tuple[4])),
	}
	more := r.pairs("FULL", tuple[6])
	due := r.nanoseconds("due-ns", more["due-ns"])
	late := r.integer("late-us", more["late-us"]) * 1000
	until := r.integer("lease-until", more["lease-until"]) * 1e6
	j.Due = time.Unix(0, due)
	j.Created = time.UnixMilli(r.integer("created", more["created"]))
	j.MaxAttempts = int(r.integer("max-attempts", more["max-attempts"]))
	j.Priority = int(r.integer("pri", more["pri"]))
	j.Meta = map[string]string{}
	for name, value := range r.pairs("meta", more["meta"]) {
		j.Meta[name] = r.text("meta", value)
	}
	if more["reason"] != nil {
		j.Reason = r.text("reason", more["reason"])
	}
	// It was delivered at due + late. lease-until is rounded up, this is not.
	j.lease = max(time.Duration(until-due-late).Truncate(time.Millisecond), time.Millisecond)
	return j, r.err
}

// reader reads parts of a reply and keeps the first thing that was wrong.
type reader struct {
	what string
	err  error
}

func (r *reader) wrong(name string, v any) {
	if r.err == nil {
		r.err = fmt.Errorf("worker: %s answered %T as %s", r.what, v, name)
	}
}

func (r *reader) text(name string, v any) string {
	s, ok := v.(string)
	if !ok {
		r.wrong(name, v)
	}
	return s
}

func (r *reader) integer(name string, v any) int64 {
	n, ok := v.(int64)
	if !ok {
		r.wrong(name, v)
	}
	return n
}

func (r *reader) nanoseconds(name string, v any) int64 {
	n, err := strconv.ParseInt(r.text(name, v), 10, 64)
	if err != nil {
		r.wrong(name, v)
	}
	return n
}

// pairs reads a map: one in RESP3, a flat array in RESP2.
func (r *reader) pairs(name string, v any) map[string]any {
	m := map[string]any{}
	switch v := v.(type) {
	case map[any]any:
		for k, value := range v {
			m[r.text(name, k)] = value
		}
	case []any:
		for i := 0; i+1 < len(v); i += 2 {
			m[r.text(name, v[i])] = v[i+1]
		}
	default:
		r.wrong(name, v)
	}
	return m
}
