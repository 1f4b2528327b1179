package record

import "bytes"

// Place is the part of a job that determines its keys, and nothing else. It is
// what the log keeps of a job's earlier state.
//
// This file is the only one that derives keys from a job; package effect writes
// by it and the verifier checks by it:
//
//	state                    record   wake            order index
//	Delayed                  01       if Wake is set  04 by due
//	Ready                    01       if Wake is set  05 by pri, due
//	Leased                   01       if Wake is set  –
//	Dead                     06 00    if Wake is set  06 01 by died
type Place struct {
	Queue    uint32
	ID       []byte
	Seq      uint64
	State    State
	Pri      uint8   // delayed and ready
	Due      Instant // delayed, and ready (wall)
	Wake     Instant // the zero Instant = none
	Died     int64   // progress ns, dead only
	Separate bool    // the body has its own key
}

// Place returns where the job stands. The id is shared with the job.
func (j *Job) Place() Place {
	return Place{
		Queue: j.Queue, ID: j.ID, Seq: j.Seq, State: j.State, Pri: j.Pri,
		Due: j.Due, Wake: j.Wake, Died: j.Died, Separate: j.Separate,
	}
}

// AppendRecordKey appends the key of the job's record.
func (p *Place) AppendRecordKey(dst []byte) []byte {
	if p.State == Dead {
		return AppendDeadJobKey(dst, p.Queue, p.ID, p.Died, p.Seq)
	}
	return AppendJobKey(dst, p.Queue, p.ID)
}

// AppendBodyKey appends the key of the job's body, if it is separate.
func (p *Place) AppendBodyKey(dst []byte) []byte { return AppendBodyKey(dst, p.Queue, p.Seq) }

// AppendWakeKey appends the key of the job's next wake-up, or nothing if it has none.
func (p *Place) AppendWakeKey(dst []byte) []byte {
	if p.Wake == (Instant{}) {
		return dst
	}
	return AppendWakeKey(dst, p.Wake, p.Seq)
}

// AppendWakeValue appends the value that belongs to AppendWakeKey.
func (p *Place) AppendWakeValue(dst []byte) []byte {
	w := WakeValue{Queue: p.Queue, ID: p.ID}
	if p.State == Dead {
		w.Dead, w.Died = true, p.Died
	}
	return w.append(dst)
}

// AppendOrderKey appends the job's key in the index of its state, or nothing if
// the state has none. The value is the id.
func (p *Place) AppendOrderKey(dst []byte) []byte {
	switch p.State {
	case Delayed:
		return AppendDelayedKey(dst, p.Queue, p.Due, p.Pri, p.Seq)
	case Ready:
		return AppendReadyKey(dst, p.Queue, p.Pri, p.Due.Ns, p.Seq)
	case Dead:
		return AppendDeadOrderKey(dst, p.Queue, p.Died, p.Seq)
	}
	return dst
}

// IndexKeys calls yield with each index key of the place and its value: no more
// than two. The slices are new.
func (p *Place) IndexKeys(yield func(key, value []byte) bool) {
	if k := p.AppendWakeKey(nil); len(k) > 0 && !yield(k, p.AppendWakeValue(nil)) {
		return
	}
	if k := p.AppendOrderKey(nil); len(k) > 0 {
		yield(k, bytes.Clone(p.ID))
	}
}

// IndexKeys calls yield with each index key of the job in its present state and its value.
func (j *Job) IndexKeys(yield func(key, value []byte) bool) {
	p := j.Place()
	p.IndexKeys(yield)
}

// AppendRecordKey appends the key of the job's record in its present state.
func (j *Job) AppendRecordKey(dst []byte) []byte {
	p := j.Place()
	return p.AppendRecordKey(dst)
}
