package tests

import (
	"bufio"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"dqd/persist"
	"dqd/server/shard/shardtest"
	"dqd/tests/script"
)

// slowDisk makes each write take 1 ms and each sync 20 ms, about a hundred times of
// what a disk takes, and one sync, the nth, 10 s.
func slowDisk(n int64) persist.FS {
	var syncs atomic.Int64
	return errorfs.Wrap(persist.MemFS(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		switch op.Kind {
		case errorfs.OpFileWrite, errorfs.OpCreate, errorfs.OpRename:
			time.Sleep(time.Millisecond)
		case errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
			if syncs.Add(1) == n {
				time.Sleep(10 * time.Second)
			} else {
				time.Sleep(20 * time.Millisecond)
			}
		}
		return nil
	}))
}

// On a disk that is a hundred times slower, and stalls for 10 s, service goes on,
// slowly: every job is delivered once and not early, every answer comes, a restart
// finds everything, and the store is whole (F6).
func TestSlowDisk(t *testing.T) {
	// Not in a bubble: its time stands still while somebody waits for a mutex, as
	// everybody does behind a disk.
	t.Parallel()
	stall := 60 + newRandom(t).Int64N(60)
	p := &inProcess{fs: slowDisk(stall), clock: shardtest.NewClock(time.Now().UnixNano()), real: true}
	if err := p.start(); err != nil {
		t.Fatal(err)
	}
	const clients, each = 8, 20
	due := make([]time.Time, clients*each)
	var mu sync.Mutex // guards seen
	seen := map[string]int{}
	var work sync.WaitGroup
	for c := range clients {
		work.Go(func() {
			conn := dialSlow(t, p)
			defer conn.Close()
			for i := range each {
				n := c*each + i
				due[n] = time.Now().Add(time.Duration(n%3) * time.Second)
				if got := conn.value("DQADD", "q", strconv.Itoa(n), strings.Repeat("x", 100*(n%9)), "AT", fmt.Sprintf("%dns", due[n].UnixNano())).Text; got != strconv.Itoa(n) {
					t.Errorf("add %d: %q", n, got)
				}
			}
		})
		work.Go(func() {
			conn := dialSlow(t, p)
			defer conn.Close()
			for idle := 0; idle < 1; {
				reply := conn.value("DQPOP", "q", "COUNT", "5", "LEASE", "10m", "BLOCK", "12s")
				if len(reply.Items) == 0 {
					idle++
					continue
				}
				for _, job := range reply.Items {
					id := job.Items[1].Text
					n, _ := strconv.Atoi(id)
					if early := time.Until(due[n]); early > 0 {
						t.Errorf("job %d came %v early", n, early)
					}
					mu.Lock()
					seen[id]++
					mu.Unlock()
					if got := conn.value("DQACK", "q", id, strconv.FormatInt(job.Items[3].Int(), 10)); got.Int() != 1 {
						t.Errorf("ack of %s: %v", id, got)
					}
				}
			}
		})
	}
	work.Wait()
	if len(seen) != clients*each {
		t.Errorf("%d of %d jobs were delivered", len(seen), clients*each)
	}
	for id, times := range seen {
		if times != 1 {
			t.Errorf("job %s was delivered %d times", id, times)
		}
	}
	if err := p.Restart(); err != nil {
		t.Fatal(err)
	}
	conn := dialSlow(t, p)
	if got := conn.value("DQLEN", "q"); got.Int() != 0 {
		t.Errorf("%d jobs are left", got.Int())
	}
	conn.Close()
	if err := persist.Verify(p.node.State()); err != nil {
		t.Error(err)
	}
	if err := p.stop(); err != nil {
		t.Error(err)
	}
}

// slowConn is a connection whose answers may take minutes.
type slowConn struct {
	net.Conn
	t  *testing.T
	in *bufio.Reader
}

func dialSlow(t *testing.T, p *inProcess) *slowConn {
	c, err := p.Dial()
	if err != nil {
		t.Fatal(err)
	}
	return &slowConn{c, t, bufio.NewReader(c)}
}

func (c *slowConn) value(args ...string) script.Value {
	c.SetDeadline(time.Now().Add(10 * time.Minute))
	_, err := c.Write(script.AppendCommand(nil, args...))
	if err != nil {
		c.t.Errorf("%q: %v", args, err)
		return script.Value{}
	}
	v, err := script.ReadValue(c.in)
	if err != nil {
		c.t.Errorf("%q: %v", args, err)
	}
	return v
}
