package evaluate

import (
	"bytes"
	"fmt"

	"dqd/commands"
	"dqd/persist/record"
)

// byToken finds the job that a token names, live or (when no live job has the
// id) dead. code is Done when the token is the job's latest valid one.
func (b *Batch) byToken(q *queue, t *commands.JobToken) (*job, commands.Code) {
	if q == nil {
		return nil, commands.NoSuchJob
	}
	j := b.find(q, t.ID)
	if j == nil {
		if j = b.findDead(q, t.ID); j == nil {
			return nil, commands.NoSuchJob
		}
	}
	switch {
	case t.Token == 0 && j.is.State != record.Leased:
		return j, commands.WrongState
	case t.Token != 0 && (t.Token != j.is.Token || j.is.TokenState == record.TokenStale):
		return j, commands.BadToken
	}
	return j, commands.Done
}

// ack evaluates DQACK and DQMACK.
func (b *Batch) ack(r *commands.Ack) commands.Reply {
	q := b.queueNamed(r.Queue)
	b.findAhead(len(r.Jobs), func(i int) (*queue, []byte) { return q, r.Jobs[i].ID })
	return codesOrCount(r.Codes, len(r.Jobs), func(i int) commands.Code {
		j, code := b.byToken(q, &r.Jobs[i])
		if code != commands.Done {
			return code
		}
		if j.is.TokenState == record.TokenNacked {
			return commands.BadToken
		}
		b.Report.Runs = append(b.Report.Runs, Run{Name: q.Name, RunNs: b.now.Progress - j.is.LeasedAt})
		b.bump(q, acked, 1)
		b.end(j, j.is)
		return commands.Done
	})
}

// nack evaluates DQNACK.
func (b *Batch) nack(r *commands.Nack) commands.Reply {
	q := b.queueNamed(r.Queue)
	j, code := b.byToken(q, &r.Job)
	if code != commands.Done {
		return code
	}
	if j.is.TokenState == record.TokenNacked {
		return commands.Done // a repetition changes nothing
	}
	due := b.due(r.Due)
	if err := b.checkDue(r.Due, due, q.Name, q.set.MaxDelay); err != "" {
		return err
	}
	return b.giveBack(j, r, due)
}

func (b *Batch) giveBack(j *job, r *commands.Nack, due record.Instant) commands.Reply {
	q := j.q
	wasDead := j.is.State == record.Dead
	// A job that its lease's end just made dead stays dead, unless FREE gives the attempt back.
	if wasDead && (!r.Free || r.Dead) {
		rec := j.edit()
		rec.TokenState = record.TokenNacked
		rec.Reason = reason(r.Reason)
		b.bump(q, nacked, 1)
		b.change(j, rec)
		return commands.Done
	}
	if r.Due.Kind == commands.DueNone {
		due = record.Instant{Domain: record.Progress, Ns: b.now.Progress + b.backoff(j, j.is.Attempt)}
	}
	var rec *record.Job
	if wasDead {
		rec = b.revive(j)
	} else {
		rec = j.edit()
	}
	rec.TokenState = record.TokenNacked
	rec.Reason = reason(r.Reason)
	if r.Free && rec.Attempt > 0 {
		rec.Attempt--
	}
	b.bump(q, nacked, 1)
	switch {
	case r.Dead:
		b.die(j, rec, record.CauseNack)
	case !r.Free && b.usedUp(j, rec):
		b.die(j, rec, record.CauseAttempts)
	default:
		rec.Due = due
		b.settle(j, rec)
	}
	return commands.Done
}

// reasonMax is how much of a REASON is kept, in bytes.
const reasonMax = 1024

func reason(text []byte) []byte {
	return bytes.Clone(text[:min(len(text), reasonMax)])
}

