package record

import (
	"bytes"
	"encoding/binary"
	"math"
)

// The first bytes of the keys; the table in doc.go shows what follows them.
// They are on disk: never reused.
const (
	metaPrefix    = 0x00
	jobPrefix     = 0x01
	bodyPrefix    = 0x02
	wakePrefix    = 0x03
	delayedPrefix = 0x04
	readyPrefix   = 0x05
	deadPrefix    = 0x06
	queuePrefix   = 0x07
	idemPrefix    = 0x08

	appliedSub   = 0x01
	formatSub    = 0x02
	deadJobSub   = 0x00
	deadOrderSub = 0x01
	nameSub      = 0x00
	queueSub     = 0x01
	settingsSub  = 0x02
	idemSub      = 0x00
	idemSweepSub = 0x01
)

// MaxIDLen is what the length field of a dead job's key can hold.
const MaxIDLen = math.MaxUint16

// AppliedKey returns the key of the Applied record.
func AppliedKey() []byte { return []byte{metaPrefix, appliedSub} }

// FormatKey returns the key of the Format record.
func FormatKey() []byte { return []byte{metaPrefix, formatSub} }

// AppendJobKey appends a live job's key. The queue has a fixed width and the id
// is the whole rest, so two different (queue, id) pairs never share a key.
func AppendJobKey(dst []byte, q uint32, id []byte) []byte {
	return append(be32(append(dst, jobPrefix), q), id...)
}

// AppendJobPrefix appends what the keys of all live jobs of a queue begin with.
func AppendJobPrefix(dst []byte, q uint32) []byte { return AppendJobKey(dst, q, nil) }

// ParseJobKey takes a live job's key apart. The id aliases the key.
func ParseJobKey(k []byte) (q uint32, id []byte, ok bool) {
	if len(k) < 5 || k[0] != jobPrefix {
		return 0, nil, false
	}
	return binary.BigEndian.Uint32(k[1:]), k[5:], true
}

// AppendBodyKey appends the key of a separate body.
func AppendBodyKey(dst []byte, q uint32, seq uint64) []byte {
	return be64(be32(append(dst, bodyPrefix), q), seq)
}

// ParseBodyKey takes a body key apart.
func ParseBodyKey(k []byte) (q uint32, seq uint64, ok bool) {
	if len(k) != 13 || k[0] != bodyPrefix {
		return 0, 0, false
	}
	return binary.BigEndian.Uint32(k[1:]), binary.BigEndian.Uint64(k[5:]), true
}

// AppendWakeKey appends a key of the wake index.
func AppendWakeKey(dst []byte, wake Instant, seq uint64) []byte {
	return be64(be64(append(dst, wakePrefix, byte(wake.Domain)), uint64(wake.Ns)), seq)
}

// AppendWakePrefix appends what the wake keys of a domain begin with.
func AppendWakePrefix(dst []byte, d Domain) []byte { return append(dst, wakePrefix, byte(d)) }

// ParseWakeKey takes a key of the wake index apart.
func ParseWakeKey(k []byte) (wake Instant, seq uint64, ok bool) {
	if len(k) != 18 || k[0] != wakePrefix {
		return Instant{}, 0, false
	}
	wake, ok = parseInstant(k[1:])
	return wake, binary.BigEndian.Uint64(k[10:]), ok
}

// WakeValue is the value of a wake key: enough to find the job's record with one Get.
//
//	4  queue
//	1  0 = live, 1 = dead
//	8  died, only if dead
//	…  id
type WakeValue struct {
	Queue uint32
	Dead  bool
	Died  int64 // progress ns, 0 if live
	ID    []byte
}

func (w *WakeValue) append(dst []byte) []byte {
	dst = be32(dst, w.Queue)
	if w.Dead {
		dst = be64(append(dst, 1), uint64(w.Died))
	} else {
		dst = append(dst, 0)
	}
	return append(dst, w.ID...)
}

