package evaluate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"dqd/commands"
	"dqd/persist/record"
)

// add evaluates DQADD.
func (b *Batch) add(r *commands.Add) commands.Reply {
	q := b.queueNamed(r.Queue)
	if id, ok := b.sameRequest(q, &r.Job); ok {
		return id
	}
	if err := b.limit.refuse(); err != "" {
		return err
	}
	verdict, err := b.check(q, r.Queue, &r.Job, &r.Options, 1)
	switch {
	case err != "":
		return err
	case verdict != nil:
		return verdict
	}
	return b.accept(b.create(r.Queue), &r.Job, &r.Options, nil)
}

// addMany evaluates DQMADD: first every job is checked, then all are accepted.
func (b *Batch) addMany(r *commands.MAdd) commands.Reply {
	q := b.queueNamed(r.Queue)
	replies := make(commands.Array, len(r.Jobs))
	fresh := b.fresh(q, r)
	for i := range r.Jobs {
		job := &r.Jobs[i]
		if id, ok := b.sameRequest(q, job); ok {
			replies[i] = id
			continue
		}
		if err := b.limit.refuse(); err != "" {
			return err
		}
		verdict, err := b.check(q, r.Queue, job, &r.Options, fresh)
		if err != "" {
			code, text, _ := strings.Cut(string(err), " ")
			return commands.Error(fmt.Sprintf("%s job %d (%s): %s; no job was added", code, i+1, quote(job.ID), text))
		}
		replies[i] = verdict
	}
	given := givenIDs(r.Jobs)
	for i := range r.Jobs {
		if replies[i] == nil {
			replies[i] = b.accept(b.create(r.Queue), &r.Jobs[i], &r.Options, given)
		}
	}
	return replies
}

// givenIDs are the ids that the client chose for some jobs, if it wants others made:
// those must differ from them.
func givenIDs(jobs []commands.NewJob) map[string]bool {
	if !slices.ContainsFunc(jobs, func(n commands.NewJob) bool { return n.ID == nil }) {
		return nil
	}
	given := map[string]bool{}
	for i := range jobs {
		if jobs[i].ID != nil {
			given[string(jobs[i].ID)] = true
		}
	}
	return given
}

// fresh counts the jobs of a DQMADD that would add to the queue's length.
func (b *Batch) fresh(q *queue, r *commands.MAdd) (n int64) {
	for i := range r.Jobs {
		if _, same := b.sameRequest(q, &r.Jobs[i]); !same && (q == nil || r.Jobs[i].ID == nil || b.find(q, r.Jobs[i].ID) == nil) {
			n++
		}
	}
	return n
}

// sameRequest answers an IDEM request that the id remembers, as the first time.
func (b *Batch) sameRequest(q *queue, n *commands.NewJob) (commands.Reply, bool) {
	if q == nil || n.Digest == (record.Digest{}) {
		return nil, false
	}
	if j := b.find(q, n.ID); j != nil {
		if j.is.Idem == n.Digest && j.is.IdemUntil > b.now.Progress {
			return commands.Bulk(n.ID), true
		}
	}
	if m := b.memory(q, n.ID); m != nil && m.Digest == n.Digest {
		return commands.Bulk(n.ID), true
	}
	return nil, false
}

