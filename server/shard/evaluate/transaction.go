package evaluate

import (
	"fmt"

	"dqd/commands"
	"dqd/persist/record"
	"dqd/server/shard/dispatch"
)

const (
	// transactionReplies bounds the payloads in the replies of a transaction, in bytes.
	transactionReplies = 16 << 20
	// transactionEffects bounds what a transaction writes, as Size counts it: in one
	// entry, whatever its commands are.
	transactionEffects = 64 << 20
)

// Transaction decides the commands of a MULTI one after the other, each on what those
// before it leave; one decides a single command, as Evaluate does. If one is answered
// with an error, or needs committed state (again), all that the transaction did is
// taken back, and the batch is as it was. Waiting pops are served behind it only.
func (b *Batch) Transaction(t *commands.Transaction, one func(commands.Request) (reply commands.Reply, again bool)) (reply commands.Reply, again bool) {
	b.bytes += findCost * len(t.Commands) // it is work, whether it takes place or not
	b.beginUndo()
	results := make(commands.Results, len(t.Commands))
	for i := range t.Commands {
		c := &t.Commands[i]
		if c.Request == nil {
			results[i] = c.Reply
			continue
		}
		reply, again := one(c.Request)
		if reply == nil {
			reply = commands.NullArray{} // BLOCK does not block
		}
		err, failed := reply.(commands.Error)
		switch {
		case again:
		case failed:
		case b.Replied-b.undo.replied > transactionReplies:
			err = commands.Error(fmt.Sprintf("TOOBIG the payloads in the replies of a transaction are limited to %d bytes: take fewer jobs in it", transactionReplies))
		case b.Size()-b.undo.bytes-b.undo.effects > transactionEffects:
			err = commands.Error(fmt.Sprintf("TOOBIG what a transaction writes is limited to %d bytes: send it in parts", transactionEffects))
		default:
			results[i] = reply
			continue
		}
		b.rollBack()
		if again {
			return nil, true
		}
		return commands.Error(fmt.Sprintf("EXECABORT Transaction discarded: command %d (%s): %s", i+1, c.Name, err)), false
	}
	b.undo = nil
	return results, false
}

// undo is what takes a transaction back: copies of what it changes, made at the first
// touch of a queue and before each change of a job, and the lengths and sums at its
// beginning. What it has only looked at stays in memory, as it is true; so do its hints
// of wake-ups and the known ids, of which too many do no harm.
type undo struct {
	applied                       record.Applied
	totals                        record.Queue
	queueCount, sweepAt           int64
	bytes, effects, replied       int
	touched, queued, idems        int
	want, large, deliveries, runs int
	gone                          int
	jobs                          []keptJob
	queues                        []keptQueue
	places                        []keptPlace
	memories                      []keptMemory
	holds                         []dispatch.Held // leases that ended
	defaults                      *keptDefaults
}

type (
	keptJob struct {
		job *job
		was job
	}
	keptQueue struct {
		queue *queue
		was   queue
	}
	keptPlace struct { // of a live job
		key string
		was *job
	}
	keptDefaults struct {
		own record.Own
		set record.Settings
	}
	keptMemory struct {
		key   string
		entry *idem
		was   idem
	}
)

// beginUndo makes all that changes from now on be kept, for rollBack.
func (b *Batch) beginUndo() {
	b.transactions++
	b.undo = &undo{
		applied: b.Applied, totals: b.totals, queueCount: b.queueCount, sweepAt: b.sweepAt,
		bytes: b.bytes, effects: b.effects.Size(), replied: b.Replied,
		touched: len(b.touched), queued: len(b.queued), idems: len(b.idems),
		want: len(b.want), large: len(b.large), gone: len(b.gone),
		deliveries: len(b.Report.Deliveries), runs: len(b.Report.Runs),
	}
}

