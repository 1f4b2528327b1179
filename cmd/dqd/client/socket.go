package client

import (
	"bytes"
	"net"
	"sync/atomic"
	"time"
)

const (
	mostRefusal = 4096        // bytes that are read of why a server has closed
	refusalTime = time.Second // granted to them
)

// lastError is the error that was the last thing a server said, without its "-", before it
// let us in. One that refuses a client says why and closes; go-redis takes that for the
// answer to its greeting, which may fail, and reports what comes next: the end of the
// connection.
type lastError struct {
	p  atomic.Pointer[string]
	in atomic.Bool // what is read now are answers, and may begin anywhere in one
}

func (e *lastError) text() string {
	if p := e.p.Load(); p != nil {
		return *p
	}
	return ""
}

// hear takes what was read.
func (e *lastError) hear(b []byte) {
	if len(b) == 0 || e.in.Load() {
		return
	}
	text := ""
	if refusal, ok := bytes.CutPrefix(b[:min(len(b), mostRefusal)], []byte("-")); ok {
		line, _, _ := bytes.Cut(refusal, []byte("\r\n"))
		text = string(line)
	}
	e.p.Store(&text)
}

// letIn ends it.
func (e *lastError) letIn() {
	e.in.Store(true)
	e.p.Store(nil)
}

// socket is a connection whose last error is remembered, also of one that takes no more.
type socket struct {
	net.Conn
	last *lastError
}

func (s *socket) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	s.last.hear(p[:n])
	return n, err
}

func (s *socket) Write(p []byte) (int, error) {
	n, err := s.Conn.Write(p)
	if err != nil {
		s.SetReadDeadline(time.Now().Add(refusalTime))
		s.Read(make([]byte, mostRefusal))
	}
	return n, err
}
