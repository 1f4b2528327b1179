package persist

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"dqd/persist/record"
)

// maxProblems bounds what Verify reports.
const maxProblems = 100

// Verify checks a whole state store. It returns nil, or all problems that it
// found, up to a bound, joined into one error. It checks that
//
//  1. the position's CRC is right, the format is known, no key is unknown;
//  2. every record, body, queue and memory decodes;
//  3. every job has exactly the index keys that package record derives from it,
//     hence at most one wake-up, and its separate body; no other index key or body exists;
//  4. order numbers are unique and below NextSeq, tokens below NextToken, queues below NextQueue;
//  5. no wake-up lies below its domain's cursor, no memory below the sweep cursor;
//     delayed and leased jobs have a wake-up;
//  6. names and numbers of queues agree, and every job's queue exists;
//  7. each gauge equals a recount, and the counters add up (I7).
//
// It takes 24 bytes of memory per job.
func Verify(r Reader) error {
	v := verifier{r: r, counted: map[uint32]*record.Queue{}, numbers: map[uint32]bool{}}
	for _, step := range []func() error{
		v.position, v.queues, v.liveJobs, v.deadJobs, v.indexes, v.bodies, v.order, v.gauges, v.idem, v.unknown,
	} {
		if err := step(); err != nil {
			return fmt.Errorf("verifying the state store: %w", err)
		}
		if len(v.problems) >= maxProblems {
			v.problems = append(v.problems, errors.New("… and perhaps more"))
			break
		}
	}
	return errors.Join(v.problems...)
}

type verifier struct {
	r        Reader
	applied  record.Applied
	problems []error
	counted  map[uint32]*record.Queue // by a recount of the jobs
	numbers  map[uint32]bool          // queues with a Queue record
	seqs     []jobSeq
	indexed  int // index keys that the jobs should have
}

type jobSeq struct {
	queue    uint32
	seq      uint64
	separate uint32 // 0 = inline, else 1 + payload size
}

func (v *verifier) problem(format string, args ...any) bool {
	if len(v.problems) < maxProblems {
		v.problems = append(v.problems, fmt.Errorf(format, args...))
	}
	return len(v.problems) < maxProblems
}

// each scans the keys with a prefix until the bound on problems is reached.
func (v *verifier) each(prefix []byte, fn func(k, val []byte)) error {
	return v.r.Scan(prefix, record.PrefixEnd(prefix), func(k, val []byte) bool {
		fn(k, val)
		return len(v.problems) < maxProblems
	})
}

func (v *verifier) position() error {
	value, ok, err := v.r.Get(record.AppliedKey())
	if err != nil {
		return err
	}
	if !ok {
		v.problem("the position is missing")
	} else if v.applied, err = record.DecodeApplied(value); err != nil {
		v.problem("position %x: %v", value, err)
	}
	if value, ok, err = v.r.Get(record.FormatKey()); err != nil {
		return err
	}
	if ok { // stores made without raft have none
		if f, err := record.DecodeFormat(value); err != nil || f.Version != record.FormatVersion {
			v.problem("format %x: unknown", value)
		}
	}
	return nil
}

