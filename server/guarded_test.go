package server

import (
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dqd/server/guard"
)

// While the disk is nearly full adds are refused before they reach the shard; all
// else goes on, in order. INFO and /metrics say so, and it ends by itself.
func TestAddsAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var free atomic.Int64
		free.Store(500)
		g := guard.New(guard.Options{
			Disk:    func() (int64, int64, error) { return free.Load(), 1000, nil },
			MinFree: guard.MinFree{Percent: 10},
		})
		g.Start()
		defer g.Stop()
		look := func() {
			time.Sleep(time.Second)
			synctest.Wait()
		}
		r := newRig(t, Options{Guard: g}, false)
		c := r.client()
		c.send("DQADD q a x\r\n")
		c.expect("$1\r\na\r\n")
		free.Store(99)
		look()
		before, _, _, _ := r.sh.counts()
		c.send("DQADD q b x\r\nDQMADD q JOBS 1 c x +0\r\nDQCANCEL q a\r\nDQADD q x\r\nPING\r\n")
		refused := "-MISCONF adds are refused, the disk is nearly full: 99 B of 1000 B are free, and 100 B must be (min-disk-free). Acks, cancels and pops go on. Make room on the disk of the data; adds are then accepted again.\r\n"
		c.expect(refused + refused + ":0\r\n")
		c.expect("-ERR wrong number of arguments for 'dqadd' command\r\n+PONG\r\n")
		if after, _, _, _ := r.sh.counts(); after != before+1 {
			t.Errorf("%d calls reached the shard", after-before)
		}
		c.send("INFO storage\r\n")
		info := c.bulk()
		for _, want := range []string{"# Storage\r\n", "disk_guard:refuses-adds\r\n", "disk_free:99\r\n", "disk_total:1000\r\n", "disk_min_free:100\r\n", "disk_ballast:0\r\n", "adds_refused_disk:2\r\n", "adds_refused_memory:0\r\n"} {
			if !strings.Contains(info, want) {
				t.Errorf("INFO storage lacks %q:\n%s", want, info)
			}
		}
		w := httptest.NewRecorder()
		r.HTTP().Handler.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		for _, want := range []string{`dqd_adds_refused{reason="disk"} 1`, `dqd_adds_refused{reason="memory"} 0`, `dqd_adds_refused_total{reason="disk"} 2`, "dqd_disk_free_bytes 99", "dqd_disk_min_free_bytes 100"} {
			if !strings.Contains(w.Body.String(), want+"\n") {
				t.Errorf("/metrics lacks %s", want)
			}
		}
		free.Store(500)
		look()
		c.send("DQADD q b x\r\n")
		c.expect("$1\r\nb\r\n")
		c.send("INFO memory\r\n")
		if info := c.bulk(); !strings.Contains(info, "maxmemory_guard:ok") {
			t.Error(info)
		}
	})
}
