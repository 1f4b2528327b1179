package script

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// Target is the server that a script runs against.
type Target interface {
	// Dial opens a client connection.
	Dial() (net.Conn, error)
	// Advance lets d pass on the server's clock, and returns when what became
	// due by that has been done as far as it can be told.
	Advance(d time.Duration) error
	// Parked returns once n clients wait in pops and, where that can be told,
	// everything else has come to rest.
	Parked(n int) error
	// Virtual reports that time passes only by Advance: moments are exact, and
	// a reply that is not there after Parked will not come by itself.
	Virtual() bool
	// Restart stops the server in an orderly way and starts it on the same data.
	// Its connections end. errors.ErrUnsupported if it cannot.
	Restart() error
	// Close ends the server.
	Close() error
}

// Stepper is a Target whose wall clock can be set.
type Stepper interface {
	// StepWall moves the server's wall clock by d, either way, and no other.
	StepWall(d time.Duration)
}

// Rester is a Target whose server can be away while time passes at once.
type Rester interface {
	// RestartAfter is Restart with so much time in between.
	RestartAfter(d time.Duration) error
}

// TB is what Run needs of a *testing.T.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
	Logf(format string, args ...any)
	Skipf(format string, args ...any)
}

const (
	// replyDeadline bounds the wait for a reply of a real process.
	replyDeadline = time.Minute
	// waitDeadline bounds the wait for a parked reply; max-block is 30 s.
	waitDeadline = 90 * time.Second
	// realAdvanceMax is the longest time that a script may let pass for real, in all.
	realAdvanceMax = 6 * time.Second
	// realSlack is how far a real server's clock may be from the test's own.
	realSlack = 5 * time.Second
)

// Run runs a script against a target made by open. With update, wrong outputs
// are rewritten in the file instead of reported.
func Run(t TB, s *Script, update bool, open func(config map[string]string) (Target, error)) {
	t.Helper()
	target, err := open(s.Config)
	if err != nil {
		t.Fatalf("%s: start the server: %v", s.Path, err)
	}
	defer target.Close()
	if target.Virtual() && s.RealOnly != "" {
		t.Skipf("runs against a real process only: %s", s.RealOnly)
	}
	if !target.Virtual() && s.VirtualOnly != "" {
		t.Skipf("runs under virtual time only: %s", s.VirtualOnly)
	}
	slack := realSlack
	if target.Virtual() {
		slack = 0
	}
	r := &runner{t: t, script: s, target: target, names: newBindings(slack), clients: map[string]*client{}, outputs: map[*step][]string{}}
	defer r.closeClients()
	r.use("main")
	for _, st := range s.steps {
		actual, err := r.do(st)
		if errors.Is(err, errors.ErrUnsupported) {
			t.Skipf("%s:%d: @%s is not supported here", s.Path, st.line, st.verb)
		}
		if err != nil {
			t.Fatalf("%s:%d: %s: %v", s.Path, st.line, describe(st), err)
		}
		if !st.expectsOutput() {
			continue
		}
		expected, err := r.expand(st.expected)
		if err != nil {
			t.Fatalf("%s:%d: %v", s.Path, st.line, err)
		}
		bad := r.names.match(expected, actual)
		if bad == "" {
			continue
		}
		if !update {
			t.Errorf("%s:%d: %s\n%s\nexpected:\n%s\nactual:\n%s", s.Path, st.line, describe(st), bad,
				indent(expected), indent(actual))
			continue
		}
		r.outputs[st] = actual
	}
	if update && len(r.outputs) > 0 {
		text, err := os.ReadFile(s.Path)
		if err == nil {
			err = os.WriteFile(s.Path, []byte(rewrite(string(text), r.outputs)), 0o666)
		}
		if err != nil {
			t.Fatalf("rewrite %s: %v", s.Path, err)
		}
		t.Logf("%s: rewrote the output of %d steps", s.Path, len(r.outputs))
	}
}

// runner is one run of a script.
type runner struct {
	t       TB
	script  *Script
	target  Target
	names   *bindings
	clients map[string]*client
	current *client
	passed  time.Duration // let pass by @clock
	mark    string        // name for the next command's moment
	outputs map[*step][]string
}

// client is one connection. Its reader goroutine ends with the connection.
type client struct {
	name    string
	conn    net.Conn
	replies chan reply
	parked  bool // a command got no reply yet
	picks   [][]string
}