func (v *verifier) queues() error {
	err := v.each(record.QueueSpace(), func(k, val []byte) {
		number, ok := record.ParseQueueKey(k)
		q, err := record.DecodeQueue(number, val)
		if !ok || err != nil {
			v.problem("queue %x = %x: %v", k, val, err)
			return
		}
		v.numbers[number] = true
		if number >= v.applied.NextQueue {
			v.problem("queue %d is not below the next number %d", number, v.applied.NextQueue)
		}
		if q.IdemNumber >= v.applied.NextQueue {
			v.problem("queue %d has its memories under %d, which is not below the next number %d", number, q.IdemNumber, v.applied.NextQueue)
		}
		named, ok, err := v.r.Get(record.AppendQueueNameKey(nil, q.Name))
		if back, parsed := record.ParseQueueNumber(named); err != nil || !ok || !parsed || back != number {
			v.problem("queue %d is called %q, but that name leads to %x (%v)", number, q.Name, named, err)
		}
		sum := q.Live() + q.Dead + q.Acked + q.Noack + q.Cancelled + q.Expired + q.Purged + q.Pruned
		if q.Added != sum {
			v.problem("queue %d %q: I7: added %d, but live %d + dead %d + acked %d + noack %d + cancelled %d + expired %d + purged %d + pruned %d = %d",
				number, q.Name, q.Added, q.Live(), q.Dead, q.Acked, q.Noack, q.Cancelled, q.Expired, q.Purged, q.Pruned, sum)
		}
	})
	if err != nil {
		return err
	}
	err = v.each(record.QueueNameSpace(), func(k, val []byte) {
		if q, ok := record.ParseQueueNumber(val); !ok || !v.numbers[q] {
			v.problem("name %q leads to %x, and there is no such queue", k[2:], val)
		}
	})
	if err != nil {
		return err
	}
	return v.each(record.SettingsSpace(), func(k, val []byte) {
		q, ok := record.ParseSettingsKey(k)
		if _, err := record.DecodeOwn(val); !ok || err != nil || !v.numbers[q] && q != record.AllQueues {
			v.problem("settings %x = %x: queue exists %v, %v", k, val, v.numbers[q], err)
		}
	})
}

func (v *verifier) liveJobs() error {
	return v.each(record.JobSpace(), func(k, val []byte) {
		q, id, ok := record.ParseJobKey(k)
		if !ok {
			v.problem("job key %x: malformed", k)
			return
		}
		v.job(k, q, id, val)
	})
}

func (v *verifier) deadJobs() error {
	return v.each(record.DeadJobSpace(), func(k, val []byte) {
		q, id, _, _, ok := record.ParseDeadJobKey(k)
		if !ok {
			v.problem("dead job key %x: malformed", k)
			return
		}
		v.job(k, q, id, val)
	})
}

// job checks one record and counts it.
func (v *verifier) job(k []byte, q uint32, id, val []byte) {
	j, err := record.DecodeJob(q, id, val)
	if err != nil {
		v.problem("job %q of queue %d = %x: %v", id, q, val, err)
		return
	}
	if want := j.AppendRecordKey(nil); !bytes.Equal(want, k) {
		v.problem("job %q of queue %d stands under %x instead of %x", id, q, k, want)
	}
	for want, value := range j.IndexKeys {
		v.indexed++
		switch got, ok, err := v.r.Get(want); {
		case err != nil || !ok:
			v.problem("job %q of queue %d (state %d, seq %d) lacks index key %x (%v)", id, q, j.State, j.Seq, want, err)
		case !bytes.Equal(got, value):
			v.problem("job %q of queue %d: index key %x = %x instead of %x", id, q, want, got, value)
		}
	}
	if j.Wake == (record.Instant{}) && (j.State == record.Delayed || j.State == record.Leased) {
		v.problem("job %q of queue %d in state %d has no wake-up", id, q, j.State)
	}
	if j.Seq >= v.applied.NextSeq {
		v.problem("job %q of queue %d: seq %d is not below the next one, %d", id, q, j.Seq, v.applied.NextSeq)
	}
	if j.Token > 0 && j.Token >= v.applied.NextToken {
		v.problem("job %q of queue %d: token %d is not below the next one, %d", id, q, j.Token, v.applied.NextToken)
	}
	s := jobSeq{queue: q, seq: j.Seq}
	if j.Separate {
		s.separate = j.PayloadSize + 1
	}
	v.seqs = append(v.seqs, s)

	n := v.counted[q]
	if n == nil {
		n = &record.Queue{Number: q}
		v.counted[q] = n
	}
	*[...]*int64{record.Delayed: &n.Delayed, record.Ready: &n.Ready, record.Leased: &n.Leased, record.Dead: &n.Dead}[j.State]++
	n.Bytes += int64(j.PayloadSize)
}

