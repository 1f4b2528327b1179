package raftfsm

import (
	"errors"
	"fmt"
	"log/slog"
	"os"

	"dqd/persist"
	"dqd/persist/record"
)

// Checked says what Check found in a folder.
type Checked struct {
	Empty    bool   // its first start was interrupted: there is nothing in it
	Entries  uint64 // in the log
	Applied  uint64 // the log's index that the state has reached
	Tables   int    // of both stores
	Queues   int64
	Live     int64 // jobs
	Dead     int64 // jobs
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
	if c.Empty || errors.Is(err, ErrForeign) {
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

	switch {
	case log == nil || state == nil:
		return
	case snaps == nil:
		snaps = &snapshotStore{}
		_, err = inspect(o.Dir, o.Shard, state, log, snaps)
	default:
		var has found
		if has, err = inspect(o.Dir, o.Shard, state, log, snaps); err == nil {
			err = has.check(o.Dir)
		}
		c.Applied = has.applied.Index
		if has.last > 0 {
			c.Entries = has.last - has.first + 1
		}
	}
	c.problem(err)
	for _, err := range each(c.content(state, sound)) {
		c.problem(refusef(c.f.stateDir(), "%v", fromBackup, err))
	}
}

// content verifies the records, if they can be read, and counts them.
func (c *checker) content(state *persist.State, sound bool) error {
	if !sound {
		return nil // verifying would stop at the damaged table
	}
	if err := persist.Verify(state); err != nil {
		return err
	}
	return c.count(state)
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

// count adds up the queues.
func (c *checker) count(state *persist.State) error {
	space := record.QueueSpace()
	return state.Scan(space, record.PrefixEnd(space), func(k, v []byte) bool {
		number, ok := record.ParseQueueKey(k)
		if q, err := record.DecodeQueue(number, v); ok && err == nil {
			c.Queues++
			c.Live += q.Live()
			c.Dead += q.Dead
		}
		return true
	})
}
