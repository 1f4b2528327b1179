package tests

import (
	"bufio"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"dqd/tests/dqdtest"
	"dqd/tests/script"
)

// One client pipelines adds as fast as it can; others add one at a time and wait
// for each answer. Before an add of theirs goes what one client may have unanswered,
// 4,096 commands, and a little of what has come since: with four times as many for
// each of their adds, all of them have their answers before the flood has its last.
func TestFloodIsFair(t *testing.T) {
	const (
		others = 8
		each   = 10              // adds of each of them
		flood  = each * 4 * 4096 // adds, unless the others are done sooner
	)
	server := dqdtest.Start(t, dqdtest.Options{})
	c := server.Dial()
	var all sync.WaitGroup
	defer all.Wait()
	defer c.Close() // ends the flood also if the test fails
	var answered, served atomic.Int64
	all.Go(func() {
		out := bufio.NewWriterSize(c, 64<<10)
		for i := 0; i < flood && served.Load() < others; i++ {
			out.Write(script.AppendCommand(nil, "DQADD", "flood", fmt.Sprint(i), "x", "DELAY", "1h"))
		}
		out.Write(script.AppendCommand(nil, "ECHO", "last"))
		out.Flush()
	})
	begun := make(chan struct{})
	for n := range others {
		conn := server.Dial()
		all.Go(func() {
			<-begun
			for i := range each {
				if _, err := conn.Must("DQADD", "single", fmt.Sprintf("%d-%d", n, i), "x"); err != nil {
					t.Error(err)
					return
				}
			}
			served.Add(1)
			t.Logf("client %d has its %d answers when the flood has %d", n, each, answered.Load())
		})
	}
	for {
		v, err := c.Receive(dqdtest.Deadline)
		if answered.Add(1) == 1 {
			close(begun)
		}
		if err == nil && v.Text == "last" {
			break
		}
		if i := answered.Load() - 1; err != nil || v.Text != fmt.Sprint(i) {
			t.Fatalf("answer %d of the flood: %v %v", i, v, err)
		}
	}
	if n := served.Load(); n < others {
		t.Errorf("when the flood had its last answer, number %d, %d of %d other clients still waited for theirs", answered.Load(), others-n, others)
	}
}
