package main

import (
	"errors"
	"fmt"
)

var errForeign = errors.New("delivered a job that was not added")

// dqdDialect speaks DQADD, DQMADD, DQPOP, DQACK and DQMACK.
type dqdDialect struct{}

const (
	dqaddHead = "$5\r\nDQADD\r\n$5\r\n" + queue + "\r\n$16\r\n"
	dqaddFar  = "*6\r\n" + dqaddHead
	farTail   = "\r\n$5\r\nDELAY\r\n$2\r\n1h\r\n"
	atOption  = "\r\n$2\r\nAT\r\n"
	dqmadd    = "$6\r\nDQMADD\r\n$5\r\n" + queue + "\r\n$4\r\nJOBS\r\n"
	dqmack    = "$6\r\nDQMACK\r\n$5\r\n" + queue + "\r\n$4\r\nJOBS\r\n"
	dqack     = "$5\r\nDQACK\r\n$5\r\n" + queue + "\r\n"
	dqcancel  = "*3\r\n$8\r\nDQCANCEL\r\n$5\r\n" + queue + "\r\n"
	dqmextend = "$9\r\nDQMEXTEND\r\n$5\r\n" + queue + "\r\n$2\r\n1h\r\n$4\r\nJOBS\r\n"
	dqpop     = "*6\r\n$5\r\nDQPOP\r\n$5\r\n" + queue + "\r\n$5\r\nCOUNT\r\n"
	blockName = "$5\r\nBLOCK\r\n"
	payHead   = "\r\n$100\r\n"
)

func (dqdDialect) prepare(*conn) error { return nil }
func (dqdDialect) polls() bool         { return false }

func (dqdDialect) addFar(b []byte, p *payloads, seq uint64, dueMs int64) []byte {
	b = append(b, dqaddFar...)
	b = appendID(b, seq)
	b = append(b, payHead...)
	b = append(b, p.of(seq, dueMs)...)
	return append(b, farTail...)
}

func (dqdDialect) addAt(b []byte, p *payloads, seq uint64, dueMs int64) []byte {
	b = append(b, dqaddFar...) // DQADD queue id payload AT time: six words too
	b = appendID(b, seq)
	b = append(b, payHead...)
	b = append(b, p.of(seq, dueMs)...)
	b = append(b, atOption...)
	return appendBulkInt(b, dueMs*1e6, "ns")
}

func (dqdDialect) added(c *conn) (bool, error) {
	id, err := c.bulk()
	return id != nil, err
}

func (dqdDialect) addMany(b []byte, p *payloads, seq uint64, duesMs []int64) []byte {
	b = appendArray(b, 4+3*len(duesMs))
	b = append(b, dqmadd...)
	b = appendBulkInt(b, int64(len(duesMs)), "")
	for i, due := range duesMs {
		seq := seq + uint64(i)
		b = appendBulkLen(b, idLen)
		b = appendID(b, seq)
		b = append(b, payHead...)
		b = append(b, p.of(seq, due)...)
		b = append(b, '\r', '\n')
		b = appendBulkInt(b, due, "")
	}
	return b
}

func (dqdDialect) addedMany(c *conn, n int) (int, error) {
	got, err := c.array()
	if err != nil {
		return 0, err
	}
	if got != int64(n) {
		return 0, fmt.Errorf("DQMADD of %d jobs answered %d", n, got)
	}
	added := 0
	for range n {
		id, err := c.bulk()
		if err != nil {
			return 0, err
		}
		if id != nil {
			added++
		}
	}
	return added, nil
}

func (dqdDialect) cancel(b []byte, _ *payloads, seq uint64, _ int64) []byte {
	b = append(b, dqcancel...)
	b = appendBulkLen(b, idLen)
	b = appendID(b, seq)
	return append(b, '\r', '\n')
}

func (dqdDialect) pop(b []byte, _ int64, count int) []byte {
	b = append(b, dqpop...)
	b = appendBulkInt(b, int64(count), "")
	b = append(b, blockName...)
	return appendBulkInt(b, popBlockMs, "")
}

func (dqdDialect) popped(c *conn, in *inbox) error {
	in.reset(idLen)
	n, err := c.array()
	if err != nil {
		return err
	}
	var name [idLen]byte
	for range max(n, 0) {
		width, err := c.array()
		if err != nil {
			return err
		}
		if width != 6 {
			return fmt.Errorf("job tuple of %d elements, want 6", width)
		}
		if _, err := c.bulk(); err != nil { // queue
			return err
		}
		id, err := c.bulk()
		if err != nil {
			return err
		}
		if copy(name[:], id) != len(id) {
			return errForeign
		}
		payload, err := c.bulk()
		if err != nil {
			return err
		}
		if len(payload) != payloadLen {
			return errForeign
		}
		if err := in.add(name[:], payload, 0); err != nil {
			return err
		}
		job := &in.jobs[len(in.jobs)-1]
		if job.token, err = c.integer(); err != nil {
			return err
		}
		if _, err := c.integer(); err != nil { // attempt
			return err
		}
		due, err := c.integer()
		if err != nil {
			return err
		}
		if due != job.dueMs && job.seq>>roundShift != farRound {
			return fmt.Errorf("job %x: due %d in the tuple, %d in the payload", job.seq, due, job.dueMs)
		}
	}
	return nil
}

func (dqdDialect) ack(b []byte, in *inbox, many bool) []byte {
	if many {
		b = appendArray(b, 4+2*len(in.jobs))
		b = append(b, dqmack...)
		b = appendBulkInt(b, int64(len(in.jobs)), "")
	} else {
		b = appendArray(b, 2+2*len(in.jobs))
		b = append(b, dqack...)
	}
	for i := range in.jobs {
		b = appendBulk(b, in.name(i))
		b = appendBulkInt(b, in.jobs[i].token, "")
	}
	return b
}

func (dqdDialect) acked(c *conn, in *inbox, many bool) (int, error) {
	if !many {
		n, err := c.integer()
		return int(n), err
	}
	return codes(c, len(in.jobs))
}

func (dqdDialect) extend(b []byte, in *inbox, from, to int, _ int64) []byte {
	b = appendArray(b, 5+2*(to-from))
	b = append(b, dqmextend...)
	b = appendBulkInt(b, int64(to-from), "")
	for i := from; i < to; i++ {
		b = appendBulk(b, in.name(i))
		b = appendBulkInt(b, in.jobs[i].token, "")
	}
	return b
}

func (dqdDialect) extended(c *conn, n int) (int, error) { return codes(c, n) }

// codes reads an array of n codes: how many of them are 1.
func codes(c *conn, n int) (int, error) {
	got, err := c.array()
	if err != nil {
		return 0, err
	}
	if got != int64(n) {
		return 0, fmt.Errorf("%d codes for %d jobs", got, n)
	}
	done := 0
	for range n {
		code, err := c.integer()
		if err != nil {
			return 0, err
		}
		if code == 1 {
			done++
		}
	}
	return done, nil
}
