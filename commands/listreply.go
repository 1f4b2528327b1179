package commands

import (
	"strconv"

	"dqd/persist/record"
)

// The replies of the commands that list.
type (
	// Page is a part of a walk, and where the next one begins; 0 = it is over.
	Page struct {
		Cursor uint64
		Items  Array
	}

	// Ranged is the reply of DQRANGE; of a job it shows id, due and, if Payload
	// says so, the payload.
	Ranged struct {
		Jobs    []PeekedJob
		Payload bool
	}

	// DeadJob is one element of the reply of DQDEAD.
	DeadJob struct {
		ID, Payload []byte
		Died        int64 // wall ns
		Attempt     int
		Cause       record.Cause
		Reason      []byte // of the latest DQNACK; nil = none (null)
	}
)

func (p *Page) WriteReply(w Writer) {
	w.Array(2)
	w.BulkString(strconv.FormatUint(p.Cursor, 10))
	p.Items.WriteReply(w)
}

func (r *Ranged) WriteReply(w Writer) {
	w.Array(len(r.Jobs))
	for i := range r.Jobs {
		j := &r.Jobs[i]
		if r.Payload {
			w.Array(3)
		} else {
			w.Array(2)
		}
		w.Bulk(j.ID)
		w.Int(MsUp(j.Due))
		if r.Payload {
			w.Bulk(j.Payload)
		}
	}
}

func (d *DeadJob) WriteReply(w Writer) {
	w.Array(6)
	w.Bulk(d.ID)
	w.Int(MsUp(d.Died))
	w.Int(int64(d.Attempt))
	w.BulkString(CauseName(d.Cause))
	writeBytes(w, d.Reason)
	w.Bulk(d.Payload)
}

// EncodedSize is an upper bound of the bytes that the job takes in a reply.
func (d *DeadJob) EncodedSize() int {
	return len("*6\r\n") + 4*bulkOverhead + 2*intSize + len("attempts") + len(d.ID) + len(d.Reason) + len(d.Payload)
}

// CauseName is the word for why a job died.
func CauseName(c record.Cause) string {
	switch c {
	case record.CauseAttempts:
		return "attempts"
	case record.CauseNack:
		return "nack"
	case record.CauseExpired:
		return "expired"
	}
	panic("commands: no such cause of death")
}

// EncodedSize is an upper bound of the bytes that the whole map takes in a reply.
func (j *JobInfo) EncodedSize() int {
	size := len("%19\r\n") + 2*jobFields*bulkOverhead + 12*jobFields + 12*intSize
	size += len(j.ID) + len(j.Queue) + len(j.Worker) + len(j.Reason) + len(j.Payload) + len(FormatBackoff(&j.Backoff))
	for _, f := range j.Meta {
		size += 2*bulkOverhead + len(f.Name) + len(f.Value)
	}
	return size
}
