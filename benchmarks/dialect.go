package main

import (
	"encoding/binary"
	"encoding/hex"
)

// queue is the queue, or ZSet, that every case works on.
const queue = "bench"

// A dialect is how one kind of server is asked to do the work. Everything else
// (connections, loops, clocks, parsing) is the same code for all of them.
type dialect interface {
	// prepare is called once per connection.
	prepare(c *conn) error
	// addFar appends an add of a job that is due in an hour (at dueMs, where the
	// server wants an instant).
	addFar(b []byte, p *payloads, seq uint64, dueMs int64) []byte
	// addAt appends an add of a job that is due at dueMs.
	addAt(b []byte, p *payloads, seq uint64, dueMs int64) []byte
	// added reads the reply of addFar or addAt: whether the job is new.
	added(c *conn) (bool, error)
	// addMany appends one command that adds jobs seq, seq+1, … due at dues.
	addMany(b []byte, p *payloads, seq uint64, duesMs []int64) []byte
	// addedMany reads the reply of addMany: how many of the n jobs are new.
	addedMany(c *conn, n int) (int, error)
	// cancel appends the command that removes a waiting job; the reply is an
	// integer, 1 where it was there. p and dueMs make its payload, by which Redis
	// knows it.
	cancel(b []byte, p *payloads, seq uint64, dueMs int64) []byte
	// pop appends the command that takes up to count due jobs. A server that can
	// block waits for them; polls says whether the caller must ask again instead.
	pop(b []byte, nowMs int64, count int) []byte
	polls() bool
	// popped reads the reply of pop into in.
	popped(c *conn, in *inbox) error
	// ack appends the command that settles all jobs of in; acked reads its reply:
	// how many were settled. many asks for the form that answers per job.
	ack(b []byte, in *inbox, many bool) []byte
	acked(c *conn, in *inbox, many bool) (int, error)
	// extend appends the command that lets the leases of the jobs of in, from to
	// to, end leaseFar after nowMs; extended reads its reply: how many do.
	extend(b []byte, in *inbox, from, to int, nowMs int64) []byte
	extended(c *conn, n int) (int, error)
}

// popBlockMs is how long a blocking pop waits before it is asked again.
const popBlockMs = 5000

// leaseMs is how long a worker may keep a job.
const leaseMs = 30_000

// leaseFarMs is a lease that does not end during a case.
const leaseFarMs = 3_600_000

// Jobs of every dialect are these bytes:
//
//	id       16  hex of seq
//	payload 100  due in ms (8), seq (8), incompressible (84)
//
// seq has the round in its top 16 bits. farRound marks the jobs that wait and
// must not be delivered.
const (
	idLen      = 16
	payloadLen = 100
	roundShift = 48
	farRound   = 0xffff
)

func firstSeq(round int) uint64 { return uint64(round) << roundShift }

// payloads makes payloads: one per connection, so that no two threads share it.
type payloads struct {
	buf [payloadLen]byte
}

// of fills the buffer with the payload of a job. The same job has the same bytes
// again, so that it can be named by them. The random part costs about as much
// as copying it: xorshift, eight bytes at a time.
func (p *payloads) of(seq uint64, dueMs int64) []byte {
	binary.BigEndian.PutUint64(p.buf[0:], uint64(dueMs))
	binary.BigEndian.PutUint64(p.buf[8:], seq)
	x := (seq + 1) * 0x9e3779b97f4a7c15 // neighbours begin far apart
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	for i := 16; i+8 <= payloadLen; i += 8 {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		binary.LittleEndian.PutUint64(p.buf[i:], x)
	}
	binary.LittleEndian.PutUint32(p.buf[payloadLen-4:], uint32(x*0x9e3779b97f4a7c15>>32))
	return p.buf[:]
}

func appendID(b []byte, seq uint64) []byte {
	var raw [8]byte
	binary.BigEndian.PutUint64(raw[:], seq)
	return hex.AppendEncode(b, raw[:])
}

// An inbox holds the jobs of one pop until they are acked. Its memory is reused.
type inbox struct {
	jobs   []delivery
	names  []byte // ids, or whole members, one after the other
	stride int    // length of a name
}

// A delivery is one job that a worker was given.
type delivery struct {
	seq   uint64
	dueMs int64
	token int64
}

func (in *inbox) reset(stride int) {
	in.jobs, in.names, in.stride = in.jobs[:0], in.names[:0], stride
}

func (in *inbox) add(name, payload []byte, token int64) error {
	if len(name) != in.stride || len(payload) != payloadLen {
		return errForeign
	}
	in.names = append(in.names, name...)
	in.jobs = append(in.jobs, delivery{
		dueMs: int64(binary.BigEndian.Uint64(payload)),
		seq:   binary.BigEndian.Uint64(payload[8:]),
		token: token,
	})
	return nil
}

func (in *inbox) name(i int) []byte { return in.names[i*in.stride : (i+1)*in.stride] }
