package persist

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable/block"
)

// pebbleFormat pins the version of Pebble's files. Never "newest": an update of
// the library must not change the files by itself.
const pebbleFormat = pebble.FormatValueSeparation

// ErrMissing is wrapped when a store that must exist does not.
var ErrMissing = errors.New("the store is missing")

// Reader reads a state. State and Snapshot satisfy it.
type Reader interface {
	// Get returns the value of a key, as a copy that the caller owns.
	Get(key []byte) (value []byte, ok bool, err error)
	// Scan calls fn with the keys from lo up to, not including, hi, in order,
	// until fn returns false; nil means no bound. k and v are valid only during the call.
	Scan(lo, hi []byte, fn func(k, v []byte) bool) error
}

// BackReader is a Reader that reads backwards too. State and Snapshot satisfy it.
type BackReader interface {
	Reader
	// ScanBack is Scan from the last key to the first.
	ScanBack(lo, hi []byte, fn func(k, v []byte) bool) error
}

// StateOptions configure a state store. The zero value works.
type StateOptions struct {
	FS           FS           // nil = DiskFS
	Cache        int64        // bytes of block cache; 0 = 128 MiB
	MemTableSize uint64       // bytes; 0 = 32 MiB
	MaxFiles     int          // tables held open; 0 = 4096
	MustExist    bool         // refuse a missing store instead of creating it
	ReadOnly     bool         // change nothing on disk; FS must be a ReadOnlyFS, and the store must exist
	Fatal        func(error)  // called at the first failed write; must not return. nil = exit
	Logger       *slog.Logger // nil = discard
}

