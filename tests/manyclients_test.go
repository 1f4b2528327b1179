package tests

import (
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"dqd/tests/dqdtest"
)

// bytesPerIdleClient is what an idle client may cost the server in resident
// memory. Measured: 15 to 18 KiB.
const bytesPerIdleClient = 36 << 10

// Five thousand clients that hold a command half sent, wait, are idle, or do not
// read what they asked for, some of them 16 MiB. Another one is served meanwhile,
// and memory stays about maxmemory; who does not finish a command is closed after
// 30 s, who holds much and does not read sooner, the others stay; and nothing is
// left when they go.
func TestThousandsOfSlowClients(t *testing.T) {
	t.Parallel()
	const memory = 512 << 20
	openFiles(t, 8000)
	server := dqdtest.Start(t, dqdtest.Options{Args: []string{"--maxmemory", fmt.Sprint(memory)}})
	good := server.Dial()
	if _, err := good.Must("DQADD", "q", "a", strings.Repeat("x", 16<<10), "DELAY", "1h"); err != nil {
		t.Fatal(err)
	}
	rest := use(t, server)

	header := crowd(t, server, 1500, "*3\r\n$5\r\nDQADD\r\n$1")
	payload := crowd(t, server, 1000, "*4\r\n$5\r\nDQADD\r\n$1\r\nq\r\n$1\r\nb\r\n$1000000\r\n"+strings.Repeat("x", 8<<10))
	waiting := crowd(t, server, 1000, "DQPOP other BLOCK 30s\r\n")
	idle := crowd(t, server, 900, "")
	unread := crowd(t, server, 500, strings.Repeat("DQGET q a payload\r\n", 16)) // the kernel keeps the answers
	greedy := crowd(t, server, 100, strings.Repeat("DQGET q a payload\r\n", 1000))
	stay := len(waiting) + len(idle) + len(unread)
	most := int64(0)
	reaches(t, server, "dqd_waiting_pops", len(waiting))
	for i := range 200 {
		id := fmt.Sprint("job-", i)
		if v, err := good.Must("DQADD", "mine", id, "x"); err != nil || v.Text != id {
			t.Fatalf("add %d beside the crowd: %v %v", i, v, err)
		}
		if v, err := good.Must("DQPOP", "mine", "NOACK"); err != nil || len(v.Items) != 1 {
			t.Fatalf("pop %d beside the crowd: %v %v", i, v, err)
		}
		most = max(most, rss(t, server))
	}
	if n := metric(t, server, "dqd_connected_clients"); n < float64(stay+len(header)+len(payload)+1) {
		t.Errorf("only %v clients were connected while the other one was served", n)
	}

	reaches(t, server, `dqd_connections_closed_total{reason="command-timeout"}`, len(header)+len(payload))
	reaches(t, server, "dqd_connected_clients", stay+1)
	t.Logf("%d MiB of memory at most, %d at first", most>>20, rest.memory>>20)
	// The garbage collector aims at maxmemory, and is late by what was just freed.
	if most = max(most, rss(t, server)); most > memory+memory/2 {
		t.Errorf("the server takes %d MiB of memory, maxmemory is %d", most>>20, memory>>20)
	}
	header.expectClosed(t)
	payload.expectClosed(t)
	waiting.expect(t, "*-1\r\n")
	unread.expect(t, strings.Repeat("*1\r\n$16384\r\n"+strings.Repeat("x", 16<<10)+"\r\n", 16))
	for _, open := range []many{waiting, idle, unread} {
		open.send(t, "PING\r\n")
		open.expect(t, "+PONG\r\n")
	}
	for _, m := range []many{header, payload, waiting, idle, unread, greedy} {
		m.leave()
	}
	returns(t, server, rest)
}