// check says whether a job can be added: an error, or a verdict (null: its
// condition is not met), or neither, and then accept will succeed. fresh is how
// many new jobs come in all.
func (b *Batch) check(q *queue, name []byte, n *commands.NewJob, o *commands.AddOptions, fresh int64) (commands.Reply, commands.Error) {
	set := b.defaults
	var live int64
	var j *job
	if q != nil {
		set, live = q.set, q.Live()
		if n.ID != nil {
			j = b.find(q, n.ID)
		}
	}
	due := b.due(n.Due)
	if err := b.checkDue(n.Due, due, name, set.MaxDelay); err != "" {
		return nil, err
	}
	if o.ExpireAt != 0 && o.ExpireAt <= b.now.shown(due) {
		return nil, commands.Error(fmt.Sprintf("BADTIME EXPIREAT %d ms is not after the due time %d ms: give a later one",
			commands.MsUp(o.ExpireAt), commands.MsUp(b.now.shown(due))))
	}
	if int64(len(n.Payload)) > set.MaxPayload {
		return nil, commands.Error(fmt.Sprintf("TOOBIG the payload has %d bytes, queue %s takes %d (max-payload)", len(n.Payload), quote(name), set.MaxPayload))
	}
	if q != nil && b.now.before(q.InUntil) {
		return nil, commands.Error(fmt.Sprintf("PAUSED queue %s takes no jobs: DQRESUME it with IN or ALL, or try later", quote(name)))
	}
	if j != nil {
		switch o.Cond {
		case commands.CondNX:
			return commands.Null{}, ""
		case commands.CondXX, commands.CondUpsert:
			if j.is.State == record.Leased {
				return nil, commands.Error(fmt.Sprintf("LEASED id %s is with a worker until %d ms: try later, or DQMCANCEL … FORCE it first",
					quote(n.ID), commands.MsUp(b.now.shown(j.is.Wake))))
			}
			if !b.compare(o.Compare, due, j.is.Due) {
				return commands.Null{}, ""
			}
			return nil, ""
		default:
			return nil, commands.Error(fmt.Sprintf("DUPID id %s is live: state %s, due %d ms, accepted %d ms ago; nothing was changed",
				quote(n.ID), commands.StateName(j.is.State), commands.MsUp(b.now.shown(j.is.Due)),
				max(0, b.now.Wall()-j.is.Created)/int64(time.Millisecond)))
		}
	}
	if o.Cond == commands.CondXX {
		return commands.Null{}, ""
	}
	if o.MaxLen > 0 && live+fresh > o.MaxLen {
		return nil, queueFull(name, live, fresh, o.MaxLen, "MAXLEN")
	}
	if set.MaxLen > 0 && live+fresh > set.MaxLen {
		return nil, queueFull(name, live, fresh, set.MaxLen, "max-len")
	}
	if q == nil {
		return nil, b.roomForQueue()
	}
	return nil, ""
}

// roomForQueue refuses one queue too many, and any while a guard refuses what takes room.
func (b *Batch) roomForQueue() commands.Error {
	if err := b.limit.refuse(); err != "" {
		return err
	}
	if b.limit.MaxQueues > 0 && b.queueCount >= b.limit.MaxQueues {
		return commands.Error(fmt.Sprintf("ERR there are %d queues already, the most that this server keeps: drop one first", b.queueCount))
	}
	return ""
}

func queueFull(name []byte, live, fresh, limit int64, what string) commands.Error {
	return commands.Error(fmt.Sprintf("QUEUEFULL queue %s holds %d live jobs, %d more would exceed %s %d: try later", quote(name), live, fresh, what, limit))
}

// due turns what a client asked for into an instant.
func (b *Batch) due(d commands.Due) record.Instant {
	switch d.Kind {
	case commands.DueDelay:
		return record.Instant{Domain: record.Progress, Ns: b.now.Progress + d.Ns}
	case commands.DueAt:
		return record.Instant{Domain: record.Wall, Ns: d.Ns}
	default:
		return record.Instant{Domain: record.Progress, Ns: b.now.Progress}
	}
}

// checkDue refuses a due time too far ahead: the global limit, or the queue's.
func (b *Batch) checkDue(asked commands.Due, due record.Instant, name []byte, maxDelay int64) commands.Error {
	limit, ahead := b.limit.MaxAhead, "100 years ahead"
	if maxDelay > 0 && maxDelay < limit {
		limit, ahead = maxDelay, fmt.Sprintf("%d ms ahead (max-delay of queue %s)", commands.MsUp(maxDelay), quote(name))
	}
	if asked.Kind != commands.DueNone && due.Ns-b.now.In(due.Domain) > limit {
		return commands.Error(fmt.Sprintf("BADTIME due time %d ms is more than %s: give an earlier one", commands.MsUp(b.now.shown(due)), ahead))
	}
	return ""
}

