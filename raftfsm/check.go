package raftfsm

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/hashicorp/raft"

	"dqd/persist"
	"dqd/persist/record"
	"dqd/raftfsm/effect"
)

// Checked says what Check found in a folder.
type Checked struct {
	Empty    bool   // it has nothing in it, or its first start was interrupted: a start makes it anew
	Entries  uint64 // in the log
	Applied  uint64 // the log's index that the state has reached
	Behind   uint64 // entries of the log that the state does not have yet
	Tables   int    // of both stores
	Queues   int64  // these count what the log has behind the state too
	Live     int64  // jobs
	Dead     int64  // jobs
	Problems []error
}

// Check verifies the whole folder of a node that is not running, and changes
// nothing: the format, every entry of the log and its write-ahead files, every
// block of the tables, every record and index key of the state, the snapshot
// descriptors, and whether all of these fit together. Each problem names the
// folder, what is wrong in it, and what to do. An error says that the folder could
// not be looked at. Of the options it takes Dir, FS, Shard and NodeID.
//
// It takes 24 bytes of memory per job.
func Check(o Options) (c Checked, err error) {
	if err := o.validate(); err != nil {
		return c, err
	}
	o.defaults()
	if _, err := o.FS.Stat(o.Dir); err != nil {
		return c, err
	}
	lock, err := persist.LockExisting(o.FS, o.Dir)
	if err != nil {
		return c, err
	}
	defer lock.Close()
	o.FS = persist.ReadOnlyFS(o.FS)
	f := folder{fs: o.FS, dir: o.Dir, shard: o.Shard, node: o.NodeID}
	c.Empty, err = f.examine()
	if c.Empty || errors.Is(err, ErrForeign) || errors.Is(err, errHalfRestored) {
		return c, err
	}
	ck := checker{Checked: c, o: o, f: f}
	ck.problem(err)
	ck.stores()
	return ck.Checked, nil
}

// examine is prepare without making anything: it reports a folder that holds
// nothing yet.
func (f *folder) examine() (empty bool, err error) {
	content, err := persist.ReadFile(f.fs, f.dir, formatName)
	switch {
	case err == nil:
		return false, f.checkFormat(content)
	case !errors.Is(err, os.ErrNotExist):
		return false, fmt.Errorf("reading %s: %w", f.fs.PathJoin(f.dir, formatName), err)
	}
	return f.unfinished()
}

type checker struct {
	Checked
	o Options
	f folder
}

func (c *checker) problem(err error) {
	if err != nil {
		c.Problems = append(c.Problems, err)
	}
}

// stores opens both stores for reading and looks at all that is in them.
func (c *checker) stores() {
	o := &c.o
	// A fault is reported by the call that met it.
	o.Fatal, o.Logger = func(error) {}, slog.New(slog.DiscardHandler)
	snaps, err := openSnapshots(o.FS, c.f.snapDir())
	c.problem(err)

	lo := o.logOptions(true)
	lo.ReadOnly, lo.WarmUp = true, false
	log, err := persist.OpenLog(c.f.logDir(), o.Shard, lo)
	if err != nil {
		c.problem(certainly(c.f.logDir(), lostLog, err))
	} else {
		defer log.Close()
		c.tables(c.f.logDir(), lostLog, log.Metrics(), log.CheckTables())
	}

	so := o.stateOptions(true)
	so.ReadOnly = true
	sound := false
	state, err := persist.OpenState(c.f.stateDir(), so)
	if err != nil {
		c.problem(certainly(c.f.stateDir(), fromBackup, err))
	} else {
		defer state.Close()
		damaged := state.CheckTables()
		sound = len(damaged) == 0
		c.tables(c.f.stateDir(), fromBackup, state.Metrics(), damaged)
	}

	var has found
	switch {
	case log == nil || state == nil:
		return
	case snaps == nil:
		snaps = &snapshotStore{}
		has, err = inspect(o.Dir, o.Shard, state, log, snaps)
	default:
		if has, err = inspect(o.Dir, o.Shard, state, log, snaps); err == nil {
			err = has.check(o.Dir)
		}
		c.Applied = has.applied.Index
		if has.last > 0 {
			c.Entries = has.last - has.first + 1
		}
	}
	c.problem(err)
	fits := err == nil
	queues := census{}
	for _, err := range each(content(state, sound, queues)) {
		c.problem(refusef(c.f.stateDir(), "%v", fromBackup, err))
	}
	if fits {
		if err := c.behind(log, has.applied, queues); err != nil {
			c.problem(refusef(c.f.logDir(), "%v", lostLog, err))
		}
	}
	for _, q := range queues {
		c.Queues++
		c.Live += q.live
		c.Dead += q.dead
	}
}

// behind does with the queues what the next start does with the state: it applies the
// entries of the log that the state does not have yet.
func (c *checker) behind(log *persist.Log, applied record.Applied, queues census) error {
	for i := max(applied.Index+1, log.FirstIndex()); i <= log.LastIndex(); i++ {
		e, err := log.Get(i)
		if err != nil {
			return err
		}
		if raft.LogType(e.Type) != raft.LogCommand {
			continue
		}
		fenced := false
		if applied, fenced, err = effect.Apply(queues, applied, c.o.Shard, e.Index, e.Term, e.Data); err != nil {
			return err
		}
		if !fenced {
			c.Behind++
		}
	}
	return nil
}

// content verifies the records, if they can be read, and notes the queues.
func content(state *persist.State, sound bool, queues census) error {
	if !sound {
		return nil // verifying would stop at the damaged table
	}
	if err := persist.Verify(state); err != nil {
		return err
	}
	return queues.read(state)
}

// tables notes how many tables a store has, and the damaged ones.
func (c *checker) tables(dir, todo string, m persist.StoreMetrics, damaged []error) {
	c.Tables += int(m.Tables)
	for _, err := range damaged {
		c.problem(certainly(dir, todo, err))
	}
}

// certainly explains any error of a store that ought to open.
func certainly(dir, todo string, err error) error {
	if err = refused(dir, todo, err); errors.Is(err, ErrRefused) {
		return err
	}
	return refusef(dir, "%v", todo, err)
}

// each takes a joined error apart.
func each(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	if err != nil {
		return []error{err}
	}
	return nil
}

// census has the number of jobs of each queue, by the queue's number. As an effect.Txn it
// follows the records of queues, and nothing else.
type census map[uint32]struct{ live, dead int64 }

// read takes the queues of the state.
func (c census) read(state *persist.State) error {
	space := record.QueueSpace()
	return state.Scan(space, record.PrefixEnd(space), func(k, v []byte) bool {
		c.Set(k, v)
		return true
	})
}

func (c census) Set(key, value []byte) {
	number, ok := record.ParseQueueKey(key)
	if !ok {
		return
	}
	if q, err := record.DecodeQueue(number, value); err == nil {
		c[number] = struct{ live, dead int64 }{q.Live(), q.Dead}
	}
}

func (c census) Delete(key []byte) {
	if number, ok := record.ParseQueueKey(key); ok {
		delete(c, number)
	}
}

func (c census) DeleteRange(lo, hi []byte) {
	for number := range c {
		if key := record.AppendQueueKey(nil, number); bytes.Compare(lo, key) <= 0 && bytes.Compare(key, hi) < 0 {
			delete(c, number)
		}
	}
}