func (o *StateOptions) defaults() {
	if o.FS == nil {
		o.FS = DiskFS()
	}
	if o.Cache == 0 {
		o.Cache = 128 << 20
	}
	if o.MemTableSize == 0 {
		o.MemTableSize = 32 << 20
	}
	if o.MaxFiles == 0 {
		o.MaxFiles = 4096
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

// State is a shard's state store: one Pebble without a write-ahead log, because
// the Raft log is that. After a crash it holds a prefix of the committed batches.
// It is safe for concurrent use.
type State struct {
	db       *pebble.DB
	fs       FS
	fault    *fault
	readOnly bool
}

// OpenState opens the state store in a folder, or creates it.
func OpenState(dir string, o StateOptions) (*State, error) {
	o.defaults()
	s := &State{fs: o.FS, fault: newFault(dir, o.Fatal), readOnly: o.ReadOnly}
	logger := &pebbleLogger{name: "state " + dir, fault: s.fault, log: o.Logger}
	opt := &pebble.Options{
		FS:                          o.FS,
		CacheSize:                   o.Cache,
		MemTableSize:                o.MemTableSize,
		MemTableStopWritesThreshold: 4,
		DisableWAL:                  true,
		FormatMajorVersion:          pebbleFormat,
		L0CompactionThreshold:       8, // each merge into the next level rewrites it: merge more at a time
		L0StopWritesThreshold:       32,
		LBaseMaxBytes:               8 * int64(o.MemTableSize), // as much as is merged into it
		MaxOpenFiles:                o.MaxFiles,
		CompactionConcurrencyRange:  func() (int, int) { return 1, 2 },
		ErrorIfNotExists:            o.MustExist,
		ReadOnly:                    o.ReadOnly,
		Logger:                      logger,
		EventListener:               logger.listener(),
	}
	opt.Experimental.L0CompactionConcurrency = 2
	for i := range opt.Levels {
		opt.Levels[i].FilterPolicy = bloom.FilterPolicy(10) // adds look for ids that do not exist
	}
	// What was just flushed is soon merged: compressing it is work for nothing.
	opt.Levels[0].Compression = func() *block.CompressionProfile { return block.NoCompression }
	var err error
	if s.db, err = openPebble(dir, opt, s.fault); err != nil {
		return nil, fmt.Errorf("opening the state store: %w", err)
	}
	return s, nil
}

// openPebble opens a Pebble under its own lock, whose error text is ours.
func openPebble(dir string, opt *pebble.Options, f *fault) (*pebble.DB, error) {
	if opt.ErrorIfNotExists {
		if desc, err := pebble.Peek(dir, opt.FS); err != nil || !desc.Exists {
			return nil, fmt.Errorf("%s: %w", dir, ErrMissing)
		}
	}
	if !opt.ReadOnly {
		if err := opt.FS.MkdirAll(dir, folderMode); err != nil {
			return nil, fmt.Errorf("creating %s: %w", dir, err)
		}
	}
	lock, err := pebble.LockDirectory(dir, opt.FS)
	if err != nil {
		return nil, fmt.Errorf("%s: %w (%v)", dir, ErrLocked, err)
	}
	opt.Lock = lock
	opt.FS = loudFS{mergesFS{orderedFS{opt.FS}, &f.merges}, f}
	db, err := pebble.Open(dir, opt)
	if err != nil && !ofSystem(err) {
		err = fmt.Errorf("%w: %w", ErrDamaged, plain(err))
	}
	if err == nil && f.check() != nil {
		f.close(db)
		err = f.check()
	}
	// The database keeps the lock referenced until it is closed.
	if cerr := lock.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	f.paces.db.Store(db)
	return db, nil
}

// ofSystem says that an error is the operating system's, about more than a file
// that is missing: the files may be as they should.
func ofSystem(err error) bool {
	var errno syscall.Errno
	return errors.As(err, &errno) && errno != syscall.ENOENT
}

// Get returns the value of a key, as a copy that the caller owns.
func (s *State) Get(key []byte) (value []byte, ok bool, err error) { return get(s.db, key) }

// Scan calls fn with the keys from lo up to, not including, hi.
func (s *State) Scan(lo, hi []byte, fn func(k, v []byte) bool) error { return scan(s.db, lo, hi, fn) }

// ScanBack is Scan from the last key to the first.
func (s *State) ScanBack(lo, hi []byte, fn func(k, v []byte) bool) error {
	return scanBack(s.db, lo, hi, fn)
}

// Snapshot returns the state as of now. It keeps old versions from being dropped
// until it is closed: close it soon.
func (s *State) Snapshot() *Snapshot { return &Snapshot{s.db.NewSnapshot()} }

// Batch returns a new batch.
func (s *State) Batch() *Batch { return &Batch{b: s.db.NewBatch(), fault: s.fault} }

// AsyncFlush starts to write out all batches that were committed before the
// call; the channel is closed when they are durable. If the store fails before
// that, it stays open: see Failed.
func (s *State) AsyncFlush() (<-chan struct{}, error) {
	if err := s.fault.check(); err != nil {
		return nil, err
	}
	return s.db.AsyncFlush()
}

// Failed is closed when a write has failed and the Fatal hook was told. In production
// the process has ended by then.
func (s *State) Failed() <-chan struct{} { return s.fault.returned }

// Flush makes all committed batches durable.
func (s *State) Flush() error {
	done, err := s.AsyncFlush()
	if err != nil {
		return fmt.Errorf("flushing the state store: %w", err)
	}
	select {
	case <-done:
		return nil
	case <-s.fault.failed:
		return fmt.Errorf("flushing the state store: %w", s.fault.check())
	}
}

// Close flushes and closes the store.
func (s *State) Close() (err error) {
	if !s.readOnly {
		err = s.Flush()
	}
	if cerr := s.fault.close(s.db); err == nil {
		err = cerr
	}
	return err
}

// StoreMetrics are numbers about a store.
type StoreMetrics struct {
	DiskBytes      uint64
	TableBytes     int64 // of it, tables in use
	MemTableBytes  uint64
	Tables         int64
	ReadAmp        int
	CompactionDebt uint64
	Flushes        int64
	Compactions    int64
	Compacting     int64  // compactions that run now
	WrittenBytes   uint64 // to the write-ahead log and into tables
	CacheHits      int64
	CacheMisses    int64
}

// Metrics returns numbers about the store.
func (s *State) Metrics() StoreMetrics { return metrics(s.db) }

func metrics(db *pebble.DB) StoreMetrics {
	m := db.Metrics()
	total := m.Total()
	return StoreMetrics{
		DiskBytes: m.DiskSpaceUsage(), TableBytes: total.TablesSize, MemTableBytes: m.MemTable.Size, Tables: total.TablesCount,
		ReadAmp: m.ReadAmp(), CompactionDebt: m.Compact.EstimatedDebt,
		Flushes: m.Flush.Count, Compactions: m.Compact.Count,
		Compacting: m.Compact.NumInProgress, WrittenBytes: m.WAL.BytesWritten + total.TableBytesFlushed + total.TableBytesCompacted,
		CacheHits: m.BlockCache.Hits, CacheMisses: m.BlockCache.Misses,
	}
}

// Snapshot is a state at one moment. It is safe for concurrent use.
type Snapshot struct{ s *pebble.Snapshot }

// Get returns the value of a key, as a copy that the caller owns.
func (s *Snapshot) Get(key []byte) (value []byte, ok bool, err error) { return get(s.s, key) }

// Scan calls fn with the keys from lo up to, not including, hi.
func (s *Snapshot) Scan(lo, hi []byte, fn func(k, v []byte) bool) error {
	return scan(s.s, lo, hi, fn)
}

// ScanBack is Scan from the last key to the first.
func (s *Snapshot) ScanBack(lo, hi []byte, fn func(k, v []byte) bool) error {
	return scanBack(s.s, lo, hi, fn)
}

// Close releases the snapshot.
func (s *Snapshot) Close() error { return s.s.Close() }

// Batch gathers writes that become visible together. It satisfies effect.Txn. It
// is not safe for concurrent use.
type Batch struct {
	b     *pebble.Batch
	fault *fault
	err   error // the first one; reported by Commit
}

// Set writes a key.
func (b *Batch) Set(key, value []byte) { b.note(b.b.Set(key, value, nil)) }

// Delete deletes a key.
func (b *Batch) Delete(key []byte) { b.note(b.b.Delete(key, nil)) }

// DeleteRange deletes the keys from lo up to, not including, hi.
func (b *Batch) DeleteRange(lo, hi []byte) { b.note(b.b.DeleteRange(lo, hi, nil)) }

func (b *Batch) note(err error) {
	if b.err == nil {
		b.err = err
	}
}

// Commit makes the writes visible, not durable; the batch is spent.
func (b *Batch) Commit() error {
	err := b.err
	if err == nil {
		err = b.fault.check()
	}
	if err == nil {
		err = b.b.Commit(pebble.NoSync)
	}
	if cerr := b.b.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = b.fault.check()
	}
	if err != nil {
		return fmt.Errorf("writing to the state store: %w", err)
	}
	return nil
}

// Discard drops the batch.
func (b *Batch) Discard() { b.b.Close() }

func get(r pebble.Reader, key []byte) ([]byte, bool, error) {
	v, closer, err := r.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("reading the state store: %w", plain(err))
	}
	value := bytes.Clone(v)
	return value, true, closer.Close()
}

