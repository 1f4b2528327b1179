package evaluate

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"dqd/commands"
	"dqd/persist/record"
)

// A queue's settings are its own over those of all queues over the server's.
// Queues without own settings share one copy, so that a change for all counts at once.

// loadDefaults reads the settings of all queues.
func (m *Memory) loadDefaults(base *record.Settings) {
	if v, ok := m.Store.Get(record.AppendSettingsKey(nil, record.AllQueues)); ok {
		own, err := record.DecodeOwn(v)
		corrupt(err)
		m.all = *own
	}
	defaults := m.all.Over(base)
	m.defaults = &defaults
}

// useSettings makes the queue go by its own settings over the defaults.
func (m *Memory) useSettings(q *queue) {
	q.set = m.defaults
	if q.own.Given != 0 {
		s := q.own.Over(m.defaults)
		q.set = &s
	}
}

// getConfig evaluates DQCONFIG GET.
func (b *Batch) getConfig(r *commands.GetConfig) commands.Reply {
	set := b.defaults
	if q := b.queueNamed(r.Queue); q != nil && !commands.AllDefaults(r.Queue) {
		set = q.set
	}
	shown := *set // it may change before the reply is written
	return &commands.SettingsReply{Settings: &shown, Pattern: bytes.Clone(r.Pattern)}
}

// setConfig evaluates DQCONFIG SET.
func (b *Batch) setConfig(r *commands.SetConfig) commands.Reply {
	return b.changeConfig(r.Queue, func(own *record.Own) {
		own.Copy(&r.Set.Settings, r.Set.Given)
		own.Given |= r.Set.Given
	})
}

// resetConfig evaluates DQCONFIG RESET.
func (b *Batch) resetConfig(r *commands.ResetConfig) commands.Reply {
	return b.changeConfig(r.Queue, func(own *record.Own) { own.Given &^= r.Fields })
}

// changeConfig changes a queue's own settings, or those of all queues.
func (b *Batch) changeConfig(name []byte, change func(*record.Own)) commands.Reply {
	if commands.AllDefaults(name) {
		own := b.all
		change(&own)
		return b.setDefaults(own)
	}
	var own record.Own
	q := b.queueNamed(name)
	if q != nil {
		own = q.own
	}
	change(&own)
	set := own.Over(b.defaults)
	if err := checkLease(&set, name); err != "" {
		return err
	}
	switch {
	case q != nil:
	case own.Given == 0: // there is nothing to reset
		return commands.OK
	default:
		if err := b.roomForQueue(); err != "" {
			return err
		}
		q = b.create(name)
	}
	b.keepQueue(q)
	q.own = own
	b.storeOwn(q.Number, &own)
	b.useSettings(q)
	b.wants(q)
	b.markOver(q)
	b.removeIfBare(q)
	return commands.OK
}

// setDefaults changes the settings of all queues.
func (b *Batch) setDefaults(own record.Own) commands.Reply {
	was, now := *b.defaults, own.Over(&b.limit.Queue)
	if err := checkLease(&now, []byte("*")); err != "" {
		return err
	}
	if now.Lease > was.Lease || now.LeaseMax < was.LeaseMax {
		if err := b.checkLeases(&now); err != "" {
			return err
		}
	}
	b.keepDefaults()
	b.storeOwn(record.AllQueues, &own)
	b.useDefaults(own, now)
	for _, name := range b.Waiters.Names() {
		if q := b.queueNamed([]byte(name)); q != nil {
			b.wants(q)
		}
	}
	if now.DeadCount > 0 && (was.DeadCount == 0 || now.DeadCount < was.DeadCount) {
		b.trims.from = record.QueueSpace()
	}
	return commands.OK
}

// useDefaults makes all queues go by other defaults, of which own was changed.
func (m *Memory) useDefaults(own record.Own, defaults record.Settings) {
	m.all = own
	*m.defaults = defaults
	for _, n := range slices.Sorted(maps.Keys(m.byNum)) {
		m.useSettings(m.byNum[n])
	}
}

func (b *Batch) storeOwn(number uint32, own *record.Own) {
	key := record.AppendSettingsKey(nil, number)
	if own.Given == 0 {
		b.effects.Delete(key)
		return
	}
	b.effects.Set(key, own.AppendValue(nil))
}

// checkLease refuses settings that contradict each other.
func checkLease(s *record.Settings, name []byte) commands.Error {
	if s.Lease <= s.LeaseMax {
		return ""
	}
	return commands.Error(fmt.Sprintf("ERR lease %d ms would be above lease-max %d ms of queue %s: nothing was changed, lower the one or raise the other in the same command",
		commands.MsUp(s.Lease), commands.MsUp(s.LeaseMax), quote(name)))
}

// checkLeases does so for all queues with own settings over new defaults: as the store
// has them, or as the batch leaves them, whose queues are in memory.
func (b *Batch) checkLeases(defaults *record.Settings) (err commands.Error) {
	b.needBoundary()
	for _, n := range slices.Sorted(maps.Keys(b.byNum)) {
		q := b.byNum[n]
		if set := q.own.Over(defaults); set.Lease > set.LeaseMax {
			return checkLease(&set, q.Name)
		}
	}
	b.scan(record.SettingsSpace(), func(key, value []byte) bool {
		number, ok := record.ParseSettingsKey(key)
		own, bad := record.DecodeOwn(value)
		if !ok {
			bad = errBadNumber
		}
		corrupt(bad)
		if number == record.AllQueues || b.byNum[number] != nil {
			return true
		}
		if set := own.Over(defaults); set.Lease > set.LeaseMax {
			err = checkLease(&set, b.queueNumbered(number).Name)
		}
		return err == ""
	})
	return err
}
