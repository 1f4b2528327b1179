package tests

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"dqd/tests/dqdtest"
	"dqd/tests/ledger"
)

// The process opens the two ports that it names, on loopback, and no other:
// none for Raft.
func TestOpensOnlyItsTwoPorts(t *testing.T) {
	server := dqdtest.Start(t, dqdtest.Options{})
	got := listening(t, server.Pid())
	want := []string{server.Addr, server.HTTP}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("listens on %q, says %q", got, want)
	}
}

// listening returns the IPv4 addresses and IPv6 ports on which a process listens.
func listening(t *testing.T, pid int) []string {
	t.Helper()
	mine := map[string]bool{}
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if target, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, fd.Name())); err == nil {
			mine[strings.Trim(strings.TrimPrefix(target, "socket:"), "[]")] = true
		}
	}
	var list []string
	for _, table := range []string{"tcp", "tcp6"} {
		f, err := os.Open(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		if err != nil {
			continue
		}
		for in := bufio.NewScanner(f); in.Scan(); {
			w := strings.Fields(in.Text())
			const listen = "0A"
			if len(w) < 10 || w[3] != listen || !mine[w[9]] {
				continue
			}
			var a, b, c, d, port int
			if table == "tcp" {
				fmt.Sscanf(w[1], "%02X%02X%02X%02X:%X", &d, &c, &b, &a, &port)
				list = append(list, fmt.Sprintf("%d.%d.%d.%d:%d", a, b, c, d, port))
			} else {
				list = append(list, "IPv6 "+w[1])
			}
		}
		f.Close()
	}
	return list
}

// Folders are 0700 and files 0600.
func TestDataIsPrivate(t *testing.T) {
	server := dqdtest.Start(t, dqdtest.Options{})
	if _, err := server.Dial().Must("DQADD", "q", "a", "x"); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(server.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if want := map[bool]fs.FileMode{true: 0o700, false: 0o600}[d.IsDir()]; info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", path, info.Mode().Perm(), want)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// Probes and metrics answer, metrics with what happened.
func TestProbesAndMetrics(t *testing.T) {
	server := dqdtest.Start(t, dqdtest.Options{})
	if _, err := server.Dial().Must("DQADD", "q", "a", "x"); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/livez", "/readyz", "/metrics"} {
		status, body := get(t, "http://"+server.HTTP+path)
		if status != http.StatusOK {
			t.Errorf("%s answers %d: %s", path, status, body)
		}
		if path == "/metrics" {
			hasDocumentedMetrics(t, body)
			for _, name := range []string{"resident_memory_bytes", "open_fds", "max_fds", "start_time_seconds", "cpu_seconds_total"} {
				if !strings.Contains(body, "\nprocess_"+name+" ") {
					t.Errorf("/metrics has no process_%s, which tests/dashboards takes for given", name)
				}
			}
		}
	}
	if status, _ := get(t, "http://"+server.HTTP+"/nonsense"); status != http.StatusNotFound {
		t.Errorf("/nonsense answers %d", status)
	}
}

var documentedMetric = regexp.MustCompile("(?m)^\\| `(dqd_[a-z_]+)` \\| ([a-z]+) \\|")

// hasDocumentedMetrics checks that a page of metrics has all that docs/metrics.md says.
func hasDocumentedMetrics(t *testing.T, page string) {
	t.Helper()
	document, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := documentedMetric.FindAllStringSubmatch(string(document), -1)
	if len(rows) < 50 {
		t.Fatalf("docs/metrics.md has %d metrics", len(rows))
	}
	for _, row := range rows {
		if !strings.Contains(page, "\n# TYPE "+row[1]+" "+row[2]+"\n") {
			t.Errorf("/metrics has no %s %s", row[2], row[1])
		}
	}
}

func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	client := &http.Client{Timeout: dqdtest.Deadline}
	r, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(b)
}

