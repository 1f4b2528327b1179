package commands

import (
	"strconv"

	"dqd/persist/record"
)

// The replies that carry jobs and numbers. Times in them are wall nanoseconds
// since 1970 unless a name says otherwise; they are written as milliseconds
// rounded up, or as decimal bulk strings in fields whose name ends in -ns.
type (
	// Deliveries is the reply of a pop that found jobs.
	Deliveries struct {
		Jobs []Delivery
		Full bool // write the seventh element of each tuple
	}

	// Delivery is one leased job, as its worker gets it.
	Delivery struct {
		Queue, ID, Payload []byte
		Token              uint64
		Attempt            int
		Due                int64
		// The rest is written with FULL only.
		LateUs      int64 // at the delivery, µs
		Created     int64
		LeaseUntil  int64 // 0 with NOACK
		MaxAttempts int   // 0 = no limit
		Pri         int
		Meta        []record.Field
		Reason      []byte // of the last DQNACK; nil = none
	}

	// JobInfo is the reply of DQGET.
	JobInfo struct {
		Fields      []string // as asked for; nil = the whole map
		ID, Queue   []byte
		State       record.State
		Due         int64
		Created     int64
		Attempt     int
		MaxAttempts int    // effective; 0 = no limit
		Token       uint64 // 0 = never leased (written as null)
		LeaseUntil  int64  // 0 = not leased (null)
		Worker      []byte // nil = none (null)
		Pri         int
		Backoff     record.Backoff // effective
		ExpireAt    int64          // 0 = never (null)
		Reason      []byte         // nil = none (null)
		LateUs      int64          // of the latest delivery; -1 = never delivered (null)
		Meta        []record.Field
		Payload     []byte
	}

	// Peeked is the reply of DQPEEK.
	Peeked []PeekedJob

	// PeekedJob is one element of it.
	PeekedJob struct {
		ID, Payload []byte
		Due         int64
		Attempt     int
	}

	// QueueStats is the reply of DQSTATS.
	QueueStats struct {
		Delayed, Ready, Leased, Dead, Bytes               int64
		OldestReadyMs                                     int64 // an age; 0 if none
		NextDue                                           int64 // 0 if none (null)
		Added, Delivered, Acked, Noack, Nacked            int64
		Expired, Cancelled, Purged, Pruned, LeaseTimeouts int64
		Paused                                            string // none in out all
		Blocked                                           int64
		LateP50Us, LateP99Us, LateMaxUs                   int64
		RunP50Us, RunP99Us                                int64
	}

	// ClockInfo is the reply of DQCLOCK.
	ClockInfo struct {
		Now           int64  // wall ns, leader's cluster time
		Source        string // tsc, os
		TSCHz         int64  // 0 without TSC
		OffsetUs      int64  // OS wall clock − Now, µs: a held step, or what is being slewed
		UncertaintyUs int64  // by how much the counter may be off the OS clock, µs
		Steps         int64  // wall-clock steps seen since the start
		State         string // ok, held
	}
)

func (d *Deliveries) WriteReply(w Writer) {
	w.Array(len(d.Jobs))
	for i := range d.Jobs {
		d.Jobs[i].write(w, d.Full)
	}
}

// write writes the job tuple. Its six elements never change; what is new goes
// into the map.
func (d *Delivery) write(w Writer, full bool) {
	if full {
		w.Array(7)
	} else {
		w.Array(6)
	}
	w.Bulk(d.Queue)
	w.Bulk(d.ID)
	w.Bulk(d.Payload)
	w.Int(int64(d.Token))
	w.Int(int64(d.Attempt))
	w.Int(MsUp(d.Due))
	if !full {
		return
	}
	w.Map(8)
	w.BulkString("due-ns")
	writeNs(w, d.Due)
	w.BulkString("late-us")
	w.Int(d.LateUs)
	w.BulkString("created")
	w.Int(MsUp(d.Created))
	w.BulkString("lease-until")
	writeTime(w, d.LeaseUntil)
	w.BulkString("max-attempts")
	w.Int(int64(d.MaxAttempts))
	w.BulkString("pri")
	w.Int(int64(d.Pri))
	w.BulkString("meta")
	writeMeta(w, d.Meta)
	w.BulkString("reason")
	writeBytes(w, d.Reason)
}

const (
	bulkOverhead = len("$1234567890\r\n\r\n") // of a string, at most
	intSize      = len(":-1234567890123456789\r\n")
	// tupleSize is the part of a tuple's encoding that does not depend on its strings.
	tupleSize = len("*6\r\n") + 3*bulkOverhead + 3*intSize
	// fullSize is the same for the map: eight names, seven numbers, the header of meta.
	fullSize = len("%8\r\n") + 8*(bulkOverhead+len("max-attempts")) + 7*(bulkOverhead+intSize) + len("%1234567890\r\n")
)

// EncodedSize is an upper bound of the bytes that the job takes in a reply, with
// or without FULL.
func (d *Delivery) EncodedSize() int {
	size := tupleSize + len(d.Queue) + len(d.ID) + len(d.Payload) + fullSize + len(d.Reason)
	for _, f := range d.Meta {
		size += 2*bulkOverhead + len(f.Name) + len(f.Value)
	}
	return size
}

