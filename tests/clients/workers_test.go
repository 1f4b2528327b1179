package clients

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"dqd/tests/dqdtest"
	"dqd/tests/script"
)

// The recipes in docs/workers.md, as they stand there, with a handler that does
// what the id of its job says.
var recipes = []struct {
	name, mark string
	command    []string
	begin      string // of main, before what the document says
	edit       []string
	driver     string // the file of db
	source     string
}{
	{
		"node", "js", []string{"node/node_modules/.bin/node", "main.js"},
		"const db = require(\"./driver\");\n", []string{"30_000", "1500", "10_000", "500"}, "driver.js", `
const go = new Promise((done) => process.stdin.once("data", done));
exports.cancelOrder = async (id, token, signal) => {
  if (id === "fail") throw new Error("no route");
  if (id === "dead") throw Object.assign(new Error("never"), { dead: true });
  if (id === "slow") await go;
  if (id === "hold") await new Promise((_, reject) => signal.addEventListener("abort", () => {
    console.log("hold ends");
    reject(signal.reason);
  }));
};
`},
	{
		"python", "python", []string{"/usr/bin/python3", "main.py"},
		"import driver as db\n", []string{"lease=30", "lease=1.5", "grace=10", "grace=0.5"}, "driver.py", `
import sys
from worker import Dead, Stopped

def cancel_order(id, token, ended):
    if id == "fail":
        raise Exception("no route")
    if id == "dead":
        raise Dead("never")
    if id == "slow":
        sys.stdin.readline()
    if id == "hold":
        ended.wait()
        print("hold ends", flush=True)
        raise Stopped
`},
}

