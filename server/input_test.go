package server

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
)

// What was taken keeps its bytes for as long as requests alias it; chunks follow
// the traffic; a command alone gets a chunk of its own, grown as it comes in.
func TestInput(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		var in input
		type taken struct{ got, want []byte }
		var lent []taken
		next := byte(0)
		for range 300 {
			need := 1
			if rnd.IntN(20) == 0 {
				need = rnd.IntN(1 << 20)
			}
			free := rnd.IntN(2) == 0 && !in.lent
			room := in.room(need, free)
			have := len(in.unparsed())
			if len(room) == 0 {
				t.Fatal(seed, "no room")
			}
			if c := cap(in.chunk); c > max(2*chunkMax, 2*have+chunkRead, chunkMin) {
				t.Fatal(seed, "a chunk of", c, "for", have, "bytes")
			}
			n := 1 + rnd.IntN(len(room))
			for i := range n {
				room[i] = next
				next += 7
			}
			in.received(n, len(room))
			for len(in.unparsed()) > 0 && rnd.IntN(4) > 0 {
				b := in.take(1 + rnd.IntN(len(in.unparsed())))
				lent = append(lent, taken{b, bytes.Clone(b)})
				in.lent = true
			}
		}
		for _, l := range lent {
			if !bytes.Equal(l.got, l.want) {
				t.Fatal(seed, "taken bytes changed")
			}
		}
	}
}

// A burst's chunk is given back when the burst is over.
func TestInputShrinks(t *testing.T) {
	var in input
	for range 10 {
		room := in.room(1, true)
		in.received(len(room), len(room))
		in.take(len(room))
	}
	if c := cap(in.chunk); c != chunkMax {
		t.Error("after a burst", c)
	}
	for range 2 {
		room := in.room(1, true)
		in.received(10, len(room))
		in.take(10)
	}
	if c := cap(in.chunk); c != chunkMin {
		t.Error("afterwards", c)
	}
}

// What a large command took is given back when it is answered, not when the client
// sends again, whether the server answers it or the shard.
func TestLargeCommandsAreLetGo(t *testing.T) {
	r := newRig(t, Options{}, true)
	const size, n = 1 << 20, 32
	large := strings.Repeat("x", size)
	inUse := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	for _, c := range []struct{ command, reply string }{
		{respCommand("ECHO", large), "$" + itoa(size) + "\r\n" + large + "\r\n"},
		{respCommand("DQRESCHEDULE", "q", "a", "NOW", "PAYLOAD", large), ":0\r\n"},
	} {
		before := inUse()
		for range n {
			client := r.client()
			client.sends(c.command)
			client.expect(c.reply)
		}
		until(t, "the commands are let go of", func() bool { return inUse()-before < n*size/4 })
	}
}
