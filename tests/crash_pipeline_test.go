package tests

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"dqd/tests/dqdtest"
	"dqd/tests/ledger"
	"dqd/tests/script"
)

// The program is killed while clients wait in pops, have pipelines half answered
// and commands half sent. Started again it has all that it acknowledged, a DQMADD
// that was not answered is there whole or not at all, what was half sent is not,
// and nobody waits.
func TestKill9WithWaitingPopsAndPipelines(t *testing.T) {
	const queue, waiters, idle, pipelines = "kill", 12, 5, 4
	random := newRandom(t)
	book := ledger.New()
	server := dqdtest.Start(t, dqdtest.Options{})
	for round := range 2 {
		l := &load{t: t, addr: server.Addr, queue: queue, book: book, round: round,
			stopAfter: 200 + random.Int64N(800), reached: make(chan struct{})}
		var wg sync.WaitGroup
		crowd(t, server, idle, "DQPOP empty BLOCK 30s\r\n")
		crowd(t, server, idle, fmt.Sprintf("*4\r\n$5\r\nDQADD\r\n$4\r\n%s\r\n$4\r\nhalf\r\n$10\r\nsent", queue))
		reaches(t, server, "dqd_waiting_pops", idle)
		for range waiters {
			wg.Go(l.wait)
		}
		lines := make([]*stream, pipelines)
		for n := range lines {
			lines[n] = &stream{load: l, sent: make(chan sentCommand, 100), name: fmt.Sprintf("r%d-p%d", round, n), random: rand.New(rand.NewPCG(random.Uint64(), uint64(n)))}
			wg.Go(lines[n].run)
		}
		select {
		case <-l.reached:
		case <-time.After(2 * dqdtest.Deadline):
			t.Fatalf("round %d: only %d operations were answered", round, l.answered.Load())
		case <-server.Ended():
			t.Fatalf("round %d: the server ended by itself:\n%s", round, server.Log())
		}
		server.Kill()
		wg.Wait()
		verifyStore(t, server.Dir, false)
		t.Logf("round %d: killed after %d answers; %s", round, l.answered.Load(), book.Summary())
		if err := server.Restart(); err != nil {
			t.Fatalf("round %d: start after kill -9: %v", round, err)
		}
		c := server.Dial()
		open := 0
		for _, p := range lines {
			open += len(p.sent)
			close(p.sent)
			for sent := range p.sent {
				if err := wholeOrNot(c, queue, sent.ids); err != nil {
					t.Errorf("round %d: %v", round, err)
				}
			}
		}
		if open == 0 {
			t.Errorf("round %d: every command of the pipelines was answered before the kill: this proves nothing", round)
		}
		checkLedger(t, server, book, queue, round)
		if v, err := c.Must("DQGET", queue, "half", "state"); err != nil || v.Kind != script.KindNull {
			t.Errorf("round %d: a job that was half sent: %v %v", round, v, err)
		}
		if n := metric(t, server, "dqd_waiting_pops"); n != 0 {
			t.Errorf("round %d: %v pops wait after the restart", round, n)
		}
	}
	c := server.Dial()
	if _, err := c.Must("DQADD", "other", "a", "x"); err != nil {
		t.Fatal(err)
	}
	if wholeOrNot(c, "other", []string{"a", "b"}) == nil { // the proof that the check can fail
		t.Error("one job of two passes for a whole DQMADD")
	}
	drain(t, server, book, queue)
}

// wait is a worker that waits for jobs and acks most of them.
func (l *load) wait() {
	c, err := dqdtest.Dial(l.addr)
	if err != nil {
		return // killed already
	}
	defer c.Close()
	for n := 0; ; n++ {
		sent := time.Now()
		v, err := c.Must("DQPOP", l.queue, "COUNT", "5", "LEASE", "1s", "BLOCK", "10s")
		if err != nil {
			return
		}
		jobs, err := deliveries(v, l.book, "1s", sent)
		if err != nil {
			l.t.Error(err)
			return
		}
		for i, j := range jobs {
			if (n+i)%10 == 0 {
				continue
			}
			if err := ack(c, l.book, l.queue, j); err != nil {
				return
			}
		}
	}
}

