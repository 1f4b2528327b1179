package record

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

func randomInstant(rng *rand.Rand) Instant {
	return [...]Instant{
		{}, {Progress, 1}, {Wall, 0}, {Wall, math.MaxInt64}, {Progress, rng.Int64()}, {Wall, 1_800_000_000_000_000_000},
	}[rng.IntN(6)]
}

func randomBytes(rng *rand.Rand) []byte {
	switch rng.IntN(4) {
	case 0:
		return nil
	case 1:
		return []byte{}
	}
	b := make([]byte, rng.IntN(300))
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

func randomBody(rng *rand.Rand) *Body {
	b := &Body{Payload: append([]byte{}, randomBytes(rng)...), Lease: rng.Int64N(2) * rng.Int64()}
	for range rng.IntN(3) {
		b.Meta = append(b.Meta, Field{append([]byte{}, randomBytes(rng)...), append([]byte{}, randomBytes(rng)...)})
	}
	if rng.IntN(2) == 0 {
		b.Backoff = &Backoff{Kind: BackoffKind(rng.IntN(4)), Factor: rng.Uint32(), Jitter: uint8(rng.IntN(101))}
		for range rng.IntN(3) {
			b.Backoff.Steps = append(b.Backoff.Steps, rng.Int64())
		}
	}
	return b
}

func randomJob(rng *rand.Rand) *Job {
	j := &Job{
		Queue: rng.Uint32(), ID: append([]byte{}, randomBytes(rng)...), Seq: rng.Uint64(), State: State(1 + rng.IntN(4)),
		Pri: uint8(rng.Uint32()), Due: randomInstant(rng), Wake: randomInstant(rng), Expire: randomInstant(rng),
		TTL: rng.Int64N(2) * rng.Int64(), Created: rng.Int64(), Attempt: rng.Uint32(), MaxAttempts: int32(rng.Uint32()),
		TokenState: TokenState(rng.IntN(4)), Worker: randomBytes(rng), Reason: randomBytes(rng),
	}
	if rng.IntN(2) == 0 {
		j.Token, j.LeasedAt, j.LateUs = rng.Uint64(), rng.Int64(), rng.Int64()
	}
	if j.State == Dead {
		j.Died, j.Cause = rng.Int64(), Cause(rng.IntN(4))
	}
	if rng.IntN(2) == 0 {
		j.Idem, j.IdemUntil = Digest{1, 2, byte(rng.Uint32())}, rng.Int64()
	}
	j.SetBody(randomBody(rng))
	return j
}

// What is encoded is decoded, in every combination of optional fields.
func TestJobRoundTrip(t *testing.T) {
	for seed := range uint64(5000) {
		j := randomJob(rand.New(rand.NewPCG(seed, 0)))
		value := j.AppendValue(nil)
		got, err := DecodeJob(j.Queue, j.ID, value)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		want := *j
		if want.Separate {
			want.Body = nil
			body, err := DecodeBody(j.Body.Append(nil))
			if err != nil || !reflect.DeepEqual(body, j.Body) {
				t.Fatalf("seed %d: body %+v, want %+v, %v", seed, body, j.Body, err)
			}
		}
		if !reflect.DeepEqual(got, &want) {
			t.Fatalf("seed %d:\ngot  %+v\nwant %+v", seed, got, &want)
		}
		p, err := DecodePlace(j.Queue, j.ID, value)
		if err != nil || !reflect.DeepEqual(p, j.Place()) {
			t.Fatalf("seed %d: place %+v, want %+v, %v", seed, p, j.Place(), err)
		}
	}
}

// The boundary between inline and separate bodies, and both neighbours.
func TestSetBody(t *testing.T) {
	for _, c := range []struct {
		payload  int
		separate bool
	}{{0, false}, {InlineMax - 2, false}, {InlineMax - 1, false}, {InlineMax, true}, {InlineMax + 1, true}, {1 << 20, true}} {
		var j Job
		j.SetBody(&Body{Payload: make([]byte, c.payload)})
		if j.Separate != c.separate || j.PayloadSize != uint32(c.payload) {
			t.Errorf("payload of %d bytes: separate %v, size %d", c.payload, j.Separate, j.PayloadSize)
		}
	}
	var j Job
	j.SetBody(&Body{Meta: []Field{{Name: []byte("n"), Value: make([]byte, InlineMax)}}})
	if !j.Separate || j.PayloadSize != 0 {
		t.Error("large meta is inline")
	}
}

// Other records come back as they were, at their extremes too.
func TestRecordsRoundTrip(t *testing.T) {
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 0))
		fill := func(v any) {
			r := reflect.ValueOf(v).Elem()
			for i := range r.NumField() {
				switch f := r.Field(i); {
				case f.CanInt():
					f.SetInt([]int64{0, 1, -1, math.MaxInt64, math.MinInt64, rng.Int64()}[rng.IntN(6)] >> (64 - f.Type().Bits()))
				case f.CanUint():
					f.SetUint(rng.Uint64() >> (64 - f.Type().Bits()))
				case f.Kind() == reflect.Bool:
					f.SetBool(rng.IntN(2) == 0)
				}
			}
		}
		var q Queue
		fill(&q)
		q.Name = append([]byte{}, randomBytes(rng)...)
		q.InUntil, q.OutUntil = Instant{Wall, rng.Int64()}, Endless
		if got, err := DecodeQueue(q.Number, q.AppendValue(nil)); err != nil || !reflect.DeepEqual(*got, q) {
			t.Fatalf("queue %+v, want %+v, %v", got, q, err)
		}
		var s Settings
		fill(&s)
		s.Backoff = Backoff{Kind: BackoffExp, Steps: []int64{1, math.MaxInt64}, Factor: math.MaxUint32, Jitter: 100}
		o := Own{Given: Fields(rng.Uint32()) & AllFields}
		o.Copy(&s, o.Given)
		if got, err := DecodeOwn(o.AppendValue(nil)); err != nil || !reflect.DeepEqual(*got, o) {
			t.Fatalf("settings %+v, want %+v, %v", got, o, err)
		}
		m := Idem{Digest: Digest{9, 8}, Until: rng.Int64()}
		if got, err := DecodeIdem(m.AppendValue(nil)); err != nil || got != m {
			t.Fatalf("idem %+v, want %+v, %v", got, m, err)
		}
		var a Applied
		fill(&a)
		a.Cursors = [2]int64{rng.Int64(), -rng.Int64()}
		value := a.AppendValue([]byte("before"))[6:]
		if got, err := DecodeApplied(value); err != nil || got != a {
			t.Fatalf("applied %+v, want %+v, %v", got, a, err)
		}
		value[rng.IntN(len(value))] ^= 1 << rng.IntN(8)
		if _, err := DecodeApplied(value); err == nil {
			t.Fatal("a flipped bit in applied was not seen")
		}
	}
	f := Format{Version: 3, Shard: 77}
	if got, err := DecodeFormat(f.AppendValue(nil)); err != nil || got != f {
		t.Errorf("format %+v, %v", got, err)
	}
}

