package server

// Sizes of the chunks that a connection reads into. A client that sends one
// command at a time stays at the small end; one that fills its chunk gets larger
// ones. A large command gets a chunk of its own, which doubles as its bytes come
// in and never exceeds what it announced: a header alone buys no memory.
const (
	chunkMin  = 4 << 10
	chunkMax  = 64 << 10
	chunkRead = 512 // less room than this is not worth a read
)

// input holds what a connection has received and not yet parsed. Requests alias
// the parsed bytes before begin, so a chunk of which something went to the shard
// is never overwritten, not even after the answer: it is left to the garbage
// collector and its tail copied.
type input struct {
	chunk []byte // received bytes; the capacity is the chunk
	begin int    // the first byte not parsed yet
	size  int    // of the next chunk
	lent  bool   // requests alias the chunk
}

// unparsed returns what waits to be parsed.
func (in *input) unparsed() []byte { return in.chunk[in.begin:] }

// take consumes n unparsed bytes and returns them.
func (in *input) take(n int) []byte {
	cmd := in.chunk[in.begin : in.begin+n : in.begin+n]
	in.begin += n
	return cmd
}

// room returns memory to read into. need is the number of bytes that the
// unfinished command takes at least; free says that the parsed bytes may be overwritten.
func (in *input) room(need int, free bool) []byte {
	have := len(in.chunk) - in.begin
	if have == 0 && cap(in.chunk) > chunkMax {
		// It was for one large command. Its rest is not worth what it holds until the
		// client sends again.
		in.chunk, in.begin, in.lent = nil, 0, false
	}
	if free && have == 0 {
		in.begin = 0
		in.chunk = in.chunk[:0]
		if cap(in.chunk) != max(in.size, chunkMin) {
			in.chunk = nil // a burst has begun or is over
		}
	}
	left := cap(in.chunk) - len(in.chunk)
	if left >= chunkRead || left > 0 && in.begin+need <= cap(in.chunk) {
		return in.chunk[len(in.chunk):cap(in.chunk)]
	}
	size := max(in.size, chunkMin)
	if have+chunkRead > size {
		size = max(2*have, chunkMax)
	}
	if need > chunkMax {
		// Little more than this command; yet it may turn out longer with each
		// argument, so the chunk always grows by a factor.
		size = min(size, max(need, have+have/2))
	}
	size = max(size, have+1)
	chunk := make([]byte, have, size)
	copy(chunk, in.unparsed())
	in.chunk, in.begin, in.lent = chunk, 0, false
	return chunk[have:size]
}

// received accounts for n bytes that were read into room, and adapts the size.
func (in *input) received(n, room int) {
	in.chunk = in.chunk[:len(in.chunk)+n]
	switch {
	case n == room:
		in.size = min(max(2*in.size, 2*chunkMin), chunkMax)
	case n < chunkMin:
		in.size = chunkMin
	}
}
