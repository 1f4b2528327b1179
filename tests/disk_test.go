package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"dqd/tests/dqdtest"
)

// smallDisk mounts a disk of so many bytes, where the user may; else it returns "".
func smallDisk(t *testing.T, bytes int) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=700", bytes)); err != nil {
		t.Logf("no small disk (%v): the guard and the ballast have tests with an injected one, in server/guard and raftfsm", err)
		return ""
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// A disk fills up, first by jobs, then by somebody else: adds are refused while
// there is still room; acks go on, also when the disk is full and the ballast has
// to be given up; with room again adds are accepted and there is a ballast. No job
// is lost. Where no disk can be mounted the folder's own disk stands for it, whose
// guard is set so that it refuses.
func TestDiskFillsUp(t *testing.T) {
	const size = 512 << 20
	disk := smallDisk(t, size)
	if disk == "" {
		server := dqdtest.Start(t, dqdtest.Options{Args: []string{"--min-disk-free", "100%"}})
		if v, err := server.Dial().Do("DQADD", "q", "a", "x"); err != nil || !strings.HasPrefix(v.Text, "MISCONF") {
			t.Errorf("%v %v", v, err)
		}
		return
	}
	// Small caches and tables, so that the disk is large beside them.
	server := dqdtest.Start(t, dqdtest.Options{Dir: filepath.Join(disk, "data"), Args: []string{"--maxmemory", "128mb"}})
	c := server.Dial()
	info := func(field string) string {
		t.Helper()
		v, err := c.Must("INFO", "storage")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(v.Text) {
			if value, ok := strings.CutPrefix(strings.TrimSpace(line), field+":"); ok {
				return value
			}
		}
		t.Fatalf("INFO storage has no %s:\n%s", field, v.Text)
		return ""
	}
	ballast := info("disk_ballast")
	if ballast == "0" {
		t.Fatal("there is no ballast")
	}

	// Jobs until they are refused.
	payload, jobs := strings.Repeat("x", 100_000), 0
	for ; jobs < 2*size/len(payload); jobs++ {
		v, err := c.Do("DQADD", "q", fmt.Sprint("job-", jobs), payload)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(v.Text, "MISCONF ") {
			t.Logf("after %d jobs: %s", jobs, v.Text)
			break
		}
		if v.Text != fmt.Sprint("job-", jobs) {
			t.Fatalf("job %d: %q", jobs, v.Text)
		}
	}
	if info("disk_guard") != "refuses-adds" {
		t.Fatal("adds were never refused")
	}

	// Somebody fills the rest. Acks go on, by the ballast.
	filler := filepath.Join(disk, "filler")
	takeAll(t, filler)
	acked := 0
	ack := func(n int) {
		t.Helper()
		for range n {
			v, err := c.Must("DQPOP", "q")
			if err != nil || len(v.Items) == 0 {
				t.Fatalf("after %d acks: %v %v; the log: %s", acked, v, err, server.Log())
			}
			if v, err = c.Must("DQACK", "q", v.Items[0].Items[1].Text, fmt.Sprint(v.Items[0].Items[3].Int())); err != nil || v.Int() != 1 {
				t.Fatalf("after %d acks: %v %v", acked, v, err)
			}
			acked++
		}
	}
	ack(100)
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}

	// The jobs of the rest go too; merging the tables gives their room back.
	ack(jobs - acked)
	err := dqdtest.WaitFor(dqdtest.Deadline, func() error {
		_, err := c.Must("DQADD", "q", "again", "x")
		return err
	})
	if err != nil {
		out, _ := exec.Command("du", "-a", disk).Output()
		t.Fatalf("%v\n%s", err, out)
	}
	if err := dqdtest.WaitFor(dqdtest.Deadline, func() error {
		if b := info("disk_ballast"); b != ballast {
			return fmt.Errorf("the ballast is %s instead of %s", b, ballast)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	if v, err := c.Must("DQLEN", "q"); err != nil || v.Int() != 1 {
		t.Errorf("%v %v", v, err)
	}
}

// takeAll writes a file until the disk is full.
func takeAll(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, piece := range [][]byte{make([]byte, 1<<20), make([]byte, 1<<12)} {
		for err = nil; err == nil; {
			_, err = f.Write(piece)
		}
	}
}
