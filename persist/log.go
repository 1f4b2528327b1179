package persist

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// ErrNotFound says that there is no such entry or value. Raft compares the text.
var ErrNotFound = errors.New("not found")

var errClosed = errors.New("the log store is closed")

// LogOptions configure a log store. The zero value works.
type LogOptions struct {
	FS           FS     // nil = DiskFS
	MemTableSize uint64 // bytes; 0 = 16 MiB. Small, so that WAL files are soon recycled
	Recent       int    // bytes of recent entries kept in memory; 0 = 4 MiB
	MustExist    bool   // refuse a missing store instead of creating it
	ReadOnly     bool   // change nothing on disk; FS must be a ReadOnlyFS, and the store must exist
	// WarmUp writes so much after the start that all later WAL files are recycled
	// ones: overwriting allocated blocks costs half of what appending does. It takes
	// 7 memtables of disk writes in the background, and is left out when the disk is
	// nearly full, and in memory.
	WarmUp bool
	Fatal  func(error)  // called at the first failed write; must not return. nil = exit
	Logger *slog.Logger // nil = discard
}

func (o *LogOptions) defaults() {
	if o.FS == nil {
		o.FS = DiskFS()
	}
	if o.MemTableSize == 0 {
		o.MemTableSize = 16 << 20
	}
	if o.Recent == 0 {
		o.Recent = 4 << 20
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

// Log is one shard's Raft log and stable store. Entries are consecutive: there is
// never a gap. It is safe for concurrent use; after Close everything returns an error.
type Log struct {
	db      *pebble.DB
	fault   *fault
	shard   uint32
	witness *walWitness

	use    sync.RWMutex // held for reading by every user of db, for writing by Close
	closed bool

	// writing makes changes one at a time: raft appends on one goroutine and
	// truncates behind a snapshot on another. What tells damage from a torn end
	// relies on it: see witness.
	writing sync.Mutex
	synced  uint64   // writes that are durable; guarded by writing
	told    vfs.File // says so; nil if the log is only looked at

	mu          sync.Mutex // guards the fields below; never held during a write
	first, last uint64     // 0, 0 = empty
	recent      recent

	stop    chan struct{}  // closed by Close: ends the warm-up
	running sync.WaitGroup // the warm-up, and the writer of the marker
}

// OpenLog opens a shard's log in a folder, or creates it. Damage that it finds is
// an error that is ErrDamaged.
func OpenLog(dir string, shard uint32, o LogOptions) (*Log, error) {
	o.defaults()
	l := &Log{
		fault: newFault(dir, o.Fatal), shard: shard, witness: newWALWitness(o.FS, dir),
		recent: recent{limit: o.Recent}, stop: make(chan struct{}),
	}
	logger := &pebbleLogger{name: "log " + dir, fault: l.fault, log: o.Logger}
	opt := &pebble.Options{
		FS:                          witnessFS{o.FS, l.witness},
		CacheSize:                   8 << 20,
		MemTableSize:                o.MemTableSize,
		MemTableStopWritesThreshold: 4,
		FormatMajorVersion:          pebbleFormat,
		L0StopWritesThreshold:       32,
		FlushDelayDeleteRange:       10 * time.Second,
		CompactionConcurrencyRange:  func() (int, int) { return 1, 1 },
		ErrorIfNotExists:            o.MustExist,
		ReadOnly:                    o.ReadOnly,
		Logger:                      logger,
		EventListener:               logger.listener(),
	}
	for i := range opt.Levels { // entries are read back once, if ever
		opt.Levels[i].Compression = func() *block.CompressionProfile { return block.NoCompression }
	}
	opt.EventListener.WALCreated = l.walCreated
	var err error
	if l.witness.marker, err = checkWAL(o.FS, dir, o.MustExist); err != nil {
		return nil, fmt.Errorf("opening the log store: %s: %w", dir, plain(err))
	}
	newest := walName(l.witness.marker.file)
	if l.db, err = openPebble(dir, opt, l.fault); err != nil {
		return nil, fmt.Errorf("opening the log store: %w", err)
	}
	if err = l.load(); err == nil {
		err = l.openSynced(dir, newest, &o)
	}
	if err != nil {
		l.fault.close(l.db)
		return nil, fmt.Errorf("opening the log store: %s: %w", dir, plain(err))
	}
	if o.WarmUp {
		l.running.Go(func() { l.warmUp(dir, o) })
	}
	return l, nil
}

// bounds returns the key range of the shard's entries.
func (l *Log) bounds() (lo, hi []byte) {
	return appendEntryKey(nil, l.shard, 0), append(appendEntryKey(nil, l.shard, math.MaxUint64), 0)
}

// load finds the first and the last entry.
func (l *Log) load() error {
	lo, hi := l.bounds()
	it, err := l.db.NewIter(&pebble.IterOptions{LowerBound: lo, UpperBound: hi})
	if err != nil {
		return err
	}
	for _, end := range []struct {
		index *uint64
		seek  func() bool
	}{{&l.first, it.First}, {&l.last, it.Last}} {
		if !end.seek() {
			continue
		}
		var e Entry
		v, err := it.ValueAndErr()
		if err == nil {
			e, err = decodeEntry(it.Key(), v)
		}
		if err != nil {
			it.Close()
			return err
		}
		*end.index = e.Index
	}
	return it.Close()
}

// diskReserve is the free space below which there is no warm-up.
const diskReserve = 4 << 30

// warmUpPace is the pause between two pieces of the warm-up, so that commits
// find the disk free.
const warmUpPace = 4 * time.Millisecond

// warmUp runs as the log's only goroutine; Close ends it and waits for it. A
// failed write is noted by the store's own fault.
func (l *Log) warmUp(dir string, o LogOptions) {
	usage, err := o.FS.GetDiskUsage(dir)
	if err != nil || usage.AvailBytes < diskReserve {
		return
	}
	// Pebble's recycler keeps one file more than there may be memtables, and does
	// not take files of an earlier process.
	scratch, key := make([]byte, 256<<10), []byte{scratchPrefix}
	pace := time.NewTicker(warmUpPace)
	defer pace.Stop()
	for n := 7 * o.MemTableSize / uint64(len(scratch)); n > 0; n-- {
		select {
		case <-l.stop:
			return
		case <-pace.C:
		}
		if l.scratch(func(b *pebble.Batch) error { return b.Set(key, scratch, nil) }) != nil {
			return
		}
	}
	if l.db.Flush() == nil {
		l.scratch(func(b *pebble.Batch) error { return b.Delete(key, nil) })
	}
}

// scratch writes what may be lost, without a sync.
func (l *Log) scratch(fill func(*pebble.Batch) error) error {
	b, err := l.newBatch(pebble.NoSync)
	if err != nil {
		return err
	}
	defer b.Close()
	if err := fill(b); err != nil {
		return err
	}
	return b.Commit(pebble.NoSync)
}

// walCreated is called by Pebble, which writes nothing into the file before it
// returns.
func (l *Log) walCreated(info pebble.WALCreateInfo) {
	err := info.Err
	if err == nil {
		err = l.witness.created(uint64(info.FileNum))
	}
	if err != nil {
		l.fault.fail(fmt.Errorf("making the write-ahead file %s: %w", info.Path, err))
	}
}

// enter admits a user of the database; every successful call needs an exit.
func (l *Log) enter() error {
	l.use.RLock()
	if l.closed {
		l.use.RUnlock()
		return errClosed
	}
	if err := l.fault.check(); err != nil {
		l.use.RUnlock()
		return err
	}
	return nil
}

func (l *Log) exit() { l.use.RUnlock() }

// FirstIndex returns the index of the first entry, 0 if there is none.
func (l *Log) FirstIndex() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.first
}

// LastIndex returns the index of the last entry, 0 if there is none.
func (l *Log) LastIndex() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// Get returns an entry, or ErrNotFound. Its data must not be changed.
func (l *Log) Get(index uint64) (Entry, error) {
	if err := l.enter(); err != nil {
		return Entry{}, err
	}
	defer l.exit()
	l.mu.Lock()
	e, ok := l.recent.get(index)
	l.mu.Unlock()
	if ok {
		return e, nil
	}
	key := appendEntryKey(nil, l.shard, index)
	v, closer, err := l.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return Entry{}, ErrNotFound
	}
	if err != nil {
		return Entry{}, fmt.Errorf("reading log entry %d: %w", index, plain(err))
	}
	value := bytes.Clone(v)
	closer.Close()
	if e, err = decodeEntry(key, value); err != nil {
		// A node that finds damage must not go on voting and leading.
		return Entry{}, l.fault.fail(err)
	}
	return e, nil
}

