package raftfsm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/raft"

	"dqd/persist"
)

// A snapshot is virtual: "the state store is flushed up to here", and this
// descriptor, in a file of its own. Nothing is copied.
//
//	8    "dqd-snap"
//	1    version
//	8    index, 8 term       of the raft log; barriers count
//	8    applied             the state's position then; barriers do not count
//	8    state hash          at that position
//	8    configuration index
//	uv+  configuration, as raft encodes it
//	4    CRC32-C of all before
const (
	snapshotMagic   = "dqd-snap"
	snapshotVersion = 1
	snapshotSuffix  = ".snapshot"
	keepSnapshots   = 2
)

type snapshot struct {
	index, term        uint64
	applied, stateHash uint64
	configurationIndex uint64
	configuration      []byte
}

// name sorts by index.
func (s *snapshot) name() string { return fmt.Sprintf("%020d%s", s.index, snapshotSuffix) }

func (s *snapshot) encode() []byte {
	b := append([]byte(snapshotMagic), snapshotVersion)
	for _, v := range [...]uint64{s.index, s.term, s.applied, s.stateHash, s.configurationIndex} {
		b = binary.BigEndian.AppendUint64(b, v)
	}
	b = append(binary.AppendUvarint(b, uint64(len(s.configuration))), s.configuration...)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func decodeSnapshot(b []byte) (*snapshot, error) {
	const fixed = len(snapshotMagic) + 1 + 5*8
	if len(b) < fixed+1+4 || string(b[:len(snapshotMagic)]) != snapshotMagic {
		return nil, errors.New("not a snapshot descriptor")
	}
	if v := b[len(snapshotMagic)]; v != snapshotVersion {
		return nil, fmt.Errorf("snapshot descriptor of version %d, this program knows version %d", v, snapshotVersion)
	}
	if content := b[:len(b)-4]; crc32.Checksum(content, castagnoli) != binary.BigEndian.Uint32(b[len(b)-4:]) {
		return nil, errors.New("wrong checksum")
	}
	v := b[len(snapshotMagic)+1:]
	s := &snapshot{}
	for _, to := range [...]*uint64{&s.index, &s.term, &s.applied, &s.stateHash, &s.configurationIndex} {
		*to, v = binary.BigEndian.Uint64(v), v[8:]
	}
	size, n := binary.Uvarint(v)
	if n <= 0 || size != uint64(len(v)-n-4) {
		return nil, errors.New("wrong length")
	}
	s.configuration = v[n : n+int(size)]
	return s, nil
}

func (s *snapshot) meta() *raft.SnapshotMeta {
	return &raft.SnapshotMeta{
		Version: raft.SnapshotVersionMax, ID: s.name(), Index: s.index, Term: s.term,
		Configuration: raft.DecodeConfiguration(s.configuration), ConfigurationIndex: s.configurationIndex,
	}
}

// snapshotStore is raft's SnapshotStore.
type snapshotStore struct {
	fs  persist.FS
	dir string
	// recorded is called when a snapshot is durable, with where the log was.
	recorded func(mark)

	mu   sync.Mutex // guards kept
	kept []*snapshot
}

// openSnapshots reads the descriptors. Damage is an error: an older descriptor
// must not stand in for the newest one.
func openSnapshots(fs persist.FS, dir string) (*snapshotStore, error) {
	s := &snapshotStore{fs: fs, dir: dir}
	names, err := fs.List(dir)
	if err != nil {
		return nil, refusef(dir, "it is missing or unreadable (%v)", fromBackup, err)
	}
	for _, name := range names {
		if !strings.HasSuffix(name, snapshotSuffix) {
			continue // a temporary file that a crash left
		}
		content, err := persist.ReadFile(fs, dir, name)
		if err != nil {
			return nil, refusef(dir, "%s is unreadable (%v)", fromBackup, name, err)
		}
		d, err := decodeSnapshot(content)
		if err == nil && d.name() != name {
			err = fmt.Errorf("it describes index %d", d.index)
		}
		if err != nil {
			return nil, refusef(dir, "%s is damaged (%v)", fromBackup, name, err)
		}
		s.kept = append(s.kept, d)
	}
	slices.SortFunc(s.kept, func(a, b *snapshot) int { return strings.Compare(b.name(), a.name()) })
	return s, nil
}

// newest returns the newest descriptor, nil if there is none.
func (s *snapshotStore) newest() *snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.kept) == 0 {
		return nil
	}
	return s.kept[0]
}

// List returns the snapshots, the newest first.
func (s *snapshotStore) List() ([]*raft.SnapshotMeta, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	metas := make([]*raft.SnapshotMeta, len(s.kept))
	for i, d := range s.kept {
		metas[i] = d.meta()
	}
	return metas, nil
}

// errNoCopy is unreachable with one node: nobody asks for the bytes of a snapshot.
var errNoCopy = errors.New("copying a snapshot to another node is not supported yet")

// Open would copy the state for a follower.
func (s *snapshotStore) Open(string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	return nil, nil, errNoCopy
}

// Create begins a snapshot.
func (s *snapshotStore) Create(_ raft.SnapshotVersion, index, term uint64, configuration raft.Configuration,
	configurationIndex uint64, _ raft.Transport,
) (raft.SnapshotSink, error) {
	// Raft may take a snapshot that an installed one has overtaken (hashicorp/raft #248).
	if newest := s.newest(); newest != nil && index < newest.index {
		return nil, fmt.Errorf("a snapshot at %d would follow the one at %d", index, newest.index)
	}
	return &snapshotSink{store: s, d: &snapshot{
		index: index, term: term, configurationIndex: configurationIndex,
		configuration: raft.EncodeConfiguration(configuration),
	}}, nil
}

// record makes a descriptor durable and drops old ones.
func (s *snapshotStore) record(d *snapshot) error {
	if err := persist.WriteFile(s.fs, s.dir, d.name(), d.encode()); err != nil {
		return err
	}
	s.mu.Lock()
	s.kept = slices.DeleteFunc(s.kept, func(k *snapshot) bool { return k.index == d.index })
	s.kept = slices.Insert(s.kept, 0, d)
	var old []*snapshot
	if len(s.kept) > keepSnapshots {
		old = slices.Clone(s.kept[keepSnapshots:])
		s.kept = s.kept[:keepSnapshots]
	}
	s.mu.Unlock()
	for _, o := range old { // one that a crash brings back does no harm
		if err := s.fs.Remove(s.fs.PathJoin(s.dir, o.name())); err != nil {
			return err
		}
	}
	return nil
}

// snapshotSink is where raft has a snapshot written to.
type snapshotSink struct {
	store *snapshotStore
	d     *snapshot
	mark  mark
}

func (s *snapshotSink) ID() string    { return s.d.name() }
func (s *snapshotSink) Cancel() error { return nil }

// Write is never called: the snapshot has no bytes.
func (s *snapshotSink) Write([]byte) (int, error) { return 0, errNoCopy }

// Close records the snapshot. After that raft truncates the log.
func (s *snapshotSink) Close() error {
	if err := s.store.record(s.d); err != nil {
		return err
	}
	s.store.recorded(s.mark)
	return nil
}