// indexes looks for index keys that no job has. Each job's keys were found, so
// equal numbers prove that there are no others; only else are they looked at one by one.
func (v *verifier) indexes() error {
	type space struct {
		prefix []byte
		owner  func(k, val []byte) (recordKey []byte, ok bool)
	}
	dead := func(k, id []byte) ([]byte, bool) {
		q, died, seq, ok := record.ParseDeadOrderKey(k)
		return record.AppendDeadJobKey(nil, q, id, died, seq), ok
	}
	live := func(q uint32, id []byte, ok bool) ([]byte, bool) { return record.AppendJobKey(nil, q, id), ok }
	spaces := []space{
		{record.WakeSpace(), func(k, val []byte) ([]byte, bool) {
			wake, seq, ok := record.ParseWakeKey(k)
			w, wok := record.ParseWakeValue(val)
			if ok && wake.Ns < v.applied.Cursors[wake.Domain] {
				v.problem("wake-up %d of job %q in domain %d is below the cursor %d", wake.Ns, w.ID, wake.Domain, v.applied.Cursors[wake.Domain])
			}
			return w.AppendRecordKey(nil, seq), ok && wok
		}},
		{record.DelayedSpace(), func(k, id []byte) ([]byte, bool) {
			q, _, _, _, ok := record.ParseDelayedKey(k)
			return live(q, id, ok)
		}},
		{record.ReadySpace(), func(k, id []byte) ([]byte, bool) {
			q, _, _, _, ok := record.ParseReadyKey(k)
			return live(q, id, ok)
		}},
		{record.DeadOrderSpace(), dead},
	}
	total := 0
	for _, s := range spaces {
		if err := v.each(s.prefix, func(k, val []byte) { total++; s.owner(k, val) }); err != nil {
			return err
		}
	}
	if total == v.indexed {
		return nil
	}
	for _, s := range spaces {
		err := v.each(s.prefix, func(k, val []byte) {
			key, ok := s.owner(k, val)
			if !ok {
				v.problem("index key %x = %x: malformed", k, val)
			} else if !v.owns(key, k) {
				v.problem("index key %x = %x: no job has it", k, val)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// owns reports whether the job under a record key has an index key.
func (v *verifier) owns(recordKey, indexKey []byte) bool {
	value, ok, err := v.r.Get(recordKey)
	if err != nil || !ok {
		return false
	}
	q, id, ok := record.ParseJobKey(recordKey)
	if !ok {
		q, id, _, _, _ = record.ParseDeadJobKey(recordKey)
	}
	j, err := record.DecodeJob(q, id, value)
	if err != nil {
		return false
	}
	for k := range j.IndexKeys {
		if bytes.Equal(k, indexKey) {
			return true
		}
	}
	return false
}

// bodies walks separate bodies and the jobs that have one side by side.
func (v *verifier) bodies() error {
	slices.SortFunc(v.seqs, func(a, b jobSeq) int {
		return cmp.Or(cmp.Compare(a.queue, b.queue), cmp.Compare(a.seq, b.seq))
	})
	rest := v.seqs
	skip := func(until func(jobSeq) bool) {
		for len(rest) > 0 && !until(rest[0]) {
			if rest[0].separate > 0 {
				v.problem("job with seq %d of queue %d lacks its body", rest[0].seq, rest[0].queue)
			}
			rest = rest[1:]
		}
	}
	err := v.each(record.BodySpace(), func(k, val []byte) {
		q, seq, ok := record.ParseBodyKey(k)
		if !ok {
			v.problem("body key %x: malformed", k)
			return
		}
		skip(func(s jobSeq) bool { return s.queue > q || s.queue == q && s.seq >= seq })
		if len(rest) == 0 || rest[0].queue != q || rest[0].seq != seq || rest[0].separate == 0 {
			v.problem("body %d of queue %d belongs to no job", seq, q)
			return
		}
		if b, err := record.DecodeBody(val); err != nil {
			v.problem("body %d of queue %d: %v", seq, q, err)
		} else if len(b.Payload) != int(rest[0].separate)-1 {
			v.problem("body %d of queue %d: payload of %d bytes, its job says %d", seq, q, len(b.Payload), rest[0].separate-1)
		}
		rest = rest[1:]
	})
	skip(func(jobSeq) bool { return false })
	return err
}

func (v *verifier) order() error {
	slices.SortFunc(v.seqs, func(a, b jobSeq) int { return cmp.Compare(a.seq, b.seq) })
	for i := 1; i < len(v.seqs); i++ {
		if v.seqs[i].seq == v.seqs[i-1].seq {
			v.problem("seq %d is that of two jobs, in queues %d and %d", v.seqs[i].seq, v.seqs[i-1].queue, v.seqs[i].queue)
		}
	}
	return nil
}

func (v *verifier) gauges() error {
	for number := range v.counted {
		if !v.numbers[number] {
			v.problem("there are jobs of queue %d, which does not exist", number)
		}
	}
	return v.each(record.QueueSpace(), func(k, val []byte) {
		number, _ := record.ParseQueueKey(k)
		q, err := record.DecodeQueue(number, val)
		if err != nil {
			return // reported before
		}
		n := v.counted[number]
		if n == nil {
			n = &record.Queue{}
		}
		for _, g := range []struct {
			name          string
			stored, count int64
		}{
			{"delayed", q.Delayed, n.Delayed}, {"ready", q.Ready, n.Ready}, {"leased", q.Leased, n.Leased},
			{"dead", q.Dead, n.Dead}, {"bytes", q.Bytes, n.Bytes},
		} {
			if g.stored != g.count {
				v.problem("queue %d %q: gauge %s is %d, a recount gives %d", number, q.Name, g.name, g.stored, g.count)
			}
		}
	})
}

// idem checks that memories and their sweep keys belong together, one to one.
func (v *verifier) idem() error {
	memories, sweeps := 0, 0
	err := v.each(record.IdemSpace(), func(k, val []byte) {
		memories++
		q, id, ok := record.ParseIdemKey(k)
		m, err := record.DecodeIdem(val)
		if !ok || err != nil || q >= v.applied.NextQueue { // that of a dropped queue stays until it is swept
			v.problem("memory %x = %x: next queue %d, %v", k, val, v.applied.NextQueue, err)
			return
		}
		if _, ok, err := v.r.Get(record.AppendIdemSweepKey(nil, m.Until, q, id)); !ok || err != nil {
			v.problem("memory of %q in queue %d until %d lacks its sweep key (%v)", id, q, m.Until, err)
		}
	})
	if err != nil {
		return err
	}
	return v.each(record.IdemSweepSpace(), func(k, val []byte) {
		sweeps++
		until, q, id, ok := record.ParseIdemSweepKey(k)
		if !ok || len(val) > 0 {
			v.problem("sweep key %x = %x: malformed", k, val)
			return
		}
		if until < v.applied.IdemCursor {
			v.problem("sweep key of %q in queue %d, until %d, is below the cursor %d", id, q, until, v.applied.IdemCursor)
		}
		value, ok, err := v.r.Get(record.AppendIdemKey(nil, q, id))
		if m, derr := record.DecodeIdem(value); err != nil || !ok || derr != nil || m.Until != until {
			v.problem("sweep key of %q in queue %d until %d has no such memory (%v)", id, q, until, err)
		}
	})
}

// unknown looks for keys between the known spaces.
func (v *verifier) unknown() error {
	known := [][]byte{
		record.AppliedKey(), record.FormatKey(), record.JobSpace(), record.BodySpace(), record.WakeSpace(),
		record.DelayedSpace(), record.ReadySpace(), record.DeadJobSpace(), record.DeadOrderSpace(), record.QueueNameSpace(),
		record.QueueSpace(), record.SettingsSpace(), record.IdemSpace(), record.IdemSweepSpace(),
	}
	lo := []byte{}
	stray := func(k, _ []byte) bool { return v.problem("key %x is of no known kind", k) }
	for _, space := range known {
		if err := v.r.Scan(lo, space, stray); err != nil {
			return err
		}
		lo = record.PrefixEnd(space)
	}
	return v.r.Scan(lo, nil, stray)
}