// ParseWakeValue takes the value of a wake key apart. The id aliases the value.
func ParseWakeValue(v []byte) (w WakeValue, ok bool) {
	if len(v) < 5 || v[4] > 1 {
		return w, false
	}
	w.Queue = binary.BigEndian.Uint32(v)
	if w.ID = v[5:]; v[4] == 0 {
		return w, true
	}
	if len(w.ID) < 8 {
		return WakeValue{}, false
	}
	w.Dead, w.Died, w.ID = true, int64(binary.BigEndian.Uint64(w.ID)), w.ID[8:]
	return w, w.Died >= 0
}

// AppendRecordKey appends the key of the job's record; seq is the one of the wake key.
func (w *WakeValue) AppendRecordKey(dst []byte, seq uint64) []byte {
	if w.Dead {
		return AppendDeadJobKey(dst, w.Queue, w.ID, w.Died, seq)
	}
	return AppendJobKey(dst, w.Queue, w.ID)
}

// AppendDelayedKey appends a key of a queue's delayed index; its value is the id.
func AppendDelayedKey(dst []byte, q uint32, due Instant, pri uint8, seq uint64) []byte {
	dst = append(be32(append(dst, delayedPrefix), q), byte(due.Domain))
	return be64(append(be64(dst, uint64(due.Ns)), pri), seq)
}

// AppendDelayedPrefix appends what the delayed keys of a queue in one domain begin with.
func AppendDelayedPrefix(dst []byte, q uint32, d Domain) []byte {
	return append(be32(append(dst, delayedPrefix), q), byte(d))
}

// ParseDelayedKey takes a key of the delayed index apart.
func ParseDelayedKey(k []byte) (q uint32, due Instant, pri uint8, seq uint64, ok bool) {
	if len(k) != 23 || k[0] != delayedPrefix {
		return 0, Instant{}, 0, 0, false
	}
	due, ok = parseInstant(k[5:])
	return binary.BigEndian.Uint32(k[1:]), due, k[14], binary.BigEndian.Uint64(k[15:]), ok
}

// AppendReadyKey appends a key of a queue's ready index; its value is the id.
// due is on the wall timeline.
func AppendReadyKey(dst []byte, q uint32, pri uint8, due int64, seq uint64) []byte {
	dst = append(be32(append(dst, readyPrefix), q), pri)
	return be64(be64(dst, uint64(due)), seq)
}

// AppendReadyPrefix appends what the ready keys of a queue begin with.
func AppendReadyPrefix(dst []byte, q uint32) []byte { return be32(append(dst, readyPrefix), q) }

// ParseReadyKey takes a key of the ready index apart.
func ParseReadyKey(k []byte) (q uint32, pri uint8, due int64, seq uint64, ok bool) {
	if len(k) != 22 || k[0] != readyPrefix {
		return 0, 0, 0, 0, false
	}
	due = int64(binary.BigEndian.Uint64(k[6:]))
	return binary.BigEndian.Uint32(k[1:]), k[5], due, binary.BigEndian.Uint64(k[14:]), due >= 0
}

// AppendDeadJobKey appends a dead job's key. Several dead jobs may have the same
// id; the length before the id keeps one id from being the beginning of another's
// key. Both numbers are inverted: the newest of an id comes first.
func AppendDeadJobKey(dst []byte, q uint32, id []byte, died int64, seq uint64) []byte {
	return be64(be64(AppendDeadIDPrefix(dst, q, id), ^uint64(died)), ^seq)
}

// AppendDeadIDPrefix appends what the keys of all dead jobs with this id begin with.
func AppendDeadIDPrefix(dst []byte, q uint32, id []byte) []byte {
	dst = AppendDeadJobPrefix(dst, q)
	return append(binary.BigEndian.AppendUint16(dst, uint16(len(id))), id...)
}

// AppendDeadJobPrefix appends what the keys of all dead jobs of a queue begin with.
func AppendDeadJobPrefix(dst []byte, q uint32) []byte {
	return be32(append(dst, deadPrefix, deadJobSub), q)
}

