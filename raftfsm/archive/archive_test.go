package archive

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"dqd/persist/record"
)

// example has two blocks of pairs and a queue.
func example() []byte {
	applied := record.Applied{Index: 7, Term: 2, NextToken: 3, NextSeq: 4, NextQueue: 2}
	queue := record.Queue{Number: 1, Name: []byte("mail"), Delayed: 2, Added: 3, Dead: 1}
	var w Writer
	all := w.Head(nil, Head{Format: record.FormatVersion, Shard: 5, Taken: 1_800_000_000_000_000_000})
	all = w.Pairs(all, 1, AppendPair(nil, record.AppliedKey(), applied.AppendValue(nil)))
	all = w.Pairs(all, 2, AppendPair(AppendPair(nil,
		record.AppendQueueKey(nil, 1), queue.AppendValue(nil)),
		[]byte{0x08, 0x01, 'x'}, nil))
	return w.End(all)
}

// What was written is read back, in pieces of any size.
func TestReadBack(t *testing.T) {
	all := example()
	for size := range 20 {
		r, err := NewReader(&slowly{all, size + 1})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for {
			pairs, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for k := range pairs.All() {
				got = append(got, hex.EncodeToString(k))
			}
		}
		if fmt.Sprint(got) != "[0001 070100000001 080178]" {
			t.Fatal(got)
		}
		if r.Shard != 5 || r.Applied.Index != 7 || r.Queues != 1 || r.Live != 2 || r.Dead != 1 || r.Pairs != 3 || r.Bytes != int64(len(all)) {
			t.Fatalf("%+v", r.Summary)
		}
		if _, err := r.Next(); err != io.EOF {
			t.Fatal(err)
		}
	}
}

type slowly struct {
	b    []byte
	size int
}

func (s *slowly) Read(p []byte) (int, error) {
	if len(s.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), s.size)], s.b)
	s.b = s.b[n:]
	return n, nil
}

// Archives that are older than the program must stay readable, or be refused by their
// version: whoever changes these bytes changes a version too.
func TestFormatIsStable(t *testing.T) {
	const want = "6471642d6261636b757001"
	got := hex.EncodeToString(example())
	if got[:len(want)] != want || got[len(want):len(want)+10] != "010000000d" {
		t.Errorf("begins with %s", got[:len(want)+10])
	}
	if got := got[len(got)-2*sumSize:]; got != "12912ecae139bc7b" {
		t.Errorf("the last sum is %s", got)
	}
}

// An archive whose sums are right but which is wrong in itself.
func TestRefusals(t *testing.T) {
	head := Head{Format: record.FormatVersion}
	applied := AppendPair(nil, record.AppliedKey(), new(record.Applied).AppendValue(nil))
	for want, make := range map[string]func(w *Writer) []byte{
		"no head": func(w *Writer) []byte {
			w.Head(nil, head)
			w.sum.Reset()
			w.sum.WriteString(magic + "\x01")
			return w.End([]byte(magic + "\x01"))
		},
		"its records have format 99": func(w *Writer) []byte { return w.Head(nil, Head{Format: 99}) },
		"comes after key": func(w *Writer) []byte {
			return w.Pairs(w.Head(nil, head), 2, append(bytes.Clone(applied), applied...))
		},
		"malformed pairs": func(w *Writer) []byte { return w.Pairs(w.Head(nil, head), 1, []byte{2, 1}) },
		"unknown block":   func(w *Writer) []byte { return w.block(w.Head(nil, head), kindHead, nil) },
		"malformed record: applied": func(w *Writer) []byte {
			return w.Pairs(w.Head(nil, head), 1, AppendPair(nil, record.AppliedKey(), nil))
		},
		"there were 1 pairs":         func(w *Writer) []byte { return w.End(w.Pairs(w.Head(nil, head), 2, applied)) },
		"where the state stood":      func(w *Writer) []byte { return w.End(w.Head(nil, head)) },
		"it is empty":                func(w *Writer) []byte { return nil },
		"does not begin as a backup": func(w *Writer) []byte { return []byte("REDIS0011 and more") },
		"it has version 2":           func(w *Writer) []byte { return []byte(magic + "\x02") },
		"it ends early":              func(w *Writer) []byte { return w.Pairs(w.Head(nil, head), 1, applied) },
	} {
		_, err := Verify(bytes.NewReader(make(new(Writer))))
		if !errors.Is(err, ErrBroken) || !bytes.Contains([]byte(err.Error()), []byte(want)) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Any byte behind the first that say what it is: the block that it is in is named.
func TestDamageIsPlaced(t *testing.T) {
	whole := example()
	for begin := len(magic) + 1; begin < len(whole); {
		end := begin + blockHead + int(binary.BigEndian.Uint32(whole[begin+1:])) + sumSize
		for at := begin; at < end; at++ {
			b := bytes.Clone(whole)
			b[at] ^= 1
			_, err := Verify(bytes.NewReader(b))
			what, where, _ := strings.Cut(fmt.Sprint(err), " (")
			var from, to int
			n, _ := fmt.Sscanf(where, "in its block of bytes %d to %d)", &from, &to)
			if n != 2 || from != begin || to < at || strings.HasSuffix(what, "wrong checksum") && at >= begin+blockHead && to != end-1 {
				t.Errorf("byte %d of the block %d to %d: %v", at, begin, end-1, err)
			}
			if _, err := Verify(bytes.NewReader(whole[:at])); !strings.Contains(fmt.Sprint(err), fmt.Sprint("it ends early (in its block of bytes ", begin, " to ", at-1, ")")) &&
				(at > begin || !strings.Contains(fmt.Sprint(err), fmt.Sprint("it ends early (at byte ", at, ")"))) {
				t.Errorf("cut at byte %d of the block %d to %d: %v", at, begin, end-1, err)
			}
		}
		begin = end
	}
}

func FuzzVerify(f *testing.F) {
	f.Add(example())
	f.Fuzz(func(t *testing.T, b []byte) {
		sum, err := Verify(bytes.NewReader(b))
		if err == nil && sum.Bytes != int64(len(b)) {
			t.Errorf("%d bytes of %d are a whole archive", sum.Bytes, len(b))
		}
		if err != nil && !errors.Is(err, ErrBroken) {
			t.Error(err)
		}
	})
}
