package tests

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"dqd/tests/dqdtest"
	"dqd/tests/script"
)

// tool runs a sub-command to its end and returns what it printed and its exit code.
func tool(t *testing.T, args ...string) (out string, code int) {
	t.Helper()
	cmd := exec.Command(dqdtest.Binary(t), args...)
	b, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(b), cmd.ProcessState.ExitCode()
}

// mustTool is tool for what has to succeed.
func mustTool(t *testing.T, args ...string) string {
	t.Helper()
	out, code := tool(t, args...)
	if code != 0 {
		t.Fatalf("dqd %s: exit code %d\n%s", strings.Join(args, " "), code, out)
	}
	return out
}

// at are the flags that lead a client to a server.
func at(s *dqdtest.Server) []string {
	host, port, _ := strings.Cut(s.Addr, ":")
	return []string{"--host", host, "--port", port}
}

// show returns what a server answers to commands, one a line.
func show(t *testing.T, c *dqdtest.Client, commands ...string) string {
	t.Helper()
	var b strings.Builder
	for _, line := range commands {
		v, err := c.Must(strings.Fields(line)...)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "> %s\n%s", line, script.Format(v))
	}
	return b.String()
}

// times are Unix times in ms or ns.
var times = regexp.MustCompile(`\b1\d{12}(\d{6})?\b`)

// sameButFor reports whether two texts are equal, but for times that differ by at most
// so many ns: what counts on progress time is shown by the wall clock, which is slewed.
func sameButFor(a, b string, most int64) bool {
	if times.ReplaceAllString(a, "T") != times.ReplaceAllString(b, "T") {
		return false
	}
	inA, inB := times.FindAllString(a, -1), times.FindAllString(b, -1)
	for i := range inA {
		ta, _ := strconv.ParseInt((inA[i] + "000000")[:19], 10, 64)
		tb, _ := strconv.ParseInt((inB[i] + "000000")[:19], 10, 64)
		if ta-tb > most || tb-ta > most {
			return false
		}
	}
	return true
}

