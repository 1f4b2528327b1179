package clients

import (
	"errors"
	"strings"
	"testing"
	"time"

	"dqd/tests/dqdtest"
)

// Clients whose default time-out is shorter than the BLOCK of a pop, and how often
// they send that pop. The other clients of the matrix wait for as long as the server does.
var impatient = []struct {
	client
	timeout time.Duration
	sent    int
}{
	{client{"go-redis", []string{built("wait"), "goredis"}}, 5 * time.Second, 4},
	{client{"rueidis", []string{built("wait"), "rueidis"}}, 10 * time.Second, 1},
	{client{"redis-rb", []string{"/usr/bin/ruby", "ruby/wait.rb"}}, 5 * time.Second, 2},
}

// They give up in the end, and the connections that they left get no job.
func TestClientsThatGiveUp(t *testing.T) {
	t.Parallel()
	build(t)
	for _, c := range impatient {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := dqdtest.Start(t, dqdtest.Options{})
			control := server.Dial()
			printed := output(t, start(t, c.command, server.Addr, server.Addr))
			if !strings.HasPrefix(printed, "error: ") || !strings.Contains(printed, "time") {
				t.Fatalf("it prints %q", printed)
			}
			err := dqdtest.WaitFor(dqdtest.Deadline, func() error {
				v, err := control.Must("INFO", "clients")
				if err == nil && !strings.Contains(v.Text, "blocked_clients:0\r\n") {
					err = errors.New("abandoned pops still wait")
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if n, err := server.Metric(`dqd_commands_total{command="dqpop",outcome="gone"}`); err != nil || int(n) != c.sent {
				t.Errorf("the client sent %v pops, want %d; %v", n, c.sent, err)
			}
			if _, err := control.Must("DQADD", "q", "a", "x"); err != nil {
				t.Fatal(err)
			}
			v, err := control.Must("DQPOP", "q")
			if err != nil || len(v.Items) != 1 || v.Items[0].Items[4].Int() != 1 {
				t.Errorf("the job did not come at its first attempt: %+v, %v", v, err)
			}
			noWarnings(t, server)
		})
	}
}

// With the options that docs/clients.md names they wait for a job that comes later
// than their default time-out.
func TestWorkersWait(t *testing.T) {
	t.Parallel()
	build(t)
	for _, c := range impatient {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := dqdtest.Start(t, dqdtest.Options{})
			if _, err := server.Dial().Must("DQADD", "q", "later", "x", "DELAY", (c.timeout + 2*time.Second).String()); err != nil {
				t.Fatal(err)
			}
			if printed := output(t, start(t, append(c.command, "-worker"), server.Addr, server.Addr)); printed != "popped: later" {
				t.Errorf("it prints %q", printed)
			}
			if n, err := server.Metric(`dqd_commands_total{command="dqpop",outcome="ok"}`); err != nil || n != 1 {
				t.Errorf("%v pops were answered; %v", n, err)
			}
			noWarnings(t, server)
		})
	}
}

// output returns all that a program prints.
func output(t *testing.T, p *process) string {
	t.Helper()
	var lines []string
	for text := range p.lines {
		lines = append(lines, text)
	}
	if err := p.cmd.Wait(); err != nil || p.stderr.Len() > 0 {
		t.Fatalf("the program ends with %v: ./test.sh installs what it needs\n%s", err, p.stderr)
	}
	return strings.Join(lines, "\n")
}