// The recipes do what docs/workers.md says that every good worker does.
func TestWorkerRecipes(t *testing.T) {
	t.Parallel()
	for i := range recipes {
		r := &recipes[i]
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			server := dqdtest.Start(t, dqdtest.Options{Args: []string{"--port", strconv.Itoa(freePort(t))}})
			shell := server.Dial()
			must := func(args ...string) script.Value {
				t.Helper()
				v, err := shell.Must(args...)
				if err != nil {
					t.Fatal(err)
				}
				return v
			}
			// await waits until DQGET shows these fields of a job; none = there is no such job.
			await := func(id, fields, want string) {
				t.Helper()
				err := dqdtest.WaitFor(dqdtest.Deadline, func() error {
					v, err := shell.Must(append([]string{"DQGET", "pay", id}, strings.Fields(fields)...)...)
					var got []string
					for _, f := range v.Items {
						got = append(got, shown(f))
					}
					if err == nil && strings.Join(got, " ") != want {
						err = fmt.Errorf("job %s is %q, want %q", id, got, want)
					}
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			folder := writeRecipe(t, r.mark, r.begin, r.driver, r.source, append([]string{"7711", port(server.Addr)}, r.edit...))
			run := func() *process {
				command := []string{r.command[0], filepath.Join(folder, r.command[1])}
				if strings.Contains(command[0], "node_modules") {
					abs, err := filepath.Abs(command[0])
					if err != nil {
						t.Fatal(err)
					}
					command[0] = abs
				}
				return start(t, command, server.Addr, server.Addr)
			}

			p := run()
			for _, id := range []string{"fine", "fail", "dead", "slow"} {
				must("DQADD", "pay", id, "x", "BACKOFF", "fixed:1h")
			}
			await("fine", "state", "")
			await("fail", "state attempt reason", "delayed 1 no route")
			await("dead", "state reason", "dead never")

			// Two leases long it is still the first attempt.
			err := dqdtest.WaitFor(dqdtest.Deadline, func() error {
				n, err := server.Metric(`dqd_commands_total{command="dqextend",outcome="ok"}`)
				if err == nil && n < 8 {
					err = fmt.Errorf("%v extensions", n)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			await("slow", "state attempt", "leased 1")
			fmt.Fprintln(p.stdin, "go")
			await("slow", "state", "")

			// It hears that its job is not its own any more.
			must("DQADD", "pay", "hold", "x")
			await("hold", "state", "leased")
			must("DQMCANCEL", "pay", "FORCE", "IDS", "1", "hold")
			if line := <-p.lines; line != "hold ends" {
				t.Errorf("it prints %q\n", line)
			}

			// It lives on when the server was away.
			shell.Close()
			if err := server.Stop(); err != nil {
				t.Fatal(err)
			}
			if err := server.Restart(); err != nil {
				t.Fatal(err)
			}
			shell = server.Dial()
			must("DQADD", "pay", "after", "x")
			await("after", "state", "")

			// It dies, and another takes over; that one is stopped, and gives the job back.
			must("DQADD", "pay", "hold", "x", "BACKOFF", "fixed:0")
			await("hold", "state attempt", "leased 1")
			p.cmd.Process.Kill()
			for range p.lines {
			}
			p.cmd.Wait()
			for _, said := range []string{`job .fail. of queue .pay. failed in attempt 1: .*no route.*\n`, `job .dead. .*never`} {
				if !regexp.MustCompile(said).MatchString(p.stderr.String()) {
					t.Errorf("it says %q, and nothing like %s", p.stderr, said)
				}
			}
			other := run()
			await("hold", "state attempt", "leased 2")
			other.cmd.Process.Signal(syscall.SIGTERM)
			for range other.lines {
			}
			if err := other.cmd.Wait(); err != nil {
				t.Errorf("it ends with %v\n%s", err, other.stderr)
			}
			await("hold", "state attempt", "ready 1")
		})
	}
}

// A recipe ends with an error when the password is wrong.
func TestWorkerRecipesNeedAPassword(t *testing.T) {
	t.Parallel()
	server := dqdtest.Start(t, dqdtest.Options{Password: password})
	for i := range recipes {
		r := &recipes[i]
		t.Run(r.name, func(t *testing.T) {
			folder := writeRecipe(t, r.mark, r.begin, r.driver, r.source, []string{"7711", port(server.Addr)})
			abs, err := filepath.Abs(r.command[0])
			if err != nil || filepath.IsAbs(r.command[0]) {
				abs = r.command[0]
			}
			p := start(t, []string{abs, filepath.Join(folder, r.command[1])}, server.Addr, server.Addr)
			for range p.lines {
			}
			if err := p.cmd.Wait(); err == nil {
				t.Error("it ends as if all were well")
			}
			if !strings.Contains(strings.ToLower(p.stderr.String()), "auth") {
				t.Errorf("it says %q", p.stderr)
			}
		})
	}
}

func shown(v script.Value) string {
	if v.Kind == script.KindInt {
		return strconv.FormatInt(v.Int(), 10)
	}
	return v.Text
}

var recipeFile = regexp.MustCompile(`^(?://|#) (\w+\.\w+)\n`)

// writeRecipe writes the files of a recipe, with replacements in its main, and
// returns their folder.
func writeRecipe(t *testing.T, mark, begin, driver, source string, edit []string) string {
	t.Helper()
	document, err := os.ReadFile("../../docs/workers.md")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(driver, source)
	files := 0
	for _, block := range strings.Split(string(document), "\n```"+mark+"\n")[1:] {
		text, _, _ := strings.Cut(block, "\n```")
		name := recipeFile.FindStringSubmatch(text)
		if name == nil {
			t.Fatal("a recipe does not begin with the name of its file")
		}
		if strings.HasPrefix(name[1], "main.") {
			for i := 0; i < len(edit); i += 2 {
				if strings.Count(text, edit[i]) != 1 {
					t.Fatalf("%s has %q %d times", name[1], edit[i], strings.Count(text, edit[i]))
				}
			}
			text = begin + strings.NewReplacer(edit...).Replace(text)
		}
		write(name[1], text)
		files++
	}
	if files != 2 {
		t.Fatal(errors.New("a recipe has two files"))
	}
	modules, err := filepath.Abs("node/node_modules/ioredis5")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(folder, "node_modules"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(modules, filepath.Join(folder, "node_modules", "ioredis")); err != nil {
		t.Fatal(err)
	}
	return folder
}