func (j *JobInfo) WriteReply(w Writer) {
	if j.Fields != nil {
		w.Array(len(j.Fields))
		for _, field := range j.Fields {
			j.writeField(w, field)
		}
		return
	}
	names := jobFieldNames()
	w.Map(len(names))
	for _, field := range names {
		w.BulkString(field)
		j.writeField(w, field)
	}
}

// writeField writes one value; null for a field that there is not.
func (j *JobInfo) writeField(w Writer, field string) {
	switch field {
	case "id":
		w.Bulk(j.ID)
	case "queue":
		w.Bulk(j.Queue)
	case "state":
		w.BulkString(StateName(j.State))
	case "due":
		w.Int(MsUp(j.Due))
	case "due-ns":
		writeNs(w, j.Due)
	case "created":
		w.Int(MsUp(j.Created))
	case "attempt":
		w.Int(int64(j.Attempt))
	case "max-attempts":
		w.Int(int64(j.MaxAttempts))
	case "token":
		if j.Token == 0 {
			w.Null()
		} else {
			w.Int(int64(j.Token))
		}
	case "lease-until":
		writeTime(w, j.LeaseUntil)
	case "worker":
		writeBytes(w, j.Worker)
	case "pri":
		w.Int(int64(j.Pri))
	case "backoff":
		w.BulkString(FormatBackoff(&j.Backoff))
	case "expire-at":
		writeTime(w, j.ExpireAt)
	case "reason":
		writeBytes(w, j.Reason)
	case "late-us":
		if j.LateUs < 0 {
			w.Null()
		} else {
			w.Int(j.LateUs)
		}
	case "size":
		w.Int(int64(len(j.Payload)))
	case "meta":
		writeMeta(w, j.Meta)
	case "payload":
		w.Bulk(j.Payload)
	default:
		w.Null()
	}
}

func (p Peeked) WriteReply(w Writer) {
	w.Array(len(p))
	for i := range p {
		w.Array(4)
		w.Bulk(p[i].ID)
		w.Int(MsUp(p[i].Due))
		w.Int(int64(p[i].Attempt))
		w.Bulk(p[i].Payload)
	}
}

// EncodedSize is an upper bound of the bytes that the job takes in a reply.
func (p *PeekedJob) EncodedSize() int {
	return len("*4\r\n") + 2*bulkOverhead + 2*intSize + len(p.ID) + len(p.Payload)
}

func (s *QueueStats) WriteReply(w Writer) {
	number := func(name string, n int64) {
		w.BulkString(name)
		w.Int(n)
	}
	w.Map(24)
	number("delayed", s.Delayed)
	number("ready", s.Ready)
	number("leased", s.Leased)
	number("dead", s.Dead)
	number("bytes", s.Bytes)
	number("oldest-ready-ms", s.OldestReadyMs)
	w.BulkString("next-due")
	writeTime(w, s.NextDue)
	number("added", s.Added)
	number("delivered", s.Delivered)
	number("acked", s.Acked)
	number("noack", s.Noack)
	number("nacked", s.Nacked)
	number("expired", s.Expired)
	number("cancelled", s.Cancelled)
	number("purged", s.Purged)
	number("pruned", s.Pruned)
	number("lease-timeouts", s.LeaseTimeouts)
	w.BulkString("paused")
	w.BulkString(s.Paused)
	number("blocked", s.Blocked)
	number("late-p50-us", s.LateP50Us)
	number("late-p99-us", s.LateP99Us)
	number("late-max-us", s.LateMaxUs)
	number("run-p50-us", s.RunP50Us)
	number("run-p99-us", s.RunP99Us)
}

func (c *ClockInfo) WriteReply(w Writer) {
	w.Map(7)
	w.BulkString("now-ns")
	writeNs(w, c.Now)
	w.BulkString("source")
	w.BulkString(c.Source)
	w.BulkString("tsc-hz")
	w.Int(c.TSCHz)
	w.BulkString("offset-us")
	w.Int(c.OffsetUs)
	w.BulkString("uncertainty-us")
	w.Int(c.UncertaintyUs)
	w.BulkString("steps")
	w.Int(c.Steps)
	w.BulkString("state")
	w.BulkString(c.State)
}

// writeTime writes a time in milliseconds, null for 0.
func writeTime(w Writer, ns int64) {
	if ns == 0 {
		w.Null()
		return
	}
	w.Int(MsUp(ns))
}

// writeNs writes exact nanoseconds, as a string because they exceed 2^53.
func writeNs(w Writer, ns int64) {
	var buf [20]byte
	w.Bulk(strconv.AppendInt(buf[:0], ns, 10))
}

// writeBytes writes a string, null for none.
func writeBytes(w Writer, b []byte) {
	if b == nil {
		w.Null()
		return
	}
	w.Bulk(b)
}

func writeMeta(w Writer, meta []record.Field) {
	w.Map(len(meta))
	for _, f := range meta {
		w.Bulk(f.Name)
		w.Bulk(f.Value)
	}
}
