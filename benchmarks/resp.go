package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
)

// conn is a lean RESP2 client: requests are appended to out and sent as they
// are, replies are parsed in the read buffer. One goroutine uses it.
type conn struct {
	net net.Conn
	r   *bufio.Reader
	out []byte
}

// A replyError is an error reply ("-ERR …") of the server.
type replyError string

func (e replyError) Error() string { return "server replied: " + string(e) }

var errProtocol = errors.New("not a RESP2 reply")

// dial connects; the connection is closed when ctx ends, which is how every
// read in this program is bounded.
func dial(ctx context.Context, addr string) (*conn, error) {
	var d net.Dialer
	nc, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { nc.Close() })
	return newConn(nc), nil
}

func newConn(nc net.Conn) *conn {
	return &conn{net: nc, r: bufio.NewReaderSize(nc, 32<<10)}
}

func (c *conn) close() { c.net.Close() }

// send writes what was appended to out.
func (c *conn) send() error {
	_, err := c.net.Write(c.out)
	return err
}

// do sends one command and returns its reply as text (of an array: nothing).
// For set-up only.
func (c *conn) do(args ...string) (string, error) {
	c.out = appendCommand(c.out[:0], args...)
	if err := c.send(); err != nil {
		return "", err
	}
	kind, n, text, err := c.head()
	if err != nil {
		return "", err
	}
	switch kind {
	case '+', ':':
		return string(text), nil
	case '$':
		b, err := c.bulkBody(n)
		return string(b), err
	}
	for range n {
		if err := c.skip(); err != nil {
			return "", err
		}
	}
	return "", nil
}

// head reads the first line of a reply: its kind, the number it carries
// (the value of ':', the length of '$' and '*', -1 for null), and the line.
// An error reply is returned as a replyError. text is valid until the next read.
func (c *conn) head() (kind byte, n int64, text []byte, err error) {
	line, err := c.r.ReadSlice('\n')
	if err != nil {
		return 0, 0, nil, err
	}
	if len(line) < 3 || line[len(line)-2] != '\r' {
		return 0, 0, nil, fmt.Errorf("%w: %q", errProtocol, line)
	}
	kind, text = line[0], line[1:len(line)-2]
	switch kind {
	case '+':
		return kind, 0, text, nil
	case '-':
		return kind, 0, nil, replyError(text)
	case ':', '$', '*':
		n, ok := parseInt(text)
		if !ok || (kind != ':' && n < -1) {
			return 0, 0, nil, fmt.Errorf("%w: %q", errProtocol, line)
		}
		return kind, n, text, nil
	}
	return 0, 0, nil, fmt.Errorf("%w: %q", errProtocol, line)
}

// integer reads an integer reply.
func (c *conn) integer() (int64, error) {
	kind, n, _, err := c.head()
	if err == nil && kind != ':' {
		err = fmt.Errorf("%w: %q where an integer was due", errProtocol, kind)
	}
	return n, err
}

// array reads the head of an array: its length, -1 for null (null bulk too).
func (c *conn) array() (int64, error) {
	kind, n, _, err := c.head()
	if err == nil && kind != '*' && !(kind == '$' && n == -1) {
		err = fmt.Errorf("%w: %q where an array was due", errProtocol, kind)
	}
	return n, err
}

// bulk reads a bulk string, nil for null. It is valid until the next read.
func (c *conn) bulk() ([]byte, error) {
	kind, n, _, err := c.head()
	if err != nil {
		return nil, err
	}
	if kind != '$' {
		return nil, fmt.Errorf("%w: %q where a bulk string was due", errProtocol, kind)
	}
	return c.bulkBody(n)
}

func (c *conn) bulkBody(n int64) ([]byte, error) {
	if n < 0 {
		return nil, nil
	}
	if n+2 > int64(c.r.Size()) {
		b := make([]byte, n+2)
		if _, err := io.ReadFull(c.r, b); err != nil {
			return nil, err
		}
		return b[:n], nil
	}
	b, err := c.r.Peek(int(n) + 2)
	if err != nil {
		return nil, err
	}
	if b[n] != '\r' || b[n+1] != '\n' {
		return nil, fmt.Errorf("%w: bulk string of %d bytes has no end", errProtocol, n)
	}
	c.r.Discard(int(n) + 2) // cannot fail: the bytes are in the buffer
	return b[:n:n], nil
}

// skip reads one reply of any shape and forgets it; an error reply anywhere in
// it is returned.
func (c *conn) skip() error {
	kind, n, _, err := c.head()
	if err != nil {
		return err
	}
	switch kind {
	case '$':
		_, err = c.bulkBody(n)
	case '*':
		for range max(n, 0) {
			if err := c.skip(); err != nil {
				return err
			}
		}
	}
	return err
}

// parseInt is strconv.ParseInt for the short integers of RESP, without a string.
func parseInt(b []byte) (int64, bool) {
	neg := len(b) > 0 && b[0] == '-'
	if neg {
		b = b[1:]
	}
	if len(b) == 0 || len(b) > 18 {
		return 0, false
	}
	var n int64
	for _, d := range b {
		if d < '0' || d > '9' {
			return 0, false
		}
		n = n*10 + int64(d-'0')
	}
	if neg {
		n = -n
	}
	return n, true
}

func appendCommand(b []byte, args ...string) []byte {
	b = appendArray(b, len(args))
	for _, a := range args {
		b = appendBulk(b, a)
	}
	return b
}

func appendArray(b []byte, n int) []byte {
	b = append(b, '*')
	b = strconv.AppendInt(b, int64(n), 10)
	return append(b, '\r', '\n')
}

func appendBulk[T string | []byte](b []byte, s T) []byte {
	b = appendBulkLen(b, len(s))
	b = append(b, s...)
	return append(b, '\r', '\n')
}

func appendBulkLen(b []byte, n int) []byte {
	b = append(b, '$')
	b = strconv.AppendInt(b, int64(n), 10)
	return append(b, '\r', '\n')
}

// appendBulkInt appends n in decimal as a bulk string, followed by suffix.
func appendBulkInt(b []byte, n int64, suffix string) []byte {
	var digits [20]byte
	d := strconv.AppendInt(digits[:0], n, 10)
	b = appendBulkLen(b, len(d)+len(suffix))
	b = append(b, d...)
	b = append(b, suffix...)
	return append(b, '\r', '\n')
}