// A folder serves one process at a time; the second says so and ends.
func TestSecondProcessOnTheSameFolderIsRefused(t *testing.T) {
	server := dqdtest.Start(t, dqdtest.Options{})
	out, err := exec.Command(dqdtest.Binary(t), "serve", "--port", "0", "--http-port", "0", "--dir", server.Dir).CombinedOutput()
	if err == nil {
		t.Fatalf("a second process served the same folder:\n%s", out)
	}
	if !strings.Contains(string(out), server.Dir) {
		t.Errorf("its message does not name the folder:\n%s", out)
	}
	if v, err := server.Dial().Do("PING"); err != nil || v.Text != "PONG" {
		t.Errorf("the first process was disturbed: %v %v", v, err)
	}
}

// Bad flags and settings are refused with a message, not half obeyed.
func TestBadFlagsAreRefused(t *testing.T) {
	config := filepath.Join(t.TempDir(), "dqd.conf")
	if err := os.WriteFile(config, []byte("nonsense yes\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"serve", "--nonsense"},
		{"serve", "--port", "70000"},
		{"serve", "--port", "x"},
		{"serve", "--config", config},
		{"serve", "--config", "/no/such/file"},
		{"nonsense"},
	} {
		out, err := exec.Command(dqdtest.Binary(t), args...).CombinedOutput()
		if err == nil || len(out) == 0 {
			t.Errorf("dqd %q: %v, %q", args, err, out)
		}
	}
}

// One bit of one file is damaged while the server is down. It refuses to start,
// or stops when it reads that place, or the damage does no harm: nothing
// acknowledged is lost, and nothing wrong is answered.
func TestDamagedDataIsRefused(t *testing.T) {
	t.Parallel()
	random := newRandom(t)
	book := ledger.New()
	server := dqdtest.Start(t, dqdtest.Options{})
	fill(t, server, book)
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	files := readFolder(t, server.Dir)
	start := func(damaged string, content []byte) (*dqdtest.Server, error) {
		dir := filepath.Join(t.TempDir(), "data")
		for name, f := range files {
			if name == damaged {
				f.content = content
			}
			f.write(t, filepath.Join(dir, name))
		}
		return dqdtest.TryStart(t, dqdtest.Options{Dir: dir})
	}
	if _, err := start("", nil); err != nil {
		t.Fatalf("a copy without damage does not start: %v", err)
	}
	refused, stopped, harmless := 0, 0, 0
	for name, f := range files {
		if len(f.content) == 0 {
			continue // its name is all it says
		}
		for try := range 3 {
			damaged := slices.Clone(f.content)
			at := random.IntN(len(damaged))
			if jobs := indexes(damaged, "job-"); len(jobs) > 0 && try > 0 {
				at = jobs[random.IntN(len(jobs))] + random.IntN(8) // where it hurts
				at = min(at, len(damaged)-1)
			}
			damaged[at] ^= 1 << random.IntN(8)
			what := fmt.Sprintf("byte %d of %d of %s", at, len(damaged), name)
			second, err := start(name, damaged)
			if err != nil {
				refused++
				if strings.Contains(err.Error(), "panic: ") {
					t.Errorf("%s: refused without a message: %v", what, err)
				}
				advised(t, what, err.Error())
				continue
			}
			found, err := audit(second, book, "kill")
			switch {
			case err != nil && second.EndsBySelf():
				stopped++
				advised(t, what, second.Log())
			case err != nil:
				t.Errorf("%s: %v", what, err)
			case len(found) > 0:
				t.Errorf("%s: served, and %s", what, strings.Join(found, "; "))
			default:
				harmless++
				t.Logf("%s does no harm", what)
			}
			second.Kill()
		}
	}
	t.Logf("refused at the start: %d, stopped when it was read: %d, harmless: %d", refused, stopped, harmless)
	if refused+stopped == 0 {
		t.Error("no damage was noticed")
	}
}

// The newest file of the log is cut short while the server is down, after an orderly
// end and after kill -9: what was acknowledged is missing, so dqd check says so, and the
// server does not start, the second time as little as the first.
func TestLogCutShort(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(s *dqdtest.Server) error{
		"an orderly end": (*dqdtest.Server).Stop,
		"kill -9":        func(s *dqdtest.Server) error { s.Kill(); return nil },
	} {
		server := dqdtest.Start(t, dqdtest.Options{})
		file, last := "", -1
		for try := 0; last < 0; try++ { // the server may begin another file behind the job
			if try == 20 {
				t.Fatalf("%s: the newest file of the log never has the newest job", name)
			}
			id := fmt.Sprint("newest-", try, "-")
			c := server.Dial()
			for n := range 30 {
				if _, err := c.Must("DQADD", "q", fmt.Sprint(id, n), "x"); err != nil {
					t.Fatal(err)
				}
			}
			if err := end(server); err != nil {
				t.Fatal(err)
			}
			file = newestLogFile(t, server.Dir)
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if last = bytes.Index(b, []byte(id+"29")); last < 0 {
				if err := server.Restart(); err != nil {
					t.Fatal(err)
				}
			}
		}
		want := "write-ahead file " + filepath.Base(file) + ": damaged"
		for _, at := range []int{last + 1, max(last-1000, 0), last / 2} { // shorter and shorter
			if err := os.Truncate(file, int64(at)); err != nil {
				t.Fatal(err)
			}
			if out, code := tool(t, "check", server.Dir); code != 1 || !strings.Contains(out, want) {
				t.Errorf("%s, the last job at %d, cut to %d bytes, code %d: %s", name, last, at, code, out)
			}
		}
		for range 2 {
			err := server.Restart()
			if err == nil {
				t.Fatalf("%s: the server starts", name)
			}
			if text := err.Error(); !strings.Contains(text, ": damaged") || !strings.Contains(text, "from a backup") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// newestLogFile returns the file that NEWEST-WAL names.
func newestLogFile(t *testing.T, dir string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "log", "NEWEST-WAL"))
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "log", fmt.Sprintf("%06d.log", binary.BigEndian.Uint64(b[8:])))
}

// advised checks that who ends by a damaged file says what to do, in plain words.
func advised(t *testing.T, what, text string) {
	t.Helper()
	if strings.Contains(text, "fatal storage error") && strings.Contains(text, "damaged") && !strings.Contains(text, "run dqd check ") {
		t.Errorf("%s: does not say what to do:\n%s", what, text)
	}
	if strings.Contains(text, "carrier") {
		t.Errorf("%s: shows what is Pebble's own:\n%s", what, text)
	}
}

// indexes returns where a text stands in b.
func indexes(b []byte, text string) (list []int) {
	for from := 0; ; {
		i := bytes.Index(b[from:], []byte(text))
		if i < 0 {
			return list
		}
		list = append(list, from+i)
		from += i + 1
	}
}

// file is a folder, or a file without the zero bytes at its end, of which logs
// have many.
type file struct {
	folder  bool
	content []byte
	size    int64
}

// readFolder reads what is in a folder, by name.
func readFolder(t *testing.T, dir string) map[string]file {
	t.Helper()
	files := map[string]file{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			files[name] = file{folder: true}
			return nil
		}
		b, err := os.ReadFile(path)
		if len(b) > 1<<20 && len(indexes(b, "job-")) == 0 {
			b = make([]byte, len(b)) // a log prepared for later use: what is in it means nothing
		}
		files[name] = file{content: bytes.TrimRight(b, "\x00"), size: int64(len(b))}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func (f file) write(t *testing.T, path string) {
	t.Helper()
	dir := filepath.Dir(path)
	if f.folder {
		dir = path
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if f.folder {
		return
	}
	if err := os.WriteFile(path, f.content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, f.size); err != nil {
		t.Fatal(err)
	}
}

// fill adds, cancels and acks some hundred jobs.
func fill(t *testing.T, server *dqdtest.Server, book *ledger.Ledger) {
	t.Helper()
	c := server.Dial()
	for i := range 300 {
		id, due := fmt.Sprintf("job-%d", i), time.Now().Add(time.Hour).UnixNano()
		op := book.Add(id, ledger.At(due), false)
		if _, err := c.Must("DQADD", "kill", id, strings.Repeat("x", i), "AT", fmt.Sprint(due)+"ns"); err != nil {
			t.Fatal(err)
		}
		op.Done()
		if i%3 == 0 {
			end := book.End(id, ledger.Cancelled)
			if _, err := c.Must("DQCANCEL", "kill", id); err != nil {
				t.Fatal(err)
			}
			end.Done()
		}
	}
}