func scan(r pebble.Reader, lo, hi []byte, fn func(k, v []byte) bool) error {
	return iterate(r, lo, hi, (*pebble.Iterator).First, (*pebble.Iterator).Next, fn)
}

func scanBack(r pebble.Reader, lo, hi []byte, fn func(k, v []byte) bool) error {
	return iterate(r, lo, hi, (*pebble.Iterator).Last, (*pebble.Iterator).Prev, fn)
}

func iterate(r pebble.Reader, lo, hi []byte, first, next func(*pebble.Iterator) bool, fn func(k, v []byte) bool) error {
	if len(lo) == 0 {
		lo = nil // Pebble asserts that a bound is not empty
	}
	it, err := r.NewIter(&pebble.IterOptions{LowerBound: lo, UpperBound: hi})
	if err != nil {
		return fmt.Errorf("scanning the state store: %w", plain(err))
	}
	for valid := first(it); valid; valid = next(it) {
		v, verr := it.ValueAndErr()
		if verr != nil {
			it.Close()
			return fmt.Errorf("scanning the state store: %w", plain(verr))
		}
		if !fn(it.Key(), v) {
			break
		}
	}
	if err := it.Close(); err != nil {
		return fmt.Errorf("scanning the state store: %w", plain(err))
	}
	return nil
}