// compare reports whether a new due time meets GT or LT against the present one.
func (b *Batch) compare(c commands.Compare, due, present record.Instant) bool {
	switch c {
	case commands.CompareGT:
		return b.now.shown(due) > b.now.shown(present)
	case commands.CompareLT:
		return b.now.shown(due) < b.now.shown(present)
	}
	return true
}

// accept makes the job that check let pass; given are ids that it must not make.
func (b *Batch) accept(q *queue, n *commands.NewJob, o *commands.AddOptions, given map[string]bool) commands.Reply {
	id := n.ID
	if id == nil {
		id = b.newID(q, given)
	}
	var j *job
	if n.ID != nil {
		if j = b.find(q, id); j == nil {
			b.staleDead(q, id)
		}
	}
	rec := &record.Job{
		Queue: q.Number, ID: append([]byte(nil), id...), Seq: b.Applied.NextSeq,
		Pri: 128, Created: b.now.Wall(), MaxAttempts: int32(o.Attempts),
		Due: b.due(n.Due),
	}
	b.Applied.NextSeq++
	if o.Pri >= 0 {
		rec.Pri = uint8(o.Pri)
	}
	switch {
	case o.ExpireAt != 0:
		rec.Expire = record.Instant{Domain: record.Wall, Ns: o.ExpireAt}
	case o.TTL != 0:
		rec.TTL = o.TTL
	default:
		rec.TTL = q.set.TTL
	}
	b.countTTL(rec)
	rec.SetBody(&record.Body{Payload: n.Payload, Meta: o.Meta, Backoff: o.Backoff, Lease: o.Lease})
	own(rec)
	if o.Cond == commands.CondIdem || o.Cond == commands.CondUpsert || o.Cond == commands.CondXX {
		b.forget(q, id)
	}
	if n.Digest != (record.Digest{}) {
		rec.Idem, rec.IdemUntil = n.Digest, b.now.Progress+q.set.IdemMemory
	}
	if j != nil { // UPSERT, XX
		rec.Token = j.is.Token
		b.keepJob(j)
		j.bodyChanged = true
	} else {
		j = b.place(q, id)
		b.bump(q, added, 1)
	}
	b.settle(j, rec)
	return commands.Bulk(rec.ID)
}

// countTTL sets when a job with a TTL leaves: counted from the later of its due
// time, as just set, and now.
func (b *Batch) countTTL(rec *record.Job) {
	if rec.TTL != 0 {
		from := rec.Due
		if from.Ns < b.now.In(from.Domain) {
			from = record.Instant{Domain: record.Progress, Ns: b.now.Progress}
		}
		rec.Expire = record.Instant{Domain: from.Domain, Ns: from.Ns + rec.TTL}
	}
}

// newID makes an id that is free: wall ms and order of acceptance.
func (b *Batch) newID(q *queue, given map[string]bool) []byte {
	for {
		id := strconv.AppendInt(nil, b.now.Wall()/int64(time.Millisecond), 10)
		id = strconv.AppendUint(append(id, '-'), b.Applied.NextSeq, 10)
		if !given[string(id)] && b.find(q, id) == nil {
			return id
		}
		b.Applied.NextSeq++ // a client chose the same
	}
}

// staleDead makes the tokens of the id's dead jobs stale: the id gets a new job.
func (b *Batch) staleDead(q *queue, id []byte) {
	if j := b.findDead(q, id); j != nil && j.is.TokenState != record.TokenStale {
		rec := j.edit()
		rec.TokenState = record.TokenStale
		b.change(j, rec)
	}
}