// Own settings lie over the defaults, each of them alone: no field is forgotten.
func TestOwnSettings(t *testing.T) {
	defaults, all := DefaultSettings(), Own{Given: AllFields}
	for i, n := range all.numbers() {
		*n = int64(i + 1000)
	}
	all.Backoff, all.ExpireToDead, all.Release = Backoff{Kind: BackoffFixed, Steps: []int64{7}}, true, true
	for f := Fields(1); f&AllFields != 0; f <<= 1 {
		own := Own{Given: f, Settings: all.Settings}
		s := own.Over(&defaults)
		if changed := changedFields(s, defaults); changed != 1 {
			t.Errorf("field %b: %d fields differ from the defaults in %+v", f, changed, s)
		}
	}
	if s := all.Over(&defaults); !reflect.DeepEqual(s, all.Settings) {
		t.Errorf("%+v, want %+v", s, all.Settings)
	}
}

func changedFields(a, b Settings) (n int) {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range x.NumField() {
		if !reflect.DeepEqual(x.Field(i).Interface(), y.Field(i).Interface()) {
			n++
		}
	}
	return n
}

// A job with a negative time never gets into a key.
func TestNegativeTimePanics(t *testing.T) {
	for name, j := range map[string]*Job{
		"due":     {State: Delayed, Due: Instant{Ns: -1}},
		"wake":    {State: Leased, Wake: Instant{Ns: -1}},
		"created": {State: Ready, Created: -1},
		"state":   {State: 0},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: encoded", name)
				}
			}()
			j.AppendValue(nil)
		}()
	}
}

