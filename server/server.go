package server

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"dqd/commands"
	"dqd/raftfsm"
	"dqd/server/shard"
)

// Server serves clients. It may be started before its shard: until Attach the
// job commands wait, and PING, INFO and the like are answered.
type Server struct {
	opts  Options                 // those of the start
	live  atomic.Pointer[Options] // as CONFIG SET left them; the password is in neither
	runID string
	// password is what clients have to give; empty = nothing.
	password atomic.Pointer[[]byte]
	started  time.Time
	rows     map[*commands.Command]*rowCounters
	counters counters
	metrics  *metrics
	budget   *budget
	rates    rates
	errors   errorCounters
	slow     slowLog
	latency  latencyEvents
	late     times                   // of deliveries, from due
	peak     atomic.Int64            // the most memory that INFO saw
	facts    atomic.Pointer[[]facts] // see Show
	// nodeStats are the numbers of the node below, see ShowNode.
	nodeMu    sync.RWMutex
	nodeStats func() raftfsm.Stats
	backups   backups
	stop      sync.Once                  // SHUTDOWN was asked for
	logged    [closeReasons]atomic.Int64 // the Unix second in which a line was logged

	// shard is nil until Attach.
	shard atomic.Pointer[Shard]

	ctx        context.Context // ends with the server
	cancel     context.CancelFunc
	clients    sync.WaitGroup // the goroutines of all connections
	background sync.WaitGroup // those that end with ctx

	// mu guards what follows. It is never taken with a connection's mu held.
	mu        sync.Mutex
	listeners []net.Listener
	conns     map[int64]*conn
	lastID    int64
	down      bool

	// setting is held by CONFIG SET.
	setting sync.Mutex
}

// New makes a server that does nothing until Serve.
func New(opts Options) (*Server, error) {
	opts = opts.withDefaults()
	if err := opts.validate(); err != nil {
		return nil, err
	}
	var id [20]byte
	if _, err := rand.Read(id[:]); err != nil {
		return nil, fmt.Errorf("server: make a run id: %w", err)
	}
	s := &Server{
		runID:   hex.EncodeToString(id[:]),
		started: time.Now(),
		rows:    newRows(),
		budget:  newBudget(),
		conns:   make(map[int64]*conn),
	}
	password := []byte(opts.Password)
	s.password.Store(&password)
	opts.Password = "" // one copy, which nothing prints
	s.opts = opts
	s.latency.wall = opts.Wall
	s.use(&opts)
	s.metrics = newMetrics(s)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.background.Go(func() { s.budget.enforce(s.ctx, s.largest) })
	return s, nil
}

// Attach gives the server its shard; the commands that wait go on.
func (s *Server) Attach(sh Shard) {
	s.shard.Store(&sh)
	for _, c := range s.connections() {
		c.mu.Lock()
		c.unpark()
		c.mu.Unlock()
	}
}

// hasPassword reports whether clients have to give one.
func (s *Server) hasPassword() bool { return len(*s.password.Load()) > 0 }

// clock is the time since the start, for durations.
func (s *Server) clock() time.Duration { return time.Since(s.started) }

// wrote counts a write to a socket.
func (s *Server) wrote(n int) {
	s.counters.writes.Add(1)
	s.counters.netOut.Add(int64(n))
}

// gauges reads the shard's numbers; zero while loading.
func (s *Server) gauges() *shard.Gauges {
	if sh := s.shard.Load(); sh != nil {
		return (*sh).Gauges()
	}
	return &shard.Gauges{}
}

// ErrClosed is what Serve returns after Shutdown.
var ErrClosed = errors.New("server: closed")

// Serve accepts connections on l until Shutdown, and then returns ErrClosed. It
// may be called for several listeners.
func (s *Server) Serve(l net.Listener) error {
	s.mu.Lock()
	if s.down {
		s.mu.Unlock()
		l.Close()
		return ErrClosed
	}
	s.listeners = append(s.listeners, l)
	s.mu.Unlock()
	return s.accept(l)
}

// Shutdown stops accepting, gives waiting pops their null, waits until every
// accepted command is answered and written, and closes the connections. If ctx
// ends first, it closes them as they are and returns ctx's error. The shard must
// run until Shutdown returns.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.down = true
	for _, l := range s.listeners {
		l.Close()
	}
	s.mu.Unlock()
	for _, c := range s.connections() {
		c.stop()
	}
	done := make(chan struct{})
	go func() {
		s.clients.Wait()
		close(done)
	}()
	var err error
	select {
	case <-done:
	case <-ctx.Done():
		err = ctx.Err()
		for _, c := range s.connections() {
			c.abort(closedNormally)
		}
		<-done
	}
	s.cancel()
	s.background.Wait()
	return err
}

// connections returns the connections in the order of their ids.
func (s *Server) connections() []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	cs := make([]*conn, 0, len(s.conns))
	for _, c := range s.conns {
		cs = append(cs, c)
	}
	slices.SortFunc(cs, func(a, b *conn) int { return int(a.id - b.id) })
	return cs
}

// connection returns the connection with the id, or nil.
func (s *Server) connection(id int64) *conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conns[id]
}

// largest returns the connection that holds most, or nil.
func (s *Server) largest() *conn {
	var most *conn
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		if n := c.charged.Load(); n > 0 && (most == nil || n > most.charged.Load()) {
			most = c
		}
	}
	return most
}

// forget removes a connection that has ended.
func (s *Server) forget(c *conn) {
	s.mu.Lock()
	delete(s.conns, c.id)
	s.mu.Unlock()
	s.budget.add(-c.charged.Swap(0))
}

// connected counts the connections.
func (s *Server) connected() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// logNow limits what is logged of clients to one line a second and reason: the
// counters know the rest, and a hostile client shall not fill a disk.
func (s *Server) logNow(why closeReason) bool {
	now := time.Now().Unix()
	return s.logged[why].Swap(now) != now
}

// panicked reports a bug that was contained.
func (s *Server) panicked(where string, p any, stack []byte) {
	s.counters.panics.Add(1)
	s.opts.Log.Error("internal error", "where", where, "panic", fmt.Sprint(p), "stack", string(stack))
}

const errInternal = commands.Error("ERR internal error")
