package record

import (
	"encoding/binary"
	"fmt"
)

// The value of a job's record. Moments are written as the distance from created,
// because most of them are near it; integers are varints unless a width is given.
// What stands before the line is the job's place, which Apply reads alone.
//
//	1   version
//	2   flags, see below
//	1   state, and the token state in the high nibble
//	1   pri
//	8   created
//	uv  seq
//	v   due
//	v   wake          if hasWake
//	v   died          if dead
//	────────────────
//	1   cause         if dead
//	v   expire        if hasExpire
//	v   ttl           if hasTTL
//	uv  attempt
//	v   max attempts
//	uv  token         if leased before
//	v   leased at     if leased before
//	v   late          if leased before
//	uv+ worker        if hasWorker
//	uv+ reason        if hasReason
//	16  idem digest   if hasIdem
//	v   idem until    if hasIdem
//	uv  payload size  unless inline
//	…   body          if inline, the whole rest
const jobVersion = 1

const (
	dueWall     = 1 << iota // the domain of due
	hasWake                 // wake is set
	wakeWall                // its domain
	hasExpire               // expire is set
	expireWall              // its domain
	leased                  // there was a token
	hasWorker               //
	hasReason               //
	hasIdem                 //
	hasSeparate             // the body has its own key
	hasInline               // the body follows
	hasTTL                  // a reschedule counts the expiry anew
	jobFlags    = 1<<iota - 1
)

// AppendValue appends the value of the job's record. Negative moments would
// break the order of the indexes: they panic.
func (j *Job) AppendValue(dst []byte) []byte {
	if j.Due.Ns < 0 || j.Wake.Ns < 0 || j.Expire.Ns < 0 || j.Created < 0 || j.Died < 0 {
		panic(fmt.Sprintf("record: negative time in job %q of queue %d: due %d wake %d expire %d created %d died %d",
			j.ID, j.Queue, j.Due.Ns, j.Wake.Ns, j.Expire.Ns, j.Created, j.Died))
	}
	if j.State < Delayed || j.State > Dead || len(j.ID) > MaxIDLen {
		panic(fmt.Sprintf("record: job of queue %d with state %d and an id of %d bytes", j.Queue, j.State, len(j.ID)))
	}
	flags := j.flags()
	dst = binary.BigEndian.AppendUint16(append(dst, jobVersion), flags)
	dst = be64(append(dst, byte(j.State)|byte(j.TokenState)<<4, j.Pri), uint64(j.Created))
	dst = binary.AppendUvarint(dst, j.Seq)
	dst = binary.AppendVarint(dst, j.Due.Ns-j.Created)
	if flags&hasWake != 0 {
		dst = binary.AppendVarint(dst, j.Wake.Ns-j.Created)
	}
	if j.State == Dead {
		dst = binary.AppendVarint(dst, j.Died-j.Created)
		dst = append(dst, byte(j.Cause))
	}
	if flags&hasExpire != 0 {
		dst = binary.AppendVarint(dst, j.Expire.Ns-j.Created)
	}
	if flags&hasTTL != 0 {
		dst = binary.AppendVarint(dst, j.TTL)
	}
	dst = binary.AppendUvarint(dst, uint64(j.Attempt))
	dst = binary.AppendVarint(dst, int64(j.MaxAttempts))
	if flags&leased != 0 {
		dst = binary.AppendUvarint(dst, j.Token)
		dst = binary.AppendVarint(dst, j.LeasedAt-j.Created)
		dst = binary.AppendVarint(dst, j.LateUs)
	}
	if flags&hasWorker != 0 {
		dst = appendString(dst, j.Worker)
	}
	if flags&hasReason != 0 {
		dst = appendString(dst, j.Reason)
	}
	if flags&hasIdem != 0 {
		dst = append(dst, j.Idem[:]...)
		dst = binary.AppendVarint(dst, j.IdemUntil-j.Created)
	}
	if flags&hasInline != 0 {
		return j.Body.Append(dst)
	}
	return binary.AppendUvarint(dst, uint64(j.PayloadSize))
}