// ParseDeadJobKey takes a dead job's key apart. The id aliases the key.
func ParseDeadJobKey(k []byte) (q uint32, id []byte, died int64, seq uint64, ok bool) {
	if len(k) < 24 || k[0] != deadPrefix || k[1] != deadJobSub {
		return 0, nil, 0, 0, false
	}
	q, n := binary.BigEndian.Uint32(k[2:]), int(binary.BigEndian.Uint16(k[6:]))
	if len(k) != 24+n {
		return 0, nil, 0, 0, false
	}
	rest := k[8+n:]
	died = int64(^binary.BigEndian.Uint64(rest))
	return q, k[8 : 8+n : 8+n], died, ^binary.BigEndian.Uint64(rest[8:]), died >= 0
}

// AppendDeadOrderKey appends a key of a queue's order of death; its value is the id.
func AppendDeadOrderKey(dst []byte, q uint32, died int64, seq uint64) []byte {
	return be64(be64(AppendDeadOrderPrefix(dst, q), uint64(died)), seq)
}

// AppendDeadOrderPrefix appends what the order-of-death keys of a queue begin with.
func AppendDeadOrderPrefix(dst []byte, q uint32) []byte {
	return be32(append(dst, deadPrefix, deadOrderSub), q)
}

// ParseDeadOrderKey takes a key of the order of death apart.
func ParseDeadOrderKey(k []byte) (q uint32, died int64, seq uint64, ok bool) {
	if len(k) != 22 || k[0] != deadPrefix || k[1] != deadOrderSub {
		return 0, 0, 0, false
	}
	died = int64(binary.BigEndian.Uint64(k[6:]))
	return binary.BigEndian.Uint32(k[2:]), died, binary.BigEndian.Uint64(k[14:]), died >= 0
}

// AppendQueueNameKey appends the key that maps a queue's name to its number.
func AppendQueueNameKey(dst []byte, name []byte) []byte {
	return append(append(dst, queuePrefix, nameSub), name...)
}

// AppendQueueNumber appends the value of a queue-name key.
func AppendQueueNumber(dst []byte, q uint32) []byte { return be32(dst, q) }

// ParseQueueNumber takes the value of a queue-name key apart.
func ParseQueueNumber(v []byte) (q uint32, ok bool) {
	if len(v) != 4 {
		return 0, false
	}
	return binary.BigEndian.Uint32(v), true
}

// AppendQueueKey appends the key of a Queue record.
func AppendQueueKey(dst []byte, q uint32) []byte {
	return be32(append(dst, queuePrefix, queueSub), q)
}

// AllQueues is the number under which the defaults of all queues stand; no queue has it.
const AllQueues = 0

// AppendSettingsKey appends the key of an Own record.
func AppendSettingsKey(dst []byte, q uint32) []byte {
	return be32(append(dst, queuePrefix, settingsSub), q)
}

// ParseQueueKey takes the key of a Queue record apart.
func ParseQueueKey(k []byte) (q uint32, ok bool) { return parseQueueSub(k, queueSub) }

// ParseSettingsKey takes the key of an Own record apart.
func ParseSettingsKey(k []byte) (q uint32, ok bool) { return parseQueueSub(k, settingsSub) }

func parseQueueSub(k []byte, sub byte) (q uint32, ok bool) {
	if len(k) != 6 || k[0] != queuePrefix || k[1] != sub {
		return 0, false
	}
	return binary.BigEndian.Uint32(k[2:]), true
}

// AppendIdemKey appends the key of an Idem record.
func AppendIdemKey(dst []byte, q uint32, id []byte) []byte {
	return append(be32(append(dst, idemPrefix, idemSub), q), id...)
}

// ParseIdemKey takes the key of an Idem record apart. The id aliases the key.
func ParseIdemKey(k []byte) (q uint32, id []byte, ok bool) {
	if len(k) < 6 || k[0] != idemPrefix || k[1] != idemSub {
		return 0, nil, false
	}
	return binary.BigEndian.Uint32(k[2:]), k[6:], true
}