// The bytes are a format: a change of this test is a change of what is on disk.
func TestGolden(t *testing.T) {
	j := &Job{
		Queue: 5, ID: []byte("id"), Seq: 300, State: Leased, Pri: 9, Due: Instant{Wall, 1000}, Wake: Instant{Progress, 4000},
		Created: 1000, Attempt: 2, MaxAttempts: -1, Token: 7, TokenState: TokenHeld, LeasedAt: 1500, LateUs: 3, Worker: []byte("w"),
	}
	j.SetBody(&Body{Payload: []byte("p"), Meta: []Field{{[]byte("k"), []byte("v")}}, Lease: 5})
	dead := *j
	dead.State, dead.Died, dead.Cause = Dead, 2000, CauseNack
	var keys []string
	for _, job := range []*Job{j, &dead, {Queue: 5, ID: []byte("id"), Seq: 300, State: Delayed, Pri: 9, Due: Instant{Wall, 1000}}, {Queue: 5, ID: []byte("id"), Seq: 300, State: Ready, Pri: 9, Due: Instant{Wall, 1000}}} {
		keys = append(keys, hex.EncodeToString(job.AppendRecordKey(nil)))
		for k, v := range job.IndexKeys {
			keys = append(keys, fmt.Sprintf("%x=%x", k, v))
		}
	}
	for _, c := range []struct{ name, got, want string }{
		{"leased record", hex.EncodeToString(j.AppendValue(nil)), "010463130900000000000003e8ac0200f02e020107e807060177150501016b017670"},
		{"keys", strings.Join(keys, "\n"), strings.Join([]string{
			"01000000056964",
			"03000000000000000fa0000000000000012c=00000005006964",
			"06000000000500026964fffffffffffff82ffffffffffffffed3",
			"03000000000000000fa0000000000000012c=000000050100000000000007d06964",
			"06010000000500000000000007d0000000000000012c=6964",
			"01000000056964",
			"04000000050100000000000003e809000000000000012c=6964",
			"01000000056964",
			"05000000050900000000000003e8000000000000012c=6964",
		}, "\n")},
	} {
		if c.got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, c.got, c.want)
		}
	}
}

// Keys sort as the indexes need it, parse back, and never run into each other.
func TestKeys(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var last []byte
	for _, pri := range []uint8{0, 1, 255} {
		for _, due := range []int64{0, 1, 255, 256, math.MaxInt64} {
			for _, seq := range []uint64{0, 1, 255, 256, math.MaxUint64} {
				k := AppendReadyKey(nil, 7, pri, due, seq)
				if bytes.Compare(last, k) >= 0 {
					t.Fatalf("ready key %x comes before %x", k, last)
				}
				last = k
				if q, p, d, s, ok := ParseReadyKey(k); !ok || q != 7 || p != pri || d != due || s != seq {
					t.Fatalf("ready key %x parsed", k)
				}
				if q, d, p, s, ok := ParseDelayedKey(AppendDelayedKey(nil, 7, Instant{Wall, due}, pri, seq)); !ok || q != 7 || d != (Instant{Wall, due}) || p != pri || s != seq {
					t.Fatal("delayed key")
				}
				if at, s, ok := ParseWakeKey(AppendWakeKey(nil, Instant{Wall, due}, seq)); !ok || at != (Instant{Wall, due}) || s != seq {
					t.Fatal("wake key")
				}
				if q, d, s, ok := ParseDeadOrderKey(AppendDeadOrderKey(nil, 7, due, seq)); !ok || q != 7 || d != due || s != seq {
					t.Fatal("dead order key")
				}
			}
		}
	}
	seen := map[string]string{}
	for range 20000 {
		q := []uint32{0, 1, 255, 256, math.MaxUint32}[rng.IntN(5)]
		id := make([]byte, rng.IntN(4))
		for i := range id {
			id[i] = byte(rng.IntN(3))
		}
		died, seq := rng.Int64N(3), rng.Uint64N(3)
		for what, k := range map[string][]byte{
			fmt.Sprint("job", q, id): AppendJobKey(nil, q, id), fmt.Sprint("body", q, seq): AppendBodyKey(nil, q, seq),
			fmt.Sprint("dead", q, id, died, seq): AppendDeadJobKey(nil, q, id, died, seq),
			fmt.Sprint("idem", q, id):            AppendIdemKey(nil, q, id), fmt.Sprint("sweep", q, id, died): AppendIdemSweepKey(nil, died, q, id),
			fmt.Sprint("name", id): AppendQueueNameKey(nil, id), fmt.Sprint("queue", q): AppendQueueKey(nil, q),
			fmt.Sprint("settings", q): AppendSettingsKey(nil, q),
		} {
			if other, ok := seen[string(k)]; ok && other != what {
				t.Fatalf("%s and %s share key %x", what, other, k)
			}
			seen[string(k)] = what
		}
		if gq, gid, gd, gs, ok := ParseDeadJobKey(AppendDeadJobKey(nil, q, id, died, seq)); !ok || gq != q || !bytes.Equal(gid, id) || gd != died || gs != seq {
			t.Fatal("dead job key")
		}
		if gu, gq, gid, ok := ParseIdemSweepKey(AppendIdemSweepKey(nil, died, q, id)); !ok || gu != died || gq != q || !bytes.Equal(gid, id) {
			t.Fatal("sweep key")
		}
		for _, dead := range []bool{false, true} {
			w := WakeValue{Queue: q, ID: id, Dead: dead}
			if dead {
				w.Died = died
			}
			got, ok := ParseWakeValue(w.append(nil))
			if !ok || got.Queue != q || !bytes.Equal(got.ID, id) || got.Dead != dead || got.Died != w.Died {
				t.Fatalf("wake value %+v, want %+v", got, w)
			}
		}
	}
}