// keepJob must be called before a job of the batch is changed.
func (b *Batch) keepJob(j *job) {
	if b.undo != nil {
		b.undo.jobs = append(b.undo.jobs, keptJob{j, *j})
	}
}

// keepQueue must be called before a queue is changed; touch does.
func (b *Batch) keepQueue(q *queue) {
	if b.undo == nil || q.kept == b.transactions {
		return
	}
	b.undo.queues = append(b.undo.queues, keptQueue{q, *q})
	q.kept = b.transactions
}

// keepPlace must be called before another job is put under a live job's key.
func (b *Batch) keepPlace(key string) {
	if b.undo != nil {
		b.undo.places = append(b.undo.places, keptPlace{key, b.jobs.get([]byte(key))})
	}
}

// keepMemory must be called before the IDEM memory under a key is changed; entry is
// what the overlay has of it, or nil.
func (b *Batch) keepMemory(key []byte, entry *idem) {
	if b.undo == nil {
		return
	}
	k := keptMemory{key: string(key), entry: entry}
	if entry != nil {
		k.was = *entry
	}
	b.undo.memories = append(b.undo.memories, k)
}

// keepHold must be called before it is forgotten over which connection a lease was given.
func (b *Batch) keepHold(token uint64) {
	if b.undo != nil {
		b.undo.holds = append(b.undo.holds, b.Holders.Of(token)...)
	}
}

// keepDefaults must be called before the settings of all queues are changed.
func (b *Batch) keepDefaults() {
	if b.undo != nil && b.undo.defaults == nil {
		b.undo.defaults = &keptDefaults{b.all, *b.defaults}
	}
}

// rollBack makes the batch as it was at begin: the youngest copies first, so that the
// oldest of each thing wins.
func (b *Batch) rollBack() {
	u := b.undo
	b.undo = nil
	for i := len(u.jobs) - 1; i >= 0; i-- {
		*u.jobs[i].job = u.jobs[i].was
	}
	for i := len(u.places) - 1; i >= 0; i-- {
		b.jobs.restore(u.places[i].key, u.places[i].was)
	}
	for i := len(u.memories) - 1; i >= 0; i-- {
		k := u.memories[i]
		if k.entry == nil {
			delete(b.idem, k.key)
			continue
		}
		*k.entry = k.was
		b.idem[k.key] = k.entry
	}
	for i := len(u.queues) - 1; i >= 0; i-- {
		k := u.queues[i]
		// Its head may lack jobs that a pop took from it, and what it holds may never
		// have been.
		b.Heads.Forget(k.queue.Number)
		*k.queue = k.was
		if k.queue.Number >= u.applied.NextQueue {
			delete(b.queues, string(k.queue.Name))
			delete(b.byNum, k.queue.Number)
		} else if !k.was.gone { // another may have had its name
			b.queues[string(k.queue.Name)] = k.queue
		}
	}
	if d := u.defaults; d != nil {
		b.useDefaults(d.own, d.set)
	}
	for t := u.applied.NextToken; t < b.Applied.NextToken; t++ {
		b.Holders.Drop(t)
	}
	for _, l := range u.holds {
		if l.Token < u.applied.NextToken {
			b.Holders.Add(l)
		}
	}
	b.Applied, b.totals, b.queueCount, b.sweepAt = u.applied, u.totals, u.queueCount, u.sweepAt
	b.bytes, b.Replied = u.bytes, u.replied
	b.effects.Cut(u.effects)
	b.touched, b.queued, b.idems = cut(b.touched, u.touched), cut(b.queued, u.queued), cut(b.idems, u.idems)
	b.want, b.large, b.gone = cut(b.want, u.want), cut(b.large, u.large), cut(b.gone, u.gone)
	b.Report.Deliveries, b.Report.Runs = b.Report.Deliveries[:u.deliveries], b.Report.Runs[:u.runs]
}

// cut returns the first n elements, and lets go of the others.
func cut[T any](s []T, n int) []T {
	clear(s[n:])
	return s[:n]
}