// Check reads the whole log, and reports damage and gaps. visit may be nil; its
// entry is valid only during the call.
func (l *Log) Check(visit func(e *Entry) error) error {
	if err := l.enter(); err != nil {
		return err
	}
	defer l.exit()
	lo, hi := l.bounds()
	it, err := l.db.NewIter(&pebble.IterOptions{LowerBound: lo, UpperBound: hi})
	if err != nil {
		return fmt.Errorf("reading the log: %w", plain(err))
	}
	defer it.Close()
	next := l.FirstIndex()
	for valid := it.First(); valid; valid = it.Next() {
		v, err := it.ValueAndErr()
		if err != nil {
			return fmt.Errorf("reading the log: %w", plain(err))
		}
		e, err := decodeEntry(it.Key(), v)
		if err != nil {
			return err
		}
		if e.Index != next {
			return fmt.Errorf("the log: %w: entry %d is missing, the next is %d", ErrDamaged, next, e.Index)
		}
		next++
		if visit == nil {
			continue
		}
		if err := visit(&e); err != nil {
			return err
		}
	}
	if err := it.Error(); err != nil {
		return fmt.Errorf("reading the log: %w", plain(err))
	}
	if last := l.LastIndex(); last > 0 && next != last+1 {
		return fmt.Errorf("the log: %w: it ends at entry %d instead of %d", ErrDamaged, next-1, last)
	}
	return nil
}