// extend evaluates DQEXTEND and DQMEXTEND.
func (b *Batch) extend(r *commands.Extend) commands.Reply {
	q := b.queueNamed(r.Queue)
	b.findAhead(len(r.Jobs), func(i int) (*queue, []byte) { return q, r.Jobs[i].ID })
	code := func(i int) commands.Code {
		j, code := b.byToken(q, &r.Jobs[i])
		switch {
		case code != commands.Done:
			return code
		case j.is.TokenState == record.TokenNacked:
			return commands.BadToken
		case j.is.State != record.Leased || b.now.reached(j.is.Wake):
			return commands.WrongState
		case b.now.Progress+r.Lease-j.is.LeasedAt > q.set.LeaseMax:
			return commands.BeyondMax
		}
		rec := j.edit()
		rec.Wake.Ns = b.now.Progress + r.Lease
		b.change(j, rec)
		b.keepHold(rec.Token)
		b.Holders.Extended(rec.Token, b.From)
		return commands.Done
	}
	if !r.Codes {
		return code(0)
	}
	return codesOrCount(true, len(r.Jobs), code)
}

// cancel evaluates DQCANCEL and DQMCANCEL.
func (b *Batch) cancel(r *commands.Cancel) commands.Reply {
	q := b.queueNamed(r.Queue)
	b.findAhead(len(r.IDs), func(i int) (*queue, []byte) { return q, r.IDs[i] })
	return codesOrCount(r.Codes, len(r.IDs), func(i int) commands.Code {
		if q == nil {
			return commands.NoSuchJob
		}
		j := b.find(q, r.IDs[i])
		switch {
		case j == nil && b.findDead(q, r.IDs[i]) != nil:
			return commands.WrongState
		case j == nil:
			return commands.NoSuchJob
		case j.is.State == record.Leased && !r.Force:
			return commands.WrongState
		}
		b.forget(q, r.IDs[i])
		b.bump(q, cancelled, 1)
		b.change(j, nil)
		return commands.Done
	})
}

// reschedule evaluates DQRESCHEDULE.
func (b *Batch) reschedule(r *commands.Reschedule) commands.Reply {
	q := b.queueNamed(r.Queue)
	if q == nil {
		return commands.NoSuchJob
	}
	due := b.due(r.Due)
	if err := b.checkDue(r.Due, due, q.Name, q.set.MaxDelay); err != "" {
		return err
	}
	if r.HasPayload && int64(len(r.Payload)) > q.set.MaxPayload {
		return commands.Error(fmt.Sprintf("TOOBIG the payload has %d bytes, queue %s takes %d (max-payload)", len(r.Payload), quote(r.Queue), q.set.MaxPayload))
	}
	j := b.find(q, r.ID)
	switch {
	case j == nil && b.findDead(q, r.ID) != nil:
		return commands.WrongState
	case j == nil:
		return commands.NoSuchJob
	case j.is.State == record.Leased:
		return commands.WrongState
	case !b.compare(r.Compare, due, j.is.Due):
		return commands.NotMet
	case j.is.Expire.Ns != 0 && j.is.TTL == 0 && b.now.shown(j.is.Expire) <= b.now.shown(due):
		return commands.Error(fmt.Sprintf("BADTIME the job expires at %d ms, which is not after the new due time %d ms: give an earlier one", commands.MsUp(b.now.shown(j.is.Expire)), commands.MsUp(b.now.shown(due))))
	}
	if r.HasPayload && len(r.Payload) > int(j.is.PayloadSize) {
		if err := b.limit.refuse(); err != "" {
			return err
		}
	}
	rec := j.edit()
	rec.Due = due
	rec.TokenState = record.TokenStale
	if r.Pri >= 0 {
		rec.Pri = uint8(r.Pri)
	}
	if r.HasPayload {
		changed := *b.body(j)
		changed.Payload = r.Payload
		rec.SetBody(&changed)
		own(rec)
		b.keepJob(j)
		j.bodyChanged = true
	}
	b.countTTL(rec)
	b.settle(j, rec)
	return commands.Done
}

// codesOrCount answers n ids with a code each, or with how many were done.
func codesOrCount(codes bool, n int, code func(i int) commands.Code) commands.Reply {
	if codes {
		out := make(commands.Codes, n)
		for i := range out {
			out[i] = code(i)
		}
		return out
	}
	count := commands.Int(0)
	for i := range n {
		if code(i) == commands.Done {
			count++
		}
	}
	return count
}