// stream is a client that sends without waiting for answers.
type stream struct {
	*load
	name   string
	random *rand.Rand
	next   int
	sent   chan sentCommand // not answered, in order

	mu    sync.Mutex
	there []string // ids of answered adds that are due much later
}

type sentCommand struct {
	ids    []string    // of an add; one for a cancel
	ops    []ledger.Op // of each
	cancel bool
	stays  bool // due much later
}

// run sends until the server is gone, up to a hundred commands ahead of the answers.
func (p *stream) run() {
	c, err := dqdtest.Dial(p.addr)
	if err != nil {
		return // killed already
	}
	stop := make(chan struct{}) // the reader has ended
	var reader sync.WaitGroup
	reader.Go(func() {
		defer close(stop)
		defer c.Close()
		p.read(c)
	})
	defer reader.Wait()
	for {
		var packet []byte
		for range 1 + p.random.IntN(20) {
			args, cmd := p.command()
			select {
			case p.sent <- cmd:
			case <-stop:
				return // the last command was not sent, and stays open in the ledger
			}
			packet = script.AppendCommand(packet, args...)
		}
		if c.Raw(packet) != nil {
			return
		}
	}
}

// read takes the answers. What it leaves in sent was not answered.
func (p *stream) read(c *dqdtest.Client) {
	for {
		v, err := c.Receive(2 * dqdtest.Deadline)
		if err != nil {
			return
		}
		cmd := <-p.sent
		switch {
		case cmd.cancel && len(v.Items) == 1 && v.Items[0].Int() == 1:
		case !cmd.cancel && v.Text == cmd.ids[0], !cmd.cancel && len(v.Items) == len(cmd.ids):
		default:
			p.t.Errorf("%v is answered %s", cmd.ids, script.Format(v))
			return
		}
		for _, op := range cmd.ops {
			op.Done()
		}
		if cmd.stays {
			p.mu.Lock()
			p.there = append(p.there, cmd.ids...)
			p.mu.Unlock()
		}
		p.count()
	}
}

// command makes the next command and notes it.
func (p *stream) command() (args []string, cmd sentCommand) {
	newID := func() string {
		p.next++
		return fmt.Sprintf("%s-%d", p.name, p.next)
	}
	at := func(ahead time.Duration) (string, ledger.Span) {
		due := time.Now().Add(ahead).UnixNano()
		return fmt.Sprint(due, "ns"), ledger.At(due)
	}
	switch n := p.random.IntN(10); {
	case n == 0:
		p.mu.Lock()
		defer p.mu.Unlock()
		if last := len(p.there) - 1; last >= 0 {
			id := p.there[last]
			p.there = p.there[:last]
			return []string{"DQMCANCEL", p.queue, "IDS", "1", id}, sentCommand{ids: []string{id}, ops: []ledger.Op{p.book.End(id, ledger.Cancelled)}, cancel: true}
		}
		fallthrough
	case n < 2:
		jobs := 1 + p.random.IntN(10)
		args = []string{"DQMADD", p.queue, "JOBS", fmt.Sprint(jobs)}
		cmd.stays = true
		for range jobs {
			id := newID()
			words, due := at(time.Hour)
			args = append(args, id, payload(p.random), words)
			cmd.ids = append(cmd.ids, id)
			cmd.ops = append(cmd.ops, p.book.Add(id, due, false))
		}
		return args, cmd
	default:
		id := newID()
		words, due := at(time.Duration(p.random.IntN(300)) * time.Millisecond)
		args = []string{"DQADD", p.queue, id, payload(p.random), "AT", words, "ATTEMPTS", "0", "BACKOFF", "fixed:0"}
		return args, sentCommand{ids: []string{id}, ops: []ledger.Op{p.book.Add(id, due, false)}}
	}
}

// wholeOrNot looks at the jobs of one command that was not answered.
func wholeOrNot(c *dqdtest.Client, queue string, ids []string) error {
	var there []string
	for _, id := range ids {
		v, err := c.Must("DQGET", queue, id, "state")
		if err != nil {
			return err
		}
		if v.Kind != script.KindNull {
			there = append(there, id)
		}
	}
	if len(there) > 0 && len(there) < len(ids) {
		return fmt.Errorf("of the jobs %q of one DQMADD only %q are there", ids, there)
	}
	return nil
}