type reply struct {
	value Value
	err   error // io.EOF and the like: the connection has ended
}

func (r *runner) do(s *step) (output []string, err error) {
	argument := s.text[0]
	switch s.verb {
	case "command":
		return r.command(s)
	case "raw":
		args, err := SplitArgs(r.macro(argument))
		if err != nil {
			return nil, err
		}
		if err := r.send([]byte(strings.Join(args, ""))); err != nil {
			return nil, err
		}
		return r.receive(nil, replyDeadline)
	case "wait":
		if !r.current.parked {
			return nil, fmt.Errorf("no command of client %s waits", r.current.name)
		}
		picks := r.current.picks
		r.current.parked, r.current.picks = false, nil
		return r.receiveAll(picks, waitDeadline)
	case "client":
		r.use(argument)
		return nil, nil
	case "mark":
		r.mark = argument
		return nil, nil
	case "clock":
		return nil, r.advance(argument)
	case "resp":
		version, err := strconv.Atoi(argument)
		if err != nil {
			return nil, err
		}
		if err := r.send(AppendCommand(nil, "HELLO", strconv.Itoa(version))); err != nil {
			return nil, err
		}
		v, err := r.reply(replyDeadline)
		if err != nil {
			return nil, err
		}
		return nil, v.Err()
	case "closed":
		return nil, r.closed()
	case "close":
		err := r.current.conn.Close()
		delete(r.clients, r.current.name)
		r.current = nil
		if err == nil {
			err = r.target.Parked(r.parkedCount())
		}
		return nil, err
	case "restart":
		r.closeClients()
		if err := r.restart(argument); err != nil {
			return nil, err
		}
		r.use("main")
		return nil, nil
	}
	return nil, fmt.Errorf("unknown directive")
}

// restart stops the server and starts it, after a time if one is given.
func (r *runner) restart(after string) error {
	if after == "" {
		return r.target.Restart()
	}
	d, err := time.ParseDuration(after)
	if err != nil {
		return err
	}
	target, ok := r.target.(Rester)
	if !ok {
		return fmt.Errorf("the server cannot rest here: mark the script @virtual")
	}
	return target.RestartAfter(d)
}

func (r *runner) command(s *step) (output []string, err error) {
	if r.current == nil {
		r.use("main")
	}
	var packet []byte
	var picks [][]string
	for _, line := range s.text {
		line, pick := cutPick(r.names.substitute(r.macro(line)))
		args, err := SplitArgs(line)
		if err != nil {
			return nil, err
		}
		packet = AppendCommand(packet, args...)
		picks = append(picks, pick)
	}
	before := time.Now()
	if err := r.send(packet); err != nil {
		return nil, err
	}
	if len(s.expected) > 0 && s.expected[len(s.expected)-1] == "(waiting)" {
		output, err = r.park(picks)
	} else {
		output, err = r.receiveAll(picks, replyDeadline)
	}
	if r.mark != "" {
		r.names.marks[r.mark] = moment{before, time.Now()}
		r.mark = ""
	}
	return output, err
}

// park takes the replies that come before the waiting command's. The last
// command of the packet is the one that waits.
func (r *runner) park(picks [][]string) (output []string, err error) {
	last := len(picks) - 1
	output, err = r.receiveAll(picks[:last], replyDeadline)
	if err != nil {
		return output, err
	}
	r.current.parked, r.current.picks = true, picks[last:]
	if err := r.target.Parked(r.parkedCount()); err != nil {
		return output, err
	}
	select {
	case got := <-r.current.replies:
		r.current.parked, r.current.picks = false, nil
		if got.err != nil {
			return output, got.err
		}
		return append(output, lines(Format(got.value))...), nil
	default:
		return append(output, "(waiting)"), nil
	}
}

func (r *runner) parkedCount() int {
	n := 0
	for _, c := range r.clients {
		if c.parked && len(c.replies) == 0 {
			n++
		}
	}
	return n
}

func (r *runner) receiveAll(picks [][]string, deadline time.Duration) (output []string, err error) {
	for _, pick := range picks {
		got, err := r.receive(pick, deadline)
		if err != nil {
			return output, err
		}
		output = append(output, got...)
	}
	return output, nil
}

func (r *runner) receive(pick []string, deadline time.Duration) (output []string, err error) {
	v, err := r.reply(deadline)
	if err != nil {
		return nil, err
	}
	if pick != nil {
		return lines(formatPicked(v, pick)), nil
	}
	return lines(Format(v)), nil
}

