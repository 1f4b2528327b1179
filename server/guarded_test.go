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

// While the disk is nearly full the guard refuses; INFO and /metrics say so, and it ends
// by itself. What is refused: server/shard, TestGuard.
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
		free.Store(99)
		look()
		if text := g.Refuse(); text != "MISCONF adds are refused, the disk is nearly full: 99 B of 1000 B are free, and 100 B must be (min-disk-free). Acks, cancels and pops go on. Make room on the disk of the data; adds are then accepted again." {
			t.Error(text)
		}
		g.Refuse()
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
		if text := g.Refuse(); text != "" {
			t.Error(text)
		}
		c.send("INFO memory\r\n")
		if info := c.bulk(); !strings.Contains(info, "maxmemory_guard:ok") {
			t.Error(info)
		}
	})
}
