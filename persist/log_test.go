package persist

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

func openLog(t testing.TB, fs FS, shard uint32) *Log {
	t.Helper()
	l, err := OpenLog("log", shard, LogOptions{
		FS: fs, MemTableSize: 256 << 10, Recent: 2000, Fatal: func(err error) { t.Errorf("fatal: %v", err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func made(index uint64) Entry {
	e := Entry{Index: index, Term: 1 + index/10, Type: uint8(index % 3), AppendedAt: int64(index) * 1e9}
	if index%4 > 0 {
		e.Data = bytes.Repeat([]byte{byte(index)}, int(index%90))
	}
	if index%5 == 0 {
		e.Extensions = []byte("ext")
	}
	return e
}

func appendRange(t testing.TB, l *Log, from, to uint64) {
	t.Helper()
	var entries []Entry
	for i := from; i <= to; i++ {
		entries = append(entries, made(i))
	}
	if err := l.Append(entries); err != nil {
		t.Fatal(err)
	}
}

// expect checks that the log holds exactly the entries from first to last.
func expect(t testing.TB, l *Log, first, last uint64) {
	t.Helper()
	if l.FirstIndex() != first || l.LastIndex() != last {
		t.Fatalf("log %d to %d, want %d to %d", l.FirstIndex(), l.LastIndex(), first, last)
	}
	if err := l.Check(nil); err != nil {
		t.Fatal(err)
	}
	for i := uint64(0); i <= last+2; i++ {
		e, err := l.Get(i)
		if i < first || i > last || last == 0 {
			if !errors.Is(err, ErrNotFound) {
				t.Fatalf("entry %d outside the log: %+v, %v", i, e, err)
			}
			continue
		}
		want := made(i)
		if len(e.Data) == 0 {
			e.Data, want.Data = nil, nil
		}
		if err != nil || !reflect.DeepEqual(e, want) {
			t.Fatalf("entry %d = %+v, want %+v, %v", i, e, want, err)
		}
	}
}

// Entries and stable values come back as they were written, from memory and from
// the disk, after truncation at either end.
func TestLog(t *testing.T) {
	fs := vfs.NewMem()
	l := openLog(t, fs, 0)
	expect(t, l, 0, 0)
	reopen := func() {
		t.Helper()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		l = openLog(t, fs, 0)
	}
	appendRange(t, l, 1, 50)
	expect(t, l, 1, 50)
	reopen()
	expect(t, l, 1, 50)
	steps := []struct {
		min, max, first, last uint64
	}{
		{1, 10, 11, 50}, {11, 11, 12, 50}, {45, 50, 12, 44}, {44, 99, 12, 43}, {1, 11, 12, 43}, {60, 70, 12, 43}, {5, 20, 21, 43},
	}
	for _, s := range steps {
		if err := l.DeleteRange(s.min, s.max); err != nil {
			t.Fatal(err)
		}
		expect(t, l, s.first, s.last)
	}
	reopen()
	expect(t, l, 21, 43)
	if err := l.DeleteRange(30, 31); err == nil {
		t.Error("a gap was made")
	}
	if err := l.Append([]Entry{made(45)}); err == nil {
		t.Error("a gap was appended")
	}
	appendRange(t, l, 44, 44)
	expect(t, l, 21, 44)
	if err := l.DeleteRange(21, 44); err != nil {
		t.Fatal(err)
	}
	expect(t, l, 0, 0)
	appendRange(t, l, 100, 120) // after a snapshot was installed
	expect(t, l, 100, 120)

	if _, err := l.GetStable([]byte("a")); err == nil || err.Error() != "not found" {
		t.Errorf("missing stable value: %v; raft compares the text", err)
	}
	if err := l.SetStable(Pair{[]byte("a"), []byte("1")}, Pair{[]byte("b"), nil}); err != nil {
		t.Fatal(err)
	}
	reopen()
	expect(t, l, 100, 120)
	if v, err := l.GetStable([]byte("a")); err != nil || string(v) != "1" {
		t.Errorf("stable value %q, %v", v, err)
	}
	l.Close()
	if _, err := l.Get(100); err == nil {
		t.Error("read after close")
	}
	if err := l.Append([]Entry{made(121)}); err == nil {
		t.Error("append after close")
	}
}

// Truncation behind a snapshot and appending go on at the same time.
func TestLogConcurrently(t *testing.T) {
	l := openLog(t, vfs.NewMem(), 0)
	defer l.Close()
	appendRange(t, l, 1, 1)
	var truncator sync.WaitGroup
	truncator.Go(func() {
		for first := l.FirstIndex(); first < 900; first = l.FirstIndex() {
			if last := l.LastIndex(); last > first+3 {
				if err := l.DeleteRange(first, last-3); err != nil {
					t.Error(err)
				}
			}
		}
	})
	for i := uint64(2); i <= 1000; i++ {
		appendRange(t, l, i, i)
		if e, err := l.Get(i); err != nil || e.Index != i {
			t.Errorf("entry %d: %+v, %v", i, e, err)
		}
	}
	truncator.Wait()
	if err := l.Check(nil); err != nil {
		t.Error(err)
	}
	if l.LastIndex() != 1000 {
		t.Errorf("the log ends at %d", l.LastIndex())
	}
}

// The cache of recent entries stays within its bytes.
func TestRecentBounded(t *testing.T) {
	l := openLog(t, vfs.NewMem(), 0)
	defer l.Close()
	for i := uint64(1); i < 200; i++ {
		appendRange(t, l, i, i)
		if l.recent.bytes > 2000 {
			t.Fatalf("%d bytes", l.recent.bytes)
		}
		if _, ok := l.recent.get(i); !ok {
			t.Fatalf("entry %d is not cached", i)
		}
	}
}

// A value is bound to its shard and its index, and every flipped bit is seen.
func TestLogEntryDamage(t *testing.T) {
	e := made(35)
	key := appendEntryKey(nil, 7, 35)
	value := e.appendValue(nil, key)
	if _, err := decodeEntry(key, value); err != nil {
		t.Fatal(err)
	}
	for bit := range len(value) * 8 {
		bad := bytes.Clone(value)
		bad[bit/8] ^= 1 << (bit % 8)
		if _, err := decodeEntry(key, bad); !errors.Is(err, ErrDamaged) {
			t.Fatalf("bit %d: %v", bit, err)
		}
	}
	for size := range value {
		if _, err := decodeEntry(key, value[:size]); !errors.Is(err, ErrDamaged) {
			t.Fatalf("cut to %d: %v", size, err)
		}
	}
	for _, other := range [][]byte{appendEntryKey(nil, 7, 36), appendEntryKey(nil, 8, 35)} {
		if _, err := decodeEntry(other, value); !errors.Is(err, ErrDamaged) {
			t.Errorf("under key %x: %v", other, err)
		}
	}
}

// A newer version is named as such.
func TestLogEntryVersion(t *testing.T) {
	e := made(35)
	key := appendEntryKey(nil, 7, 35)
	value := e.appendValue(nil, key)
	value[0] = 2
	value = value[:len(value)-entryCRC]
	sum := entrySum(key, value)
	value = append(value, byte(sum>>24), byte(sum>>16), byte(sum>>8), byte(sum))
	if _, err := decodeEntry(key, value); err == nil || !strings.Contains(err.Error(), "version 2") {
		t.Errorf("%v", err)
	}
}

func FuzzLogEntry(f *testing.F) {
	for i := range uint64(12) {
		e := made(i)
		key := appendEntryKey(nil, 0, i)
		f.Add(e.appendValue(nil, key)[:e.valueSize()-entryCRC])
	}
	key := appendEntryKey(nil, 0, 9)
	f.Fuzz(func(t *testing.T, content []byte) {
		sum := entrySum(key, content) // past the checksum
		value := append(bytes.Clone(content), byte(sum>>24), byte(sum>>16), byte(sum>>8), byte(sum))
		e, err := decodeEntry(key, value)
		if err != nil {
			return
		}
		back, err := decodeEntry(key, e.appendValue(nil, key))
		if err != nil || fmt.Sprint(back) != fmt.Sprint(e) {
			t.Fatalf("%+v became %+v, %v", e, back, err)
		}
	})
}