// Ten thousand clients, the most that are served by default, and idle. One more is
// told so; each costs little; nothing is left when they go.
func TestTenThousandIdleClients(t *testing.T) {
	const most = 10_000
	openFiles(t, most+1500)
	server := dqdtest.Start(t, dqdtest.Options{Env: collected})
	good := server.Dial()
	rest := use(t, server)
	idle := crowd(t, server, most-2, "PING\r\n")
	idle.expect(t, "+PONG\r\n")
	last := server.Dial()
	if v, err := last.Do("PING"); err != nil || v.Text != "PONG" {
		t.Fatalf("PING of client %d: %v %v", most, v, err)
	}
	for range 3 {
		c, err := dqdtest.Dial(server.Addr)
		if err != nil {
			t.Fatal(err)
		}
		c.Send("QUIT") // if it is served after all
		if got, closed := readAll(c); got != "-ERR max number of clients reached\r\n" || !closed {
			t.Errorf("client %d is told %q, closed %v", most+1, got, closed)
		}
		c.Close()
	}
	if v, err := good.Must("DQADD", "q", "a", "x"); err != nil || v.Text != "a" {
		t.Errorf("DQADD beside them: %v %v", v, err)
	}
	during := use(t, server)
	each := (during.memory - rest.memory) / most
	t.Logf("%d idle clients take %d bytes of memory each", most, each)
	if each > bytesPerIdleClient {
		t.Errorf("an idle client takes %d bytes of memory, more than %d", each, bytesPerIdleClient)
	}
	if each < 4<<10 { // what it reads into is as large: this would measure something else
		t.Errorf("an idle client takes %d bytes of memory only", each)
	}
	if n := during.goroutines - rest.goroutines; n > most+slack {
		t.Errorf("%v goroutines for %d clients", n, most)
	}

	last.Close()
	reaches(t, server, "dqd_connected_clients", most-1)
	if v, err := server.Dial().Do("PING"); err != nil || v.Text != "PONG" {
		t.Errorf("PING when one of them has left: %v %v", v, err)
	}
	idle.leave()
	returns(t, server, rest)
}

// many are connections that all do the same.
type many []*dqdtest.Client

// crowd opens n connections, each of which sends the same.
func crowd(t *testing.T, server *dqdtest.Server, n int, text string) many {
	t.Helper()
	m := make(many, n)
	for i := range m {
		m[i] = server.Dial()
	}
	m.send(t, text)
	return m
}

func (m many) send(t *testing.T, text string) {
	t.Helper()
	for i, c := range m {
		if err := c.Raw([]byte(text)); err != nil {
			t.Fatalf("client %d: %v", i, err)
		}
	}
}

// expect reads what each of them is sent next.
func (m many) expect(t *testing.T, want string) {
	t.Helper()
	for i, c := range m {
		c.SetReadDeadline(time.Now().Add(dqdtest.Deadline))
		got := make([]byte, len(want))
		if n, err := io.ReadFull(c, got); string(got[:n]) != want {
			t.Fatalf("client %d reads %.60q, %v; want %.60q", i, got[:n], err, want)
		}
	}
}

// expectClosed reads that the server has closed each of them without a word.
func (m many) expectClosed(t *testing.T) {
	t.Helper()
	for i, c := range m {
		if got, closed := readAll(c); got != "" || !closed {
			t.Fatalf("client %d reads %q, closed %v", i, got, closed)
		}
	}
}

func (m many) leave() {
	for _, c := range m {
		c.Close()
	}
}

// openFiles lets this process, and so those that it starts, open n files.
func openFiles(t *testing.T, n uint64) {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	limit.Cur, limit.Max = max(limit.Cur, n), max(limit.Max, n)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatalf("this test needs %d open files: raise the limit as root with ulimit -Hn %d: %v", n, n, err)
	}
}

// resources are what a server's process uses.
type resources struct {
	memory                       int64 // bytes, resident
	clients, goroutines, buffers float64
}

func use(t *testing.T, s *dqdtest.Server) resources {
	t.Helper()
	return resources{rss(t, s), metric(t, s, "dqd_connected_clients"), metric(t, s, "go_goroutines"), metric(t, s, "dqd_client_buffers_bytes")}
}

// slack is how many goroutines may come and go beside the clients.
const slack = 16

// returns waits until a server uses as little as before.
func returns(t *testing.T, s *dqdtest.Server, before resources) {
	t.Helper()
	err := dqdtest.WaitFor(2*dqdtest.Deadline, func() error {
		now := use(t, s)
		if now.clients > before.clients+1 || now.goroutines > before.goroutines+slack || now.buffers > before.buffers+64<<10 {
			return fmt.Errorf("it uses %+v, at first it was %+v", now, before)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func metric(t *testing.T, s *dqdtest.Server, name string) float64 {
	t.Helper()
	n, err := s.Metric(name)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// reaches waits until a metric has a value.
func reaches(t *testing.T, s *dqdtest.Server, name string, want int) {
	t.Helper()
	err := dqdtest.WaitFor(3*dqdtest.Deadline, func() error {
		if n := metric(t, s, name); n != float64(want) {
			return fmt.Errorf("%s is %v, want %d", name, n, want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