// The session of an operator: back up a server that works, lose it, restore. What was
// acknowledged before the backup is there, in every state that a job may have; what was
// handed out since has a token that is not given again.
func TestBackupAndRestore(t *testing.T) {
	dir := t.TempDir()
	password := filepath.Join(dir, "password")
	if err := os.WriteFile(password, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := dqdtest.Start(t, dqdtest.Options{Password: "secret"})
	c := server.Dial()
	show(t, c,
		"DQADD jobs delayed later DELAY 1h PRI 3 META a b",
		"DQADD jobs at later AT 2099-01-01T00:00:00Z TTL 1h BACKOFF list:1s,5s",
		"DQADD jobs leased work LEASE 1h", "DQPOP jobs WORKER w1",
		"DQADD jobs ready now", "DQADD jobs failed now PRI 0", "DQPOP jobs",
		"DQNACK jobs failed * DELAY 2h REASON busy",
		"DQADD jobs dead now PRI 0", "DQPOP jobs", "DQNACK jobs dead * DEAD REASON broken",
		"DQADD jobs acked now PRI 0 IDEM", "DQPOP jobs NOACK",
		"DQADD jobs large "+strings.Repeat("x", 1000)+" DELAY 1h",
		"DQCONFIG SET jobs max-inflight 7 id-memory 1h", "DQCONFIG SET * lease 45s",
		"DQADD held a now DELAY 1h", "DQPAUSE held ALL", "DQPAUSE jobs OUT FOR 2h",
	)
	looks := []string{
		"DQSCAN jobs 0 FULL", "DQDEAD jobs 0", "DQGET jobs large", "DQGET jobs leased", "DQCONFIG GET jobs", "DQCONFIG GET other lease",
		"DQQUEUES 0 MATCH [hj]* WITHLEN", "DQRESUME held IN", "DQPAUSE held IN", "DQLEN jobs STATE dead", "DQRANGE jobs -inf +inf WITHPAYLOAD",
	}
	before := map[string]string{}
	for _, look := range looks {
		before[look] = show(t, c, look)
	}

	// Others work meanwhile, until the backup has ended.
	var added atomic.Int64
	var workers sync.WaitGroup
	done := make(chan struct{})
	for w := range 3 {
		mine := server.Dial()
		workers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				if _, err := mine.Must("DQADD", "load", fmt.Sprintf("%d-%d", w, i), strings.Repeat("y", 1000)); err != nil {
					t.Error(err)
					return
				}
				added.Add(1)
			}
		})
	}
	if err := dqdtest.WaitFor(dqdtest.Deadline, func() error {
		if n := added.Load(); n < 500 {
			return fmt.Errorf("%d adds", n)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	least := added.Load()
	file := filepath.Join(dir, "dqd.backup")
	out, code := tool(t, append([]string{"backup", file}, at(server)...)...)
	if code != 1 || !strings.Contains(out, "the server wants its password") {
		t.Errorf("without a password: %d %s", code, out)
	}
	out = mustTool(t, append([]string{"backup", "--password-file", password, file}, at(server)...)...)
	close(done)
	workers.Wait()
	if strings.Contains(out, "secret") || !strings.Contains(out, "live and 1 dead jobs in 3 queues as of ") {
		t.Error(out)
	}
	if info, err := os.Stat(file); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	out, code = tool(t, append([]string{"backup", "--password-file", password, file}, at(server)...)...)
	if code != 1 || !strings.Contains(out, "is there already") {
		t.Errorf("over another: %d %s", code, out)
	}

	// What happens now is lost, but for its token.
	show(t, c, "DQADD other after now", "DQRESUME jobs")
	v, err := c.Must("DQPOP", "other")
	if err != nil {
		t.Fatal(err)
	}
	token := v.Items[0].Items[3].Int()
	server.Kill()

	restored := filepath.Join(dir, "restored")
	mustTool(t, "check", file)
	out = mustTool(t, "restore", file, restored)
	if !strings.Contains(out, "dqd serve --dir "+restored) {
		t.Error(out)
	}
	if out = mustTool(t, "check", restored); !strings.Contains(out, "ok, ") {
		t.Error(out)
	}
	server = dqdtest.Start(t, dqdtest.Options{Dir: restored, Password: "secret"})
	c = server.Dial()
	for _, look := range looks {
		if after := show(t, c, look); !sameButFor(after, before[look], int64(time.Second)) {
			t.Errorf("restored:\n%s\nbefore:\n%s", after, before[look])
		}
	}
	if v, err := c.Must("DQLEN", "load"); err != nil || v.Int() < least || v.Int() > added.Load() {
		t.Errorf("%v jobs of the load (%v), of %d acknowledged before the backup and %d in all", v, err, least, added.Load())
	}
	got := show(t, c, "DQADD jobs acked now PRI 0 IDEM", "DQLEN jobs", "DQACK jobs leased *", "DQRESUME jobs", "DQLEN other")
	if want := "> DQADD jobs acked now PRI 0 IDEM\n\"acked\"\n> DQLEN jobs\n(integer) 6\n> DQACK jobs leased *\n(integer) 1\n"; !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "(integer) 0\n") {
		t.Errorf("got\n%s", got)
	}
	if v, err = c.Must("DQPOP", "jobs"); err != nil || len(v.Items) != 1 {
		t.Fatal(v, err)
	}
	if now := v.Items[0].Items[3].Int(); now <= token {
		t.Errorf("token %d is given after %d was", now, token)
	}
}

// A backup goes through a pipe, and nothing else does. It is checked and restored from one;
// one that is cut short is refused, and leaves no folder. A terminal is no place for it.
func TestBackupThroughAPipe(t *testing.T) {
	server := dqdtest.Start(t, dqdtest.Options{})
	show(t, server.Dial(), "DQADD jobs a later DELAY 1h", "DQADD jobs b now")
	dir := t.TempDir()
	flags := strings.Join(at(server), " ")
	sh := func(code int, script string, want ...string) {
		t.Helper()
		cmd := exec.Command("bash", "-c", "set -o pipefail; dqd() { "+dqdtest.Binary(t)+" \"$@\"; }; "+script)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			t.Fatal(err)
		}
		if got := cmd.ProcessState.ExitCode(); got != code {
			t.Errorf("%s: exit code %d, want %d\n%s", script, got, code, out)
		}
		for _, w := range want {
			if !strings.Contains(string(out), w) {
				t.Errorf("%s: prints\n%s\nwithout %q", script, out, w)
			}
		}
	}
	const holds = "2 live and 0 dead jobs in 1 queues as of "
	sh(0, "dqd backup - "+flags+" > new", "standard output: "+holds)
	sh(0, "dqd check new", "new: ok, a whole backup of "+holds)
	sh(0, "dqd backup - "+flags+" 2>/dev/null | dqd check -", "standard input: ok, a whole backup of "+holds)
	sh(0, "cat new | dqd restore - restored", "restored: restored "+holds)
	sh(0, "dqd check restored", "restored: ok, 2 live")
	sh(0, "dqd check <(cat new)", ": ok, a whole backup of "+holds)
	sh(1, "dqd backup - "+flags+" >&-", "no backup was made: standard output is closed")
	sh(1, "head -c -1 new | dqd check -", "problem: standard input: ")
	sh(1, "head -c -1 new | dqd restore - cut", "nothing was restored: standard input: ")
	sh(1, "dqd restore - empty < /dev/null", "nothing was restored: standard input: no whole backup: it is empty; if it came by a pipe, look at the error of the command before it")
	sh(1, "dqd check - < /dev/null", "standard input: no whole backup: it is empty")
	sh(1, "dqd restore nofile other", "nothing was restored: nofile: no such file or directory: check the name")
	sh(1, "dqd restore restored other", "nothing was restored: restored: is a directory: name a file")
	sh(1, "dqd backup nodir/b "+flags, "no backup was made: nodir/b: there is no folder nodir: make it first, or choose another name")
	sh(1, "dqd backup - "+flags+" > /dev/full", "no backup was made: ", "no space left on device", "what was written is of no use")
	if names, _ := filepath.Glob(filepath.Join(dir, "*")); len(names) != 2 {
		t.Errorf("left are %v", names)
	}
	for args, want := range map[string]string{
		"backup - " + flags: "no backup was made: standard output is a terminal: send it into a file or a pipe, or name a file",
		"check -":           "standard input is a terminal: send a backup into it, or name a file",
		"restore - other":   "nothing was restored: standard input is a terminal: send a backup into it, or name a file",
	} {
		at := openTerminal(t, dqdtest.Binary(t), strings.Fields(args)...)
		at.shows(want)
		at.wait()
	}
}