// PrefixEnd bounds exactly the keys with the prefix.
func TestPrefixEnd(t *testing.T) {
	for _, c := range []struct{ prefix, end []byte }{
		{[]byte{1}, []byte{2}}, {[]byte{1, 0xff}, []byte{2}}, {[]byte{0xff, 0xff}, nil}, {nil, nil}, {[]byte{1, 2, 3}, []byte{1, 2, 4}},
	} {
		before := slices.Clone(c.prefix)
		if got := PrefixEnd(c.prefix); !bytes.Equal(got, c.end) || !bytes.Equal(before, c.prefix) {
			t.Errorf("PrefixEnd(%x) = %x, want %x", c.prefix, got, c.end)
		}
	}
}

// Hostile bytes give an error, and what is accepted is exactly what would be written.
func FuzzJob(f *testing.F) {
	for seed := range uint64(40) {
		f.Add(randomJob(rand.New(rand.NewPCG(seed, 0))).AppendValue(nil))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		j, err := DecodeJob(1, []byte("id"), value)
		p, perr := DecodePlace(1, []byte("id"), value)
		if err != nil {
			return
		}
		if again := j.AppendValue(nil); !bytes.Equal(again, value) {
			t.Fatalf("%x was accepted and is written as %x", value, again)
		}
		if perr != nil || !reflect.DeepEqual(p, j.Place()) {
			t.Fatalf("place %+v, want %+v, %v", p, j.Place(), perr)
		}
		if j.Body != nil {
			if n := len(j.Body.Meta) * int(unsafe.Sizeof(Field{})); n > 64*len(value) {
				t.Fatalf("%d bytes of fields for %d bytes", n, len(value))
			}
		}
	})
}

func FuzzBody(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(randomBody(rand.New(rand.NewPCG(seed, 0))).Append(nil))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		b, err := DecodeBody(value)
		if err != nil {
			return
		}
		if again := b.Append(nil); !bytes.Equal(again, value) {
			t.Fatalf("%x was accepted and is written as %x", value, again)
		}
	})
}

func FuzzOthers(f *testing.F) {
	q, s, a := Queue{Name: []byte("q"), Added: -1}, Own{Given: AllFields, Settings: DefaultSettings()}, Applied{Index: 1}
	f.Add(q.AppendValue(nil))
	f.Add(s.AppendValue(nil))
	f.Add(a.AppendValue(nil))
	f.Add((&Idem{}).AppendValue(nil))
	f.Add(AppendDeadJobKey(nil, 1, []byte("id"), 2, 3))
	f.Fuzz(func(t *testing.T, b []byte) {
		same := func(again []byte) {
			if !bytes.Equal(again, b) {
				t.Fatalf("%x was accepted and is written as %x", b, again)
			}
		}
		if q, err := DecodeQueue(1, b); err == nil {
			same(q.AppendValue(nil))
		}
		if s, err := DecodeOwn(b); err == nil {
			same(s.AppendValue(nil))
		}
		if a, err := DecodeApplied(b); err == nil {
			same(a.AppendValue(nil))
		}
		if m, err := DecodeIdem(b); err == nil {
			same(m.AppendValue(nil))
		}
		if w, ok := ParseWakeValue(b); ok {
			same(w.append(nil))
		}
		if q, id, died, seq, ok := ParseDeadJobKey(b); ok {
			same(AppendDeadJobKey(nil, q, id, died, seq))
		}
		if q, due, pri, seq, ok := ParseDelayedKey(b); ok {
			same(AppendDelayedKey(nil, q, due, pri, seq))
		}
	})
}
