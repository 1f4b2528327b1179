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

// lastError is the error that was the last thing a server said, without its "-". One that
// refuses a client says why and closes; go-redis takes that for the answer to its greeting,
// which may fail, and reports what comes next: the end of the connection.
type lastError struct{ p atomic.Pointer[string] }

func (e *lastError) text() string {
	if p := e.p.Load(); p != nil {
		return *p
	}
	return ""
}

// hear takes what was read.
func (e *lastError) hear(b []byte) {
	if len(b) == 0 {
		return
	}
	text := ""
	if line, _, _ := bytes.Cut(b[:min(len(b), mostRefusal)], []byte("\r\n")); line[0] == '-' {
		text = string(line[1:])
	}
	e.p.Store(&text)
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