func (j *Job) flags() uint16 {
	var f uint16
	set := func(flag uint16, on bool) {
		if on {
			f |= flag
		}
	}
	set(dueWall, j.Due.Domain == Wall)
	set(hasWake, j.Wake != Instant{})
	set(wakeWall, j.Wake.Domain == Wall)
	set(hasExpire, j.Expire != Instant{})
	set(expireWall, j.Expire.Domain == Wall)
	set(leased, j.Token != 0 || j.LeasedAt != 0 || j.LateUs != 0)
	set(hasWorker, j.Worker != nil)
	set(hasReason, j.Reason != nil)
	set(hasIdem, j.Idem != Digest{} || j.IdemUntil != 0)
	set(hasSeparate, j.Separate)
	set(hasInline, !j.Separate && j.Body != nil)
	set(hasTTL, j.TTL != 0)
	return f
}

// DecodeJob decodes the record of a job. Its strings alias id and value; Body is
// nil if it stands under its own key.
func DecodeJob(q uint32, id, value []byte) (*Job, error) {
	r := reader{b: value}
	var p placeReader
	p.read(&r)
	j := &Job{
		Queue: q, ID: id, Seq: p.Seq, State: p.State, Pri: p.Pri, Due: p.Due, Wake: p.Wake,
		Created: p.created, TokenState: p.tokenState, Died: p.Died, Separate: p.Separate,
	}
	if j.State == Dead {
		j.Cause = Cause(r.byte())
	}
	if p.flags&hasExpire != 0 {
		j.Expire = p.instant(&r, expireWall)
	}
	if p.flags&hasTTL != 0 {
		j.TTL = r.varint()
	}
	j.Attempt = r.uvarint32()
	j.MaxAttempts = r.varint32()
	if p.flags&leased != 0 {
		j.Token = r.uvarint()
		j.LeasedAt = p.created + r.varint()
		j.LateUs = r.varint()
	}
	if p.flags&hasWorker != 0 {
		j.Worker = r.string()
	}
	if p.flags&hasReason != 0 {
		j.Reason = r.string()
	}
	if p.flags&hasIdem != 0 {
		copy(j.Idem[:], r.take(len(j.Idem)))
		j.IdemUntil = p.created + r.varint()
	}
	if p.flags&hasInline != 0 && !r.bad {
		body, err := DecodeBody(r.rest())
		if err != nil {
			return nil, err
		}
		j.Body, j.PayloadSize = body, uint32(len(body.Payload))
	} else {
		j.PayloadSize = r.uvarint32()
	}
	// The flags are derived once more: a flag whose field says otherwise is a fault.
	if err := r.end("job"); err != nil || j.flags() != p.flags || j.Cause > CauseExpired {
		return nil, malformed("job")
	}
	return j, nil
}

// DecodePlace decodes only what determines the job's keys, and allocates nothing.
func DecodePlace(q uint32, id, value []byte) (Place, error) {
	r := reader{b: value}
	var p placeReader
	if p.read(&r); r.bad {
		return Place{}, malformed("job")
	}
	p.Queue, p.ID = q, id
	return p.Place, nil
}

// placeReader reads the first part of a job's value.
type placeReader struct {
	Place
	flags      uint16
	created    int64
	tokenState TokenState
}

func (p *placeReader) read(r *reader) {
	if r.byte() != jobVersion {
		r.fail()
	}
	p.flags = r.u16()
	states := r.byte()
	p.State, p.tokenState = State(states&0xf), TokenState(states>>4)
	p.Pri = r.byte()
	p.created = int64(r.u64())
	p.Seq = r.uvarint()
	p.Due = p.instant(r, dueWall)
	if p.flags&hasWake != 0 {
		p.Wake = p.instant(r, wakeWall)
	}
	if p.State == Dead {
		p.Died = p.created + r.varint()
	}
	p.Separate = p.flags&hasSeparate != 0
	if p.flags&^jobFlags != 0 || p.State < Delayed || p.State > Dead || p.tokenState > TokenNacked ||
		p.created < 0 || p.Died < 0 {
		r.fail()
	}
}

func (p *placeReader) instant(r *reader, wall uint16) (at Instant) {
	if p.flags&wall != 0 {
		at.Domain = Wall
	}
	if at.Ns = p.created + r.varint(); at.Ns < 0 {
		r.fail()
	}
	return at
}