// reply returns the next reply of the current client.
func (r *runner) reply(deadline time.Duration) (Value, error) {
	c := r.current
	if r.target.Virtual() {
		// Nothing may need time to pass: a reply that does is a bug of its own.
		if err := r.target.Parked(r.parkedCount()); err != nil {
			return Value{}, err
		}
		select {
		case got := <-c.replies:
			return got.value, got.err
		default:
			return Value{}, fmt.Errorf("no reply, and none will come unless time passes")
		}
	}
	timer := time.NewTimer(deadline)
	defer timer.Stop()
	select {
	case got := <-c.replies:
		return got.value, got.err
	case <-timer.C:
		return Value{}, fmt.Errorf("no reply within %v", deadline)
	}
}

func (r *runner) closed() error {
	v, err := r.reply(replyDeadline)
	if err == nil {
		return fmt.Errorf("expected the end of the connection, got %s", abbreviate(Format(v)))
	}
	r.current.conn.Close()
	delete(r.clients, r.current.name)
	r.current = nil
	var network net.Error
	if errors.Is(err, io.EOF) || errors.As(err, &network) || errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	return err
}

func (r *runner) advance(argument string) error {
	verb, text, _ := strings.Cut(argument, " ")
	d, err := time.ParseDuration(strings.TrimSpace(text))
	if err != nil {
		return err
	}
	switch s, ok := r.target.(Stepper); {
	case verb == "advance":
	case verb != "step":
		return fmt.Errorf("want @clock advance <duration>, or @clock step <duration>")
	case !ok:
		return fmt.Errorf("the wall clock cannot be set here: mark the script @virtual")
	default:
		s.StepWall(d)
		return nil
	}
	r.passed += d
	if !r.target.Virtual() && r.passed > realAdvanceMax {
		return fmt.Errorf("lets more than %v pass: mark the script @virtual", realAdvanceMax)
	}
	return r.target.Advance(d)
}

// use makes a connection the current one, and opens it the first time.
func (r *runner) use(name string) {
	if c, ok := r.clients[name]; ok {
		r.current = c
		return
	}
	conn, err := r.target.Dial()
	if err != nil {
		r.t.Fatalf("%s: connect client %s: %v", r.script.Path, name, err)
		return
	}
	c := &client{name: name, conn: conn, replies: make(chan reply, 1<<16)}
	go func() {
		in := bufio.NewReader(conn)
		for {
			v, err := ReadValue(in)
			c.replies <- reply{v, err}
			if err != nil {
				return
			}
		}
	}()
	r.clients[name] = c
	r.current = c
}

func (r *runner) send(packet []byte) error {
	if r.current == nil {
		r.use("main")
	}
	if !r.target.Virtual() {
		r.current.conn.SetWriteDeadline(time.Now().Add(replyDeadline))
	}
	if _, err := r.current.conn.Write(packet); err != nil {
		return fmt.Errorf("send: %w", err)
	}
	return nil
}

func (r *runner) closeClients() {
	for _, c := range r.clients {
		c.conn.Close()
	}
	r.clients, r.current = map[string]*client{}, nil
}

// macro expands macros of a line, which Parse cannot know to be right.
func (r *runner) macro(line string) string {
	out, err := expandMacros(line)
	if err != nil {
		r.t.Fatalf("%s: %v", r.script.Path, err)
	}
	return out
}

func (r *runner) expand(expected []string) ([]string, error) {
	out := make([]string, len(expected))
	for i, line := range expected {
		var err error
		if out[i], err = expandMacros(line); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// cutPick splits off the " | field field" at the end of a command.
func cutPick(line string) (command string, fields []string) {
	i := strings.LastIndex(line, " | ")
	if i < 0 {
		return line, nil
	}
	return line[:i], strings.Fields(line[i+3:])
}

// lines splits output. Blanks at the end of a line, as redis-cli prints them
// behind "=>", do not count.
func lines(s string) []string {
	out := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	for i := range out {
		out[i] = strings.TrimRight(out[i], " ")
	}
	return out
}

func indent(text []string) string {
	var b strings.Builder
	for _, line := range text {
		b.WriteString("    " + abbreviate(line) + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func describe(s *step) string {
	if s.verb == "command" {
		return "> " + abbreviate(strings.Join(s.text, " ; "))
	}
	return "@" + s.verb + " " + abbreviate(s.text[0])
}
