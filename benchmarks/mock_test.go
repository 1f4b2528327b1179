package main

import (
	"container/heap"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/redcon"
)

// The test binary stands in for dqd (`serve`) and for this program (`noop`, `burn`), so
// that the harness can be tested whole, with real child processes.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "serve":
			fmt.Fprintln(os.Stderr, serveMock(os.Args[2:]))
			os.Exit(1)
		case "noop":
			fmt.Fprintln(os.Stderr, noopMain(os.Args[2:]))
			os.Exit(1)
		case "burn":
			if err := burnMain(os.Args[2:]); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

// mock is the least that speaks dqd's commands: one queue, in memory. Of what it
// held a restart knows the number. It has neither MULTI nor DQREQUEUE.
type mock struct {
	file string // of that number

	mu     sync.Mutex // guards all below
	jobs   mockHeap
	live   map[string]bool  // ids that were neither leased nor cancelled
	kept   int              // jobs of the process before
	leased map[string]int64 // id → token
	token  int64
	wake   chan struct{} // closed and replaced when a job was added
}

type mockJob struct {
	id, payload string
	dueNs       int64
}

type mockHeap []mockJob

func (h mockHeap) Len() int           { return len(h) }
func (h mockHeap) Less(i, j int) bool { return h[i].dueNs < h[j].dueNs }
func (h mockHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *mockHeap) Push(x any)        { *h = append(*h, x.(mockJob)) }
func (h *mockHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

func serveMock(args []string) error {
	m := &mock{live: map[string]bool{}, leased: map[string]int64{}, wake: make(chan struct{})}
	port := ""
	for i, a := range args {
		switch a {
		case "--port":
			port = args[i+1]
		case "--dir":
			m.file = filepath.Join(args[i+1], "shard-0", "state", "jobs")
		}
	}
	if err := os.MkdirAll(filepath.Dir(m.file), 0o755); err != nil {
		return err
	}
	if b, err := os.ReadFile(m.file); err == nil {
		m.kept, _ = strconv.Atoi(string(b))
	}
	return redcon.ListenAndServe("127.0.0.1:"+port, m.handle, nil, nil)
}

func (m *mock) handle(c redcon.Conn, cmd redcon.Command) {
	var args []string
	for _, a := range cmd.Args {
		args = append(args, string(a))
	}
	switch strings.ToUpper(args[0]) {
	case "PING":
		c.WriteString("PONG")
	case "INFO":
		c.WriteBulkString("# Persistence\r\n")
	case "DQADD": // queue id payload DELAY 1h | AT <ns>ns
		due := time.Now().Add(time.Hour).UnixNano()
		if args[4] == "AT" {
			due, _ = strconv.ParseInt(strings.TrimSuffix(args[5], "ns"), 10, 64)
		}
		m.add(mockJob{args[2], args[3], due})
		c.WriteBulkString(args[2])
	case "DQMADD": // queue JOBS n id payload due …
		c.WriteArray((len(args) - 4) / 3)
		for i := 4; i < len(args); i += 3 {
			due, _ := strconv.ParseInt(args[i+2], 10, 64)
			m.add(mockJob{args[i], args[i+1], due * 1e6})
			c.WriteBulkString(args[i])
		}
		m.mu.Lock()
		os.WriteFile(m.file, []byte(strconv.Itoa(m.kept+len(m.live))), 0o644)
		m.mu.Unlock()
	case "DQCANCEL": // queue id
		m.mu.Lock()
		n := 0
		if m.live[args[2]] {
			delete(m.live, args[2])
			n = 1
		}
		m.mu.Unlock()
		c.WriteInt(n)
	case "DQLEN": // queue [STATE ready]
		m.mu.Lock()
		n := m.kept + len(m.live)
		if len(args) > 2 {
			n = 0
			for _, j := range m.jobs {
				if m.live[j.id] && j.dueNs <= time.Now().UnixNano() {
					n++
				}
			}
		}
		m.mu.Unlock()
		c.WriteInt(n)
	case "DQCONFIG":
		c.WriteString("OK")
	case "DQRANGE": // a reply, not the jobs
		c.WriteArray(0)
	case "DQCOUNT":
		c.WriteInt(0)
	case "DQSCAN": // queue cursor COUNT n: all, in two calls
		m.mu.Lock()
		ids := slices.Sorted(maps.Keys(m.live))
		m.mu.Unlock()
		next, half := "1", ids[:len(ids)/2]
		if args[2] == "1" {
			next, half = "0", ids[len(ids)/2:]
		}
		c.WriteArray(2)
		c.WriteBulkString(next)
		c.WriteArray(len(half))
		for _, id := range half {
			c.WriteBulkString(id)
		}
	case "DQMEXTEND": // queue dur JOBS n id token …
		c.WriteArray((len(args) - 5) / 2)
		m.mu.Lock()
		for i := 5; i < len(args); i += 2 {
			if strconv.FormatInt(m.leased[args[i]], 10) == args[i+1] {
				c.WriteInt(1)
			} else {
				c.WriteInt(-1)
			}
		}
		m.mu.Unlock()
	case "DQPURGE": // queue [DRYRUN]
		m.mu.Lock()
		n := len(m.live)
		if len(args) == 2 {
			clear(m.live)
		}
		m.mu.Unlock()
		c.WriteInt(n)
	case "DQPOP": // queue COUNT n BLOCK ms
		count, _ := strconv.Atoi(args[3])
		block, _ := strconv.Atoi(args[5])
		m.pop(c, count, time.Duration(block)*time.Millisecond)
	case "DQACK": // queue id token …
		n := 0
		for i := 2; i < len(args); i += 2 {
			n += m.ack(args[i], args[i+1])
		}
		c.WriteInt(n)
	case "DQMACK": // queue JOBS n id token …
		c.WriteArray((len(args) - 4) / 2)
		for i := 4; i < len(args); i += 2 {
			if m.ack(args[i], args[i+1]) == 1 {
				c.WriteInt(1)
			} else {
				c.WriteInt(-2)
			}
		}
	default:
		c.WriteError("ERR unknown command")
	}
}

func (m *mock) add(j mockJob) {
	m.mu.Lock()
	defer m.mu.Unlock()
	heap.Push(&m.jobs, j)
	m.live[j.id] = true
	close(m.wake)
	m.wake = make(chan struct{})
}

func (m *mock) ack(id, token string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t, ok := m.leased[id]; !ok || strconv.FormatInt(t, 10) != token {
		return 0
	}
	delete(m.leased, id)
	return 1
}

func (m *mock) pop(c redcon.Conn, count int, block time.Duration) {
	for end := time.Now().Add(block); ; {
		m.mu.Lock()
		now := time.Now()
		var out []mockJob
		for len(out) < count && len(m.jobs) > 0 && m.jobs[0].dueNs <= now.UnixNano() {
			if j := heap.Pop(&m.jobs).(mockJob); m.live[j.id] {
				delete(m.live, j.id)
				out = append(out, j)
			}
		}
		if len(out) > 0 {
			c.WriteArray(len(out))
			for _, j := range out {
				m.token++
				m.leased[j.id] = m.token
				c.WriteArray(6)
				c.WriteBulkString(queue)
				c.WriteBulkString(j.id)
				c.WriteBulkString(j.payload)
				c.WriteInt64(m.token)
				c.WriteInt(1)
				c.WriteInt64((j.dueNs + 999_999) / 1_000_000)
			}
			m.mu.Unlock()
			return
		}
		next := end
		if len(m.jobs) > 0 {
			if due := time.Unix(0, m.jobs[0].dueNs); due.Before(next) {
				next = due
			}
		}
		wake := m.wake
		m.mu.Unlock()
		if !now.Before(end) {
			c.WriteNull()
			return
		}
		select {
		case <-wake:
		case <-time.After(time.Until(next)):
		}
	}
}