// Append writes entries, which follow the last one, and syncs them. The log keeps
// their data: it must not be changed afterwards.
func (l *Log) Append(entries []Entry) error {
	if len(entries) == 0 {
		return nil
	}
	if err := l.enter(); err != nil {
		return err
	}
	defer l.exit()
	l.writing.Lock()
	defer l.writing.Unlock()
	if last := l.LastIndex(); last > 0 && entries[0].Index != last+1 {
		return fmt.Errorf("log entry %d does not follow entry %d", entries[0].Index, last)
	}
	for i := range entries {
		if e := &entries[i]; e.Index != entries[0].Index+uint64(i) {
			return fmt.Errorf("log entry %d does not follow entry %d", e.Index, entries[i-1].Index)
		}
	}
	b, err := l.newBatch(pebble.Sync)
	if err != nil {
		return err
	}
	defer b.Close()
	for i := range entries {
		e := &entries[i]
		op := b.SetDeferred(13, e.valueSize())
		appendEntryKey(op.Key[:0], l.shard, e.Index)
		if v := e.appendValue(op.Value[:0], op.Key); len(v) != len(op.Value) {
			panic(fmt.Sprintf("persist: log entry of %d bytes was measured as %d", len(v), len(op.Value)))
		}
		if err := op.Finish(); err != nil {
			return err
		}
	}
	if err := l.commit(b, pebble.Sync); err != nil {
		return fmt.Errorf("writing log entry %d: %w", entries[0].Index, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.first == 0 {
		l.first = entries[0].Index
	}
	l.last = entries[len(entries)-1].Index
	for _, e := range entries {
		l.recent.push(e)
	}
	return nil
}

// newBatch returns a batch that begins with its witness and, if it will be synced,
// its number. Such a one needs the lock writing, until it is committed.
func (l *Log) newBatch(o *pebble.WriteOptions) (*pebble.Batch, error) {
	v := l.witness.begin(o.Sync)
	b := l.db.NewBatch()
	err := b.LogData(v.encode(), nil)
	if err == nil && o.Sync {
		err = b.Set(syncedKey, binary.BigEndian.AppendUint64(nil, l.synced+1), nil)
	}
	return b, err
}

// commit writes a batch. A failure is the end of the process.
func (l *Log) commit(b *pebble.Batch, o *pebble.WriteOptions) error {
	if err := b.Commit(o); err != nil {
		return l.fault.fail(err)
	}
	if err := l.fault.check(); err != nil { // Pebble reports a failed WAL to its logger only
		return err
	}
	if !o.Sync {
		return nil
	}
	if err := l.tell(); err != nil {
		return l.fault.fail(err)
	}
	if l.witness.end() {
		l.running.Go(func() { // nobody waits for it: two syncs
			if err := l.witness.holds(); err != nil {
				l.fault.fail(err)
			}
		})
	}
	return nil
}

// DeleteRange deletes the entries from min to max, both included: a beginning of
// the log, or an end, or all of it.
func (l *Log) DeleteRange(min, max uint64) error {
	if err := l.enter(); err != nil {
		return err
	}
	defer l.exit()
	l.writing.Lock()
	defer l.writing.Unlock()
	first, last := l.FirstIndex(), l.LastIndex()
	if last == 0 || max < first || min > last || min > max {
		return nil
	}
	// A beginning that comes back after a crash does no harm. An end that comes
	// back would be an entry of a refused leader.
	sync := pebble.NoSync
	switch {
	case max >= last && min <= first:
		first, last, sync = 0, 0, pebble.Sync
	case max >= last:
		last, sync = min-1, pebble.Sync
	case min <= first:
		first = max + 1
	default:
		return fmt.Errorf("deleting log entries %d to %d would leave a gap in %d to %d", min, max, first, last)
	}
	_, hi := l.bounds()
	if max < math.MaxUint64 {
		hi = appendEntryKey(nil, l.shard, max+1)
	}
	b, err := l.newBatch(sync)
	if err != nil {
		return err
	}
	defer b.Close()
	if err := b.DeleteRange(appendEntryKey(nil, l.shard, min), hi, nil); err != nil {
		return err
	}
	// The index moves first: nobody may find an entry that is being deleted.
	l.mu.Lock()
	l.first, l.last = first, last
	l.recent.keep(first, last)
	l.mu.Unlock()
	if err := l.commit(b, sync); err != nil {
		return fmt.Errorf("deleting log entries %d to %d: %w", min, max, err)
	}
	return nil
}

// Pair is a name and a value of the stable store.
type Pair struct{ Name, Value []byte }

// SetStable writes values in one synced write: all or none.
func (l *Log) SetStable(pairs ...Pair) error {
	if err := l.enter(); err != nil {
		return err
	}
	defer l.exit()
	l.writing.Lock()
	defer l.writing.Unlock()
	b, err := l.newBatch(pebble.Sync)
	if err != nil {
		return err
	}
	defer b.Close()
	for _, p := range pairs {
		if err := b.Set(stableKey(l.shard, p.Name), p.Value, nil); err != nil {
			return err
		}
	}
	if err := l.commit(b, pebble.Sync); err != nil {
		return fmt.Errorf("writing to the stable store: %w", err)
	}
	return nil
}

// GetStable returns a copy of a value, or ErrNotFound.
func (l *Log) GetStable(name []byte) ([]byte, error) {
	if err := l.enter(); err != nil {
		return nil, err
	}
	defer l.exit()
	v, closer, err := l.db.Get(stableKey(l.shard, name))
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("reading the stable store: %w", err)
	}
	defer closer.Close()
	return append([]byte{}, v...), nil
}

// Metrics returns numbers about the store.
func (l *Log) Metrics() StoreMetrics {
	if l.enter() != nil {
		return StoreMetrics{}
	}
	defer l.exit()
	return metrics(l.db)
}

// Close waits for all users and closes the store.
func (l *Log) Close() error {
	l.use.Lock()
	defer l.use.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	close(l.stop)
	l.running.Wait()
	err := l.fault.close(l.db)
	if l.told != nil {
		err = errors.Join(err, l.told.Close())
	}
	return err
}
