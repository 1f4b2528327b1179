package evaluate

import (
	"fmt"

	"dqd/commands"
	"dqd/server/shard/dispatch"
)

// Evaluate decides a request. A nil reply without again means that a pop found
// nothing and may wait: see Park. again means that the request needs committed
// state: commit the batch, then evaluate it once more in the next one; it has
// changed nothing.
func (b *Batch) Evaluate(r commands.Request) (reply commands.Reply, again bool) {
	defer catchBoundary(&again)
	return b.evaluate(r), false
}

func (b *Batch) evaluate(r commands.Request) commands.Reply {
	switch r := r.(type) {
	case *commands.Add:
		return b.add(r)
	case *commands.MAdd:
		return b.addMany(r)
	case *commands.Pop:
		return b.popOrWait(r)
	case *commands.Ack:
		return b.ack(r)
	case *commands.Nack:
		return b.nack(r)
	case *commands.Extend:
		return b.extend(r)
	case *commands.Cancel:
		return b.cancel(r)
	case *commands.Reschedule:
		return b.reschedule(r)
	case *commands.Get:
		return b.get(r)
	case *commands.Len:
		return b.length(r)
	case *commands.DBSize:
		return commands.Int(b.queueCount)
	case *commands.Exists:
		return b.exists(r)
	case *commands.Type:
		return b.typeOf(r)
	case *commands.Stats:
		return b.stats(r)
	case *commands.Usage:
		return b.usage(r)
	case *commands.SetConfig:
		return b.setConfig(r)
	case *commands.GetConfig:
		return b.getConfig(r)
	case *commands.ResetConfig:
		return b.resetConfig(r)
	case *commands.Pause:
		return b.pause(r)
	case *commands.Resume:
		return b.resume(r)
	case *commands.Requeue: // IDS: all in one entry
		return b.requeueIDs(r)
	}
	return commands.Error(fmt.Sprintf("ERR internal error: no evaluation for %T", r))
}

// popOrWait pops, or returns nil for a pop that shall wait.
func (b *Batch) popOrWait(r *commands.Pop) commands.Reply {
	if err := b.checkPop(r); err != "" {
		return err
	}
	if reply := b.pop(r); reply != nil {
		return reply
	}
	if r.Block == 0 {
		return commands.NullArray{}
	}
	if n := b.Waiters.Len(); n >= b.limit.MaxWaits || b.Waiters.Places()+len(r.Queues) > placesPerWait*b.limit.MaxWaits {
		return commands.Error(fmt.Sprintf("BUSY %d pops are waiting already, the most that this server keeps: nothing was done, try later", n))
	}
	return nil
}

// placesPerWait is in how many lines the waiting pops may stand, on average, when
// there are as many as allowed.
const placesPerWait = 64

// Park makes a pop that found nothing wait for its block time.
func (b *Batch) Park(r *commands.Pop, call any) *dispatch.Waiter {
	w := &dispatch.Waiter{Pop: r, Call: call, Client: b.From, Deadline: b.now.Progress + r.Block}
	for _, name := range r.Queues {
		w.Queues = append(w.Queues, string(name))
	}
	b.Waiters.Add(w)
	for _, name := range r.Queues {
		if q := b.queueNamed(name); q != nil {
			b.wants(q) // if it has ready jobs, it is held back: somebody must look again
		}
	}
	return w
}