// AppendIdemSweepKey appends the key under which an Idem record is found when it expires.
func AppendIdemSweepKey(dst []byte, until int64, q uint32, id []byte) []byte {
	return append(be32(AppendIdemSweepBound(dst, until), q), id...)
}

// AppendIdemSweepBound appends the lower bound of all sweep keys with this expiry or a later one.
func AppendIdemSweepBound(dst []byte, until int64) []byte {
	return be64(append(dst, idemPrefix, idemSweepSub), uint64(until))
}

// ParseIdemSweepKey takes a sweep key apart. The id aliases the key.
func ParseIdemSweepKey(k []byte) (until int64, q uint32, id []byte, ok bool) {
	if len(k) < 14 || k[0] != idemPrefix || k[1] != idemSweepSub {
		return 0, 0, nil, false
	}
	until = int64(binary.BigEndian.Uint64(k[2:]))
	return until, binary.BigEndian.Uint32(k[10:]), k[14:], until >= 0
}

// Lower bounds of whole key spaces, for scans up to their PrefixEnd.

// JobSpace is the prefix of all live jobs.
func JobSpace() []byte { return []byte{jobPrefix} }

// BodySpace is the prefix of all separate bodies.
func BodySpace() []byte { return []byte{bodyPrefix} }

// WakeSpace is the prefix of the wake index.
func WakeSpace() []byte { return []byte{wakePrefix} }

// DelayedSpace is the prefix of the delayed index.
func DelayedSpace() []byte { return []byte{delayedPrefix} }

// ReadySpace is the prefix of the ready index.
func ReadySpace() []byte { return []byte{readyPrefix} }

// DeadJobSpace is the prefix of all dead jobs.
func DeadJobSpace() []byte { return []byte{deadPrefix, deadJobSub} }

// DeadOrderSpace is the prefix of the order of death.
func DeadOrderSpace() []byte { return []byte{deadPrefix, deadOrderSub} }

// QueueNameSpace is the prefix of all queue names.
func QueueNameSpace() []byte { return []byte{queuePrefix, nameSub} }

// QueueSpace is the prefix of all Queue records.
func QueueSpace() []byte { return []byte{queuePrefix, queueSub} }

// SettingsSpace is the prefix of all Own records.
func SettingsSpace() []byte { return []byte{queuePrefix, settingsSub} }

// IdemSpace is the prefix of all Idem records.
func IdemSpace() []byte { return []byte{idemPrefix, idemSub} }

// IdemSweepSpace is the prefix of all sweep keys.
func IdemSweepSpace() []byte { return []byte{idemPrefix, idemSweepSub} }

// Space is a group of keys.
type Space uint8

const (
	OtherKeys Space = iota
	WakeKeys        // the wake index
	OrderKeys       // delayed, ready and dead jobs of a queue in order
)

// SpaceOf returns the group that a key belongs to.
func SpaceOf(key []byte) Space {
	switch {
	case len(key) == 0:
	case key[0] == wakePrefix:
		return WakeKeys
	case key[0] == delayedPrefix, key[0] == readyPrefix, key[0] == deadPrefix && len(key) > 1 && key[1] == deadOrderSub:
		return OrderKeys
	}
	return OtherKeys
}

// PrefixEnd returns the smallest key that is greater than every key with this
// prefix; nil means that there is none.
func PrefixEnd(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] < 0xff {
			end := bytes.Clone(prefix[:i+1])
			end[i]++
			return end
		}
	}
	return nil
}

func parseInstant(k []byte) (at Instant, ok bool) {
	at = Instant{Domain(k[0]), int64(binary.BigEndian.Uint64(k[1:]))}
	return at, at.Domain <= Wall && at.Ns >= 0
}

func be32(dst []byte, v uint32) []byte { return binary.BigEndian.AppendUint32(dst, v) }
func be64(dst []byte, v uint64) []byte { return binary.BigEndian.AppendUint64(dst, v) }
