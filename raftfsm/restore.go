package raftfsm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/hashicorp/raft"

	"dqd/persist"
	"dqd/persist/record"
	"dqd/raftfsm/archive"
	"dqd/raftfsm/effect"
)

// restoringName marks a folder that a restore is at work in. Other than INCOMPLETE it
// keeps a node from beginning anew in it: who restores does not want an empty node.
const restoringName = "RESTORING"

// Restore makes the folder of a node out of a backup; now is the wall clock's time, in
// Unix ns. The folder must be missing or empty, or that of a restore that was
// interrupted. It becomes a node's, by its file FORMAT, only when all of the backup is in
// it and was verified as Check does; after an error it is as it was.
//
// The node goes on where the backup was taken, with a new log: its jobs, dead jobs,
// queues and memories are those of the backup, time has passed since, and no token is
// given again that may have been given since: see effect.Restored.
//
// Of the options it takes Dir, FS, Shard, NodeID, Fatal, Logger and the sizes. It takes
// 24 bytes of memory per job.
func Restore(o Options, from io.Reader, now int64) (sum archive.Summary, err error) {
	if err := o.validate(); err != nil {
		return sum, err
	}
	o.defaults()
	in, err := archive.NewReader(from)
	if err != nil {
		return sum, err
	}
	if in.Shard != o.Shard {
		return sum, fmt.Errorf("the backup is of shard %d, not of shard %d", in.Shard, o.Shard)
	}
	r := &restore{o: o, f: folder{fs: o.FS, dir: o.Dir, shard: o.Shard, node: o.NodeID}}
	r.o.Fatal = func(err error) { // ends the process
		r.giveUp()
		o.Fatal(err)
	}
	if err = r.claim(); err == nil {
		err = r.fill(in, now)
	}
	if err != nil {
		r.giveUp()
	}
	if r.lock != nil {
		r.lock.Close()
	}
	return in.Summary, err
}

type restore struct {
	o      Options
	f      folder
	made   bool // the folder was not there
	locked bool // its lock's file was
	ours   bool // it was claimed: what is in it, we have made
	lock   io.Closer
}

// claim takes the folder, if it may be used.
func (r *restore) claim() (err error) {
	fs, dir := r.f.fs, r.f.dir
	switch info, err := fs.Stat(dir); {
	case errors.Is(err, os.ErrNotExist):
		r.made = true
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is no folder: name a new one, or an empty one", dir)
	}
	if !r.made {
		// Before the lock, which would leave its file.
		if _, err := r.usable(); err != nil {
			return err
		}
	}
	if r.lock, err = persist.LockFolder(fs, dir); err != nil {
		return err
	}
	again, err := r.usable()
	if err != nil {
		return err
	}
	r.ours = true
	if again {
		r.empty()
	}
	if err := persist.WriteFile(fs, dir, restoringName, nil); err != nil {
		return err
	}
	// Before anything is restored the mark is durable: should the power go, no node
	// shall begin anew here. The folder may have been made a moment ago by another.
	return persist.SyncFolder(fs, fs.PathDir(dir))
}

// usable reports whether a restore was interrupted in the folder, or why it may not be used.
func (r *restore) usable() (again bool, err error) {
	names, err := r.f.fs.List(r.f.dir)
	if err != nil {
		return false, err
	}
	r.locked = r.locked || r.lock == nil && slices.Contains(names, "LOCK")
	names = slices.DeleteFunc(names, func(n string) bool { return n == "LOCK" || strings.HasSuffix(n, ".tmp") })
	again = slices.Contains(names, restoringName) && !slices.Contains(names, formatName)
	if len(names) > 0 && !again {
		return false, fmt.Errorf("the folder %s is not empty, it holds %s: restore into a new folder, or an empty one", r.f.dir, strings.Join(names, ", "))
	}
	return again, nil
}

// empty removes what a restore makes, but for its mark.
func (r *restore) empty() {
	for _, dir := range []string{r.f.logDir(), r.f.shardDir()} {
		r.f.fs.RemoveAll(dir)
	}
}

