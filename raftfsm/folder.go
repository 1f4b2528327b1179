package raftfsm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"slices"
	"strings"

	"github.com/hashicorp/raft"

	"dqd/persist"
	"dqd/persist/record"
)

// A node's folder.
//
//	LOCK                  held while a process has the folder open
//	FORMAT                says whose folder this is; written last, so it vouches for the rest
//	INCOMPLETE            the folder is being made; without FORMAT everything else is rubbish
//	RESTORING             likewise, out of a backup; without FORMAT no node starts on it
//	log/                  the Raft log of all shards
//	shard-0/state/        a shard's state store
//	shard-0/snapshots/    its snapshot descriptors
//
// The content of FORMAT:
//
//	8    "dqd-node"
//	1    version; 2 brought the log its file SYNCED
//	4    shard
//	uv+  node id
//	4    CRC32-C of all before
const (
	formatMagic   = "dqd-node"
	formatVersion = 2

	formatName     = "FORMAT"
	incompleteName = "INCOMPLETE"
	logName        = "log"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

type folder struct {
	fs    persist.FS
	dir   string
	shard uint32
	node  string
}

func (f *folder) logDir() string   { return f.fs.PathJoin(f.dir, logName) }
func (f *folder) shardDir() string { return f.fs.PathJoin(f.dir, fmt.Sprintf("shard-%d", f.shard)) }
func (f *folder) stateDir() string { return f.fs.PathJoin(f.shardDir(), "state") }
func (f *folder) snapDir() string  { return f.fs.PathJoin(f.shardDir(), "snapshots") }

// prepare checks that the folder is ours, or makes it.
func (f *folder) prepare(o *Options) error {
	content, err := persist.ReadFile(f.fs, f.dir, formatName)
	if err == nil {
		if err := f.checkFormat(content); err != nil {
			return err
		}
		return f.unmark()
	}
	if !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("reading %s: %w", f.fs.PathJoin(f.dir, formatName), err)
	}
	if _, err := f.unfinished(); err != nil {
		return err
	}
	return f.create(o)
}

