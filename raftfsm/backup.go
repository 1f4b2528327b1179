package raftfsm

import (
	"fmt"

	"dqd/persist"
	"dqd/persist/record"
	"dqd/raftfsm/archive"
)

// backupPiece is about how many bytes of the store a piece of a backup has.
const backupPiece = 1 << 20

// Backup is a node's state as of one moment, handed out as an archive. The node goes on
// meanwhile; until Close its store keeps what the backup may still have to read. It is
// not safe for concurrent use.
type Backup struct {
	snap  *persist.Snapshot
	head  archive.Head
	w     archive.Writer
	size  int // about, of a piece; bytes
	begun bool
	from  []byte // the first key that was not handed out
	pairs []byte // scratch
}

// Backup begins a backup of all that is applied now, hence of everything that was ever
// acknowledged; taken is the wall clock's time, in Unix ns. It must be closed before
// the node is.
func (n *Node) Backup(taken int64) *Backup {
	return &Backup{
		snap: n.state.Snapshot(), size: backupPiece,
		head: archive.Head{Format: record.FormatVersion, Shard: n.o.Shard, Taken: taken},
	}
}

// Next returns the next bytes of the archive, about a MiB, or more where a job is larger;
// they are new memory. The last ones come with more = false.
func (b *Backup) Next() (piece []byte, more bool, err error) {
	if !b.begun {
		piece, b.begun = b.w.Head(nil, b.head), true
	}
	b.pairs = b.pairs[:0]
	n := 0
	err = b.snap.Scan(b.from, nil, func(k, v []byte) bool {
		b.pairs = archive.AppendPair(b.pairs, k, v)
		b.from = append(b.from[:0], k...)
		n++
		more = len(b.pairs) >= b.size
		return !more
	})
	if err != nil {
		return nil, false, fmt.Errorf("reading what to back up: %w", err)
	}
	b.from = append(b.from, 0) // the next key
	if n > 0 {
		piece = b.w.Pairs(piece, n, b.pairs)
	}
	if !more {
		piece = b.w.End(piece)
	}
	return piece, more, nil
}

// Close lets go of the state.
func (b *Backup) Close() error { return b.snap.Close() }