// giveUp leaves the folder as it was.
func (r *restore) giveUp() {
	if !r.ours {
		return
	}
	// What it vouches for must not go before it, not even when the power is cut.
	switch err := r.f.fs.Remove(r.f.fs.PathJoin(r.f.dir, formatName)); {
	case err == nil:
		persist.SyncFolder(r.f.fs, r.f.dir)
	case !errors.Is(err, os.ErrNotExist):
		return
	}
	r.empty()
	r.f.fs.Remove(r.f.fs.PathJoin(r.f.dir, restoringName))
	r.f.fs.Remove(r.f.fs.PathJoin(r.f.dir, restoringName+".tmp"))
	r.f.fs.Remove(r.f.fs.PathJoin(r.f.dir, formatName+".tmp"))
	if !r.locked {
		r.f.fs.Remove(r.f.fs.PathJoin(r.f.dir, "LOCK"))
	}
	if r.made {
		r.f.fs.Remove(r.f.dir)
	}
}

// fill makes everything in the folder. As in create, FORMAT comes last.
func (r *restore) fill(in *archive.Reader, now int64) error {
	fs := r.f.fs
	if err := fs.MkdirAll(r.f.snapDir(), 0o700); err != nil {
		return err
	}
	applied, err := r.fillState(in, now)
	if err != nil {
		return err
	}
	if err := r.createLog(applied.Term); err != nil {
		return err
	}
	// The log begins behind a snapshot of all that was restored.
	d := snapshot{
		index: applied.Index, term: applied.Term, applied: applied.Index, stateHash: applied.StateHash,
		configurationIndex: applied.Index, configuration: raft.EncodeConfiguration(r.f.alone()),
	}
	if err := persist.WriteFile(fs, r.f.snapDir(), d.name(), d.encode()); err != nil {
		return err
	}
	if err := r.verify(in); err != nil {
		return err
	}
	if err := r.f.vouch(); err != nil {
		return err
	}
	// The node is whole: it starts with the mark too.
	if err := fs.Remove(fs.PathJoin(r.f.dir, restoringName)); err != nil {
		r.o.Logger.Warn("the folder is restored, but its file "+restoringName+" is left: the first start removes it", "error", err)
	}
	return nil
}

// fillState puts the backup into a new state store.
func (r *restore) fillState(in *archive.Reader, now int64) (applied record.Applied, err error) {
	s, err := persist.OpenState(r.f.stateDir(), r.o.stateOptions(false))
	if err != nil {
		return applied, err
	}
	defer func() {
		if cerr := s.Close(); err == nil {
			err = cerr
		}
	}()
	for {
		pairs, err := in.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return applied, err
		}
		b := s.Batch()
		for k, v := range pairs.All() {
			b.Set(k, v)
		}
		if err := b.Commit(); err != nil {
			return applied, err
		}
	}
	applied = effect.Restored(in.Applied, now-in.Taken)
	b := s.Batch()
	b.Set(record.AppliedKey(), applied.AppendValue(nil))
	return applied, b.Commit()
}

// createLog makes an empty log that knows its term.
func (r *restore) createLog(term uint64) error {
	l, err := persist.OpenLog(r.f.logDir(), r.o.Shard, r.o.logOptions(false))
	if err != nil {
		return err
	}
	err = l.SetStable(persist.Pair{Name: []byte(currentTermKey), Value: binary.BigEndian.AppendUint64(nil, term)})
	if cerr := l.Close(); err == nil {
		err = cerr
	}
	return err
}

// verify reads everything back as Check does.
func (r *restore) verify(in *archive.Reader) error {
	o := r.o
	o.FS, o.Logger = persist.ReadOnlyFS(o.FS), slog.New(slog.DiscardHandler)
	ck := checker{o: o, f: r.f}
	ck.f.fs = o.FS
	ck.stores()
	if err := errors.Join(ck.Problems...); err != nil {
		return fmt.Errorf("what was restored does not hold together: %w", err)
	}
	if ck.Live != in.Live || ck.Dead != in.Dead || ck.Queues != in.Queues {
		return fmt.Errorf("restored were %d live and %d dead jobs in %d queues instead of %d, %d in %d", ck.Live, ck.Dead, ck.Queues, in.Live, in.Dead, in.Queues)
	}
	return nil
}