// unmark removes the marks of a folder that was made or restored, and is whole: should its
// FORMAT be lost one day, they would say that nothing was ever stored in it.
func (f *folder) unmark() error {
	for _, name := range []string{incompleteName, restoringName} {
		if err := f.fs.Remove(f.fs.PathJoin(f.dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("removing what an interrupted start or restore has left: %w", err)
		}
	}
	return nil
}

// unfinished reports that a folder without FORMAT is empty, or one whose first
// start was interrupted: nothing was ever stored in it.
func (f *folder) unfinished() (bool, error) {
	names, err := f.fs.List(f.dir)
	if err != nil {
		return false, err
	}
	names = slices.DeleteFunc(names, func(n string) bool { return n == "LOCK" || strings.HasSuffix(n, ".tmp") })
	if slices.Contains(names, restoringName) {
		return false, fmt.Errorf("%w on folder %s: %w; run dqd restore again", ErrRefused, f.dir, errHalfRestored)
	}
	switch ours := slices.Contains(names, logName) || slices.Contains(names, f.fs.PathBase(f.shardDir())); {
	case len(names) == 0 || slices.Contains(names, incompleteName):
	case !ours:
		return false, fmt.Errorf("%w on folder %s: it is %w and not empty; use an empty folder, or one of dqd", ErrRefused, f.dir, ErrForeign)
	default:
		return false, refusef(f.dir, "it has no file FORMAT but holds %s",
			"use an empty folder, or put the file back", strings.Join(names, ", "))
	}
	return true, nil
}

func (f *folder) checkFormat(content []byte) error {
	const fixed = len(formatMagic) + 1
	if len(content) < fixed || string(content[:len(formatMagic)]) != formatMagic {
		return refusef(f.dir, "its file FORMAT is not one of dqd", "use another folder")
	}
	if v := content[fixed-1]; v != formatVersion {
		return refusef(f.dir, "its format is version %d, this program knows version %d",
			"use the program that wrote it", v, formatVersion)
	}
	if !slices.Equal(content, f.format(f.shard, f.node)) {
		return f.explain(content[fixed:])
	}
	return nil
}

// explain says in which way FORMAT is not what it should be.
func (f *folder) explain(rest []byte) error {
	if len(rest) > 8 {
		shard := binary.BigEndian.Uint32(rest)
		size, n := binary.Uvarint(rest[4:])
		if n > 0 && size == uint64(len(rest)-4-n-4) {
			node := string(rest[4+n : len(rest)-4])
			if crc32.Checksum(f.format(shard, node)[:len(formatMagic)+1+len(rest)-4], castagnoli) == binary.BigEndian.Uint32(rest[len(rest)-4:]) {
				return refusef(f.dir, "it belongs to shard %d of node %q, not to shard %d of node %q",
					"use the right folder", shard, node, f.shard, f.node)
			}
		}
	}
	return refusef(f.dir, "its file FORMAT is damaged", "restore the folder from a backup")
}

func (f *folder) format(shard uint32, node string) []byte {
	b := append([]byte(formatMagic), formatVersion)
	b = binary.BigEndian.AppendUint32(b, shard)
	b = append(binary.AppendUvarint(b, uint64(len(node))), node...)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// create makes the stores of a new single node. Until FORMAT is written nothing
// can have been acknowledged, so a crash in between costs nothing: the next start
// finds INCOMPLETE and begins anew.
func (f *folder) create(o *Options) error {
	if err := persist.WriteFile(f.fs, f.dir, incompleteName, nil); err != nil {
		return err
	}
	for _, old := range []string{f.logDir(), f.shardDir()} {
		if err := f.fs.RemoveAll(old); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("removing the rest of an interrupted start: %w", err)
		}
	}
	if err := f.fs.MkdirAll(f.snapDir(), 0o700); err != nil {
		return err
	}
	if err := f.createLog(o); err != nil {
		return err
	}
	if err := f.createState(o); err != nil {
		return err
	}
	if err := f.vouch(); err != nil {
		return err
	}
	return f.unmark()
}

// vouch writes FORMAT, which must not become durable before the names that it
// vouches for.
func (f *folder) vouch() error {
	for _, dir := range []string{f.shardDir(), f.dir, f.fs.PathDir(f.dir)} {
		if err := persist.SyncFolder(f.fs, dir); err != nil {
			return fmt.Errorf("syncing %s: %w", dir, err)
		}
	}
	return persist.WriteFile(f.fs, f.dir, formatName, f.format(f.shard, f.node))
}

// alone is a group with this node as the only voter.
func (f *folder) alone() raft.Configuration {
	return raft.Configuration{Servers: []raft.Server{{
		Suffrage: raft.Voter, ID: raft.ServerID(f.node), Address: raft.ServerAddress(f.node),
	}}}
}

// createLog writes the log's first entry: the configuration.
func (f *folder) createLog(o *Options) error {
	l, err := persist.OpenLog(f.logDir(), f.shard, o.logOptions(false))
	if err != nil {
		return err
	}
	err = l.SetStable(persist.Pair{Name: []byte(currentTermKey), Value: binary.BigEndian.AppendUint64(nil, 1)})
	if err == nil {
		err = l.Append([]persist.Entry{{
			Index: 1, Term: 1, Type: uint8(raft.LogConfiguration), Data: raft.EncodeConfiguration(f.alone()),
		}})
	}
	if cerr := l.Close(); err == nil {
		err = cerr
	}
	return err
}

func (f *folder) createState(o *Options) error {
	s, err := persist.OpenState(f.stateDir(), o.stateOptions(false))
	if err != nil {
		return err
	}
	b := s.Batch()
	format := record.Format{Version: record.FormatVersion, Shard: f.shard}
	b.Set(record.FormatKey(), format.AppendValue(nil))
	b.Set(record.AppliedKey(), new(record.Applied).AppendValue(nil))
	err = b.Commit()
	if cerr := s.Close(); err == nil {
		err = cerr
	}
	return err
}
