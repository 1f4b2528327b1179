package server

import (
	"errors"
	"net"
	"time"
)

// The first pause after a failed accept, which doubles up to the longest. What
// fails is mostly the supply of file descriptors, which takes its time.
const (
	acceptPauseMin = 5 * time.Millisecond
	acceptPauseMax = time.Second
)

// refuseTime is granted to tell a client why it is not served.
const refuseTime = 100 * time.Millisecond

const (
	textMaxClients = "-ERR max number of clients reached\r\n"
	textProtected  = "-DENIED dqd is running in protected mode because no password is set. In this mode connections are only accepted from the loopback interface. " +
		"To connect from other machines do one of the following: 1) Set a password: 'requirepass <password>' in the configuration file, or the environment variable DQD_REQUIREPASS, and restart. " +
		"2) If the network is trusted, switch the protection off: 'protected-mode no' in the configuration file, or --protected-mode no, and restart.\r\n"
)

// accept serves l until the server is shut down.
func (s *Server) accept(l net.Listener) error {
	var pause time.Duration
	for {
		nc, err := l.Accept()
		switch {
		case err == nil:
			pause = 0
			s.admit(nc)
			continue
		case s.isDown():
			return ErrClosed
		case errors.Is(err, net.ErrClosed):
			return err
		}
		s.counters.acceptErrors.Add(1)
		pause = min(max(2*pause, acceptPauseMin), acceptPauseMax)
		s.opts.Log.Warn("accept failed", "error", err, "retry-in", pause)
		select {
		case <-s.ctx.Done():
			return ErrClosed
		case <-time.After(pause):
		}
	}
}

func (s *Server) isDown() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.down
}

// admit starts a connection or says why not.
func (s *Server) admit(nc net.Conn) {
	s.counters.connections.Add(1)
	if !s.hasPassword() && !s.live.Load().Unprotected && !isLocal(nc.RemoteAddr()) {
		s.refuse(nc, rejectedProtected, textProtected)
		return
	}
	tuneSocket(nc, s.live.Load().KeepAlive)
	s.mu.Lock()
	switch {
	case s.down:
		s.mu.Unlock()
		nc.Close()
		return
	case len(s.conns) >= s.live.Load().MaxClients:
		s.mu.Unlock()
		s.refuse(nc, rejectedMaxClients, textMaxClients)
		return
	}
	s.lastID++
	c := newConn(s, nc, s.lastID)
	s.conns[c.id] = c
	s.clients.Go(c.run) // with mu held, so that Shutdown waits for it
	s.mu.Unlock()
}

// refuse closes a connection with a text. A new socket takes it at once.
func (s *Server) refuse(nc net.Conn, why rejectReason, text string) {
	s.counters.rejected[why].Add(1)
	nc.SetWriteDeadline(time.Now().Add(refuseTime))
	nc.Write([]byte(text))
	nc.Close()
}

// isLocal reports a peer on this machine: loopback, a Unix socket, a pipe.
func isLocal(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return !ok || tcp.IP.IsLoopback()
}