// large adds so much that a backup takes a while.
func large(t *testing.T, c *dqdtest.Client, jobs int) {
	t.Helper()
	for i := range jobs {
		// Not compressible, or the disk would have nothing to do.
		payload := make([]byte, 500_000)
		for j := range payload {
			payload[j] = byte(i*j>>3 ^ j*j>>7)
		}
		if _, err := c.Must("DQADD", "large", fmt.Sprint(i), string(payload), "DELAY", "1h"); err != nil {
			t.Fatal(err)
		}
	}
}

// caught starts a sub-command and stops it, by SIGSTOP, when it has begun its work and
// not ended it.
func caught(t *testing.T, begun func() bool, args ...string) *exec.Cmd {
	t.Helper()
	for range 20 {
		cmd := exec.Command(dqdtest.Binary(t), args...)
		cmd.Stdout, cmd.Stderr = &bytes.Buffer{}, &bytes.Buffer{}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill() })
		err := dqdtest.WaitFor(dqdtest.Deadline, func() error {
			if !begun() {
				return fmt.Errorf("dqd %s has not begun: %s", args[0], cmd.Stderr)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		cmd.Process.Signal(syscall.SIGSTOP)
		if begun() {
			return cmd
		}
		// Too late; once more, if it has left nothing.
		cmd.Process.Signal(syscall.SIGCONT)
		cmd.Wait()
		for _, a := range args[1:3] {
			if strings.HasSuffix(a, ".new") {
				os.RemoveAll(a)
			}
		}
	}
	t.Fatalf("dqd %s was never caught at work", args[0])
	return nil
}

// A backup ends in the middle, by the death of the server or its own: there is no
// backup of that name, what there is passes for none, and the server's data is unhurt.
func TestBackupKill9(t *testing.T) {
	server := dqdtest.Start(t, dqdtest.Options{})
	large(t, server.Dial(), 60)
	file := filepath.Join(t.TempDir(), "dqd.backup.new")
	atWork := func() bool {
		info, err := os.Stat(file + ".part")
		return err == nil && info.Size() > 1<<20
	}
	names := func() []string {
		all, err := filepath.Glob(file + "*")
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	args := append([]string{"backup", file}, at(server)...)

	cmd := caught(t, atWork, args...)
	cmd.Process.Kill()
	cmd.Wait()
	if got := names(); !slices.Equal(got, []string{file + ".part"}) {
		t.Fatalf("a killed backup leaves %v", got)
	}
	if out, code := tool(t, "check", file+".part"); code != 1 || !strings.Contains(out, "no whole backup: it ends early") {
		t.Errorf("%d %s", code, out)
	}
	if out, code := tool(t, "restore", file+".part", filepath.Join(t.TempDir(), "data")); code != 1 || !strings.Contains(out, "nothing was restored") {
		t.Errorf("%d %s", code, out)
	}

	mustTool(t, args...)
	if got := names(); !slices.Equal(got, []string{file}) {
		t.Errorf("a backup behind a killed one leaves %v", got)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}

	cmd = caught(t, atWork, args...)
	server.Kill()
	cmd.Process.Signal(syscall.SIGCONT)
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("a backup of a dead server ends with %v", err)
	}
	if out := fmt.Sprint(cmd.Stderr); !strings.Contains(out, "no backup was made: ") {
		t.Error(out)
	}
	if got := names(); len(got) > 0 {
		t.Errorf("a failed backup leaves %v", got)
	}
	mustTool(t, "check", server.Dir)
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	out := mustTool(t, append([]string{"backup", file}, at(server)...)...)
	if !strings.Contains(out, "60 live and 0 dead jobs in 1 queues") {
		t.Error(out)
	}
	if got := names(); !slices.Equal(got, []string{file}) {
		t.Errorf("a backup leaves %v", got)
	}
}

// A restore that is killed leaves a folder that no server starts on; it can be begun
// anew. The backup is not touched.
func TestRestoreKill9(t *testing.T) {
	server := dqdtest.Start(t, dqdtest.Options{})
	large(t, server.Dial(), 60)
	file := filepath.Join(t.TempDir(), "dqd.backup")
	mustTool(t, append([]string{"backup", file}, at(server)...)...)
	server.Kill()
	dir := filepath.Join(t.TempDir(), "data.new")
	cmd := caught(t, func() bool {
		_, begun := os.Stat(filepath.Join(dir, "shard-0", "state"))
		_, ended := os.Stat(filepath.Join(dir, "FORMAT"))
		return begun == nil && ended != nil
	}, "restore", file, dir)
	if _, err := dqdtest.TryStart(t, dqdtest.Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "is in use by another dqd") {
		t.Errorf("a server starts beside a restore: %v", err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	if _, err := dqdtest.TryStart(t, dqdtest.Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "a restore into it was interrupted; run dqd restore again") {
		t.Errorf("a server starts on half a restore: %v", err)
	}
	if out, code := tool(t, "check", dir); code != 1 || !strings.Contains(out, "a restore into it was interrupted") {
		t.Errorf("%d %s", code, out)
	}
	mustTool(t, "restore", file, dir)
	mustTool(t, "check", dir)
	server = dqdtest.Start(t, dqdtest.Options{Dir: dir})
	if v, err := server.Dial().Must("DQLEN", "large"); err != nil || v.Int() != 60 {
		t.Error(v, err)
	}
}

// The disk of a backup, or of what is restored, is full: the error says so, and
// nothing is left.
func TestBackupDiskFull(t *testing.T) {
	disk := smallDisk(t, 8<<20)
	if disk == "" {
		return
	}
	server := dqdtest.Start(t, dqdtest.Options{})
	large(t, server.Dial(), 30)
	empty := func() {
		t.Helper()
		if names, err := os.ReadDir(disk); err != nil || len(names) > 0 {
			t.Errorf("left: %v %v", names, err)
		}
	}
	out, code := tool(t, append([]string{"backup", filepath.Join(disk, "dqd.backup")}, at(server)...)...)
	if code != 1 || !strings.Contains(out, "no backup was made: ") || !strings.Contains(out, "no space left on device") {
		t.Errorf("%d %s", code, out)
	}
	empty()
	file := filepath.Join(t.TempDir(), "dqd.backup")
	mustTool(t, append([]string{"backup", file}, at(server)...)...)
	out, code = tool(t, "restore", file, filepath.Join(disk, "data"))
	if code != 1 || !strings.Contains(out, "nothing was restored: ") || !strings.Contains(out, "is full") {
		t.Errorf("%d %s", code, out)
	}
	empty()
}
