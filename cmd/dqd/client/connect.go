package client

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// Exit codes, as those of the other sub-commands.
const (
	exitOK    = 0
	exitFail  = 1
	exitUsage = 2
)

// Variables of the server that its clients look at too.
const (
	envPassword     = "DQD_REQUIREPASS"
	envPasswordFile = "DQD_REQUIREPASS_FILE"
	envPort         = "DQD_PORT"
)

const dialTime = 5 * time.Second

// server says where the server is, and how to get in.
type server struct {
	host, passwordFile string
	port               int // 0 = as the environment says
	getenv             func(string) string
	passwordFrom       string // where the password was found
}

// usage is an error in how a sub-command was written.
type usage struct{ error }

// Flags returns the flags that all sub-commands have, for their help.
func Flags() *flag.FlagSet { return new(server).flags() }

func (s *server) flags() *flag.FlagSet {
	f := flag.NewFlagSet("", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	s.host = "127.0.0.1"
	f.Func("host", "`ADDRESS` of the server, else 127.0.0.1", func(text string) error {
		s.host = text
		return checkHost(text)
	})
	f.Func("port", "port `N` of the server, else "+envPort+" in the environment, else 7711", func(text string) (err error) {
		s.port, err = portOf(text)
		return err
	})
	f.StringVar(&s.passwordFile, "password-file", "", "`FILE` whose only line is the password, else "+envPassword+" or "+envPasswordFile+" in the environment")
	s.getenv = os.Getenv
	return f
}

// parse takes flags and arguments in any order; how is what stands behind the
// sub-command's name, with n arguments at the most, all but optional of them needed.
func parse(f *flag.FlagSet, args []string, how string, n, optional int) (rest []string, err error) {
	bad := func(what string) error {
		return usage{fmt.Errorf("%s: write dqd %s [--host h] [--port n] [--password-file f]", what, how)}
	}
	for len(args) > 0 {
		if err := f.Parse(args); err != nil {
			text := err.Error()
			if name, ok := strings.CutPrefix(text, "flag provided but not defined: -"); ok {
				var names []string
				f.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
				similar := DidYouMean(name, names, func(n string) string { return "--" + n })
				if strings.HasPrefix(name, "pass") && (similar == "" || strings.HasPrefix("password", name)) {
					return nil, usage{fmt.Errorf("--%s would show the password to everybody on this machine: give it in the environment as %s, or name its file by --password-file", name, envPassword)}
				}
				text = "unknown flag --" + name + similar
			}
			if m := invalidValue.FindStringSubmatch(text); m != nil {
				value, _ := strconv.Unquote(m[1])
				return nil, usage{fmt.Errorf("--%s %s: %s", m[2], shown(value, false), m[3])}
			}
			return nil, bad(strings.Replace(text, "flag needs an argument: -", "a value is missing behind --", 1))
		}
		if args = f.Args(); len(args) > 0 {
			rest, args = append(rest, args[0]), args[1:]
		}
	}
	switch {
	case len(rest) > n:
		return nil, bad(fmt.Sprintf("unexpected argument %q", rest[n]))
	case len(rest) < n-optional:
		return nil, bad("an argument is missing")
	}
	return rest, nil
}

// invalidValue is what the package flag makes of an error in a value.
var invalidValue = regexp.MustCompile(`(?s)^invalid value (".*") for flag -([a-z-]+): (.*)$`)

// word takes the word that a sub-command begins with out of its arguments; flags, each with
// a value, may stand before it. Empty = there is none.
func word(args []string) (word string, rest []string) {
	i := 0
	for i < len(args) && strings.HasPrefix(args[i], "-") {
		if !strings.Contains(args[i], "=") {
			i++
		}
		i++
	}
	if i >= len(args) {
		return "", args
	}
	return args[i], slices.Concat(args[:i], args[i+1:])
}

func (s *server) addr() string { return net.JoinHostPort(s.host, strconv.Itoa(s.port)) }

// findPort takes the port from the environment if no flag said which.
func (s *server) findPort() error {
	if s.port != 0 {
		return nil
	}
	s.port = 7711
	text := s.getenv(envPort)
	if text == "" || strings.Contains(text, "://") { // which Kubernetes sets
		return nil
	}
	n, err := portOf(text)
	if err != nil {
		return fmt.Errorf("%s=%s in the environment is no port of a server: say where it is by --port", envPort, text)
	}
	s.port = n
	return nil
}

// checkHost wants a name or an address, and nothing else.
func checkHost(text string) error {
	if _, err := netip.ParseAddr(text); err == nil {
		return nil
	}
	if host, port, err := net.SplitHostPort(text); err == nil && host != "" {
		if _, err := portOf(port); err == nil {
			return fmt.Errorf("there is a port in it: write --host %s --port %s", host, port)
		}
	}
	if text == "" || strings.ContainsAny(text, ":/[]@ ") {
		return errors.New("write a name or an IP address, such as --host 127.0.0.1; the port has a flag of its own, --port 7711")
	}
	return nil
}

// portOf reads the number of a port that a server can be at.
func portOf(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		return 0, errors.New("write a number from 1 to 65535, such as --port 7711")
	}
	return int(n), nil
}

// connect makes one connection to the server, which is there and lets us in. Nothing is
// sent twice over it.
func (s *server) connect(ctx context.Context) (*conn, error) {
	if err := s.findPort(); err != nil {
		return nil, err
	}
	password, err := s.password()
	if err != nil {
		return nil, err
	}
	redis.SetLogger(silent{}) // its errors are reported once, by us
	c := &conn{server: s}
	c.rdb = redis.NewClient(&redis.Options{
		Addr: s.addr(), Password: password, Protocol: 2, ClientName: "dqd-cli", MaxRetries: -1,
		DialTimeout: dialTime, ReadTimeout: time.Minute, WriteTimeout: time.Minute,
		DialerRetries: 1, DisableIdentity: true, Dialer: c.dial,
	})
	c.conn = c.rdb.Conn()
	if _, err := c.do(ctx, "PING"); err != nil {
		c.close()
		return nil, err
	}
	c.last.letIn()
	return c, nil
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

type conn struct {
	server *server
	rdb    *redis.Client
	conn   *redis.Conn
	last   lastError
}

func (c *conn) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	nc, err := (&net.Dialer{Timeout: dialTime}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &socket{nc, &c.last}, nil
}

func (c *conn) close() {
	c.conn.Close()
	c.rdb.Close()
}

// do sends a command and returns its reply; null is nil.
func (c *conn) do(ctx context.Context, args ...any) (any, error) {
	replies, err := c.all(ctx, [][]any{args})
	if err != nil {
		return nil, err
	}
	return replies[0], nil
}

// all sends commands in one write and returns their replies; null is nil. It fails with
// the first error among them.
func (c *conn) all(ctx context.Context, commands [][]any) ([]any, error) {
	p := c.conn.Pipeline()
	answers := make([]*redis.Cmd, len(commands))
	for i, args := range commands {
		answers[i] = p.Do(ctx, args...)
	}
	// Its error is that of an answer, or one that no answer has: there is no connection.
	if _, err := p.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return nil, c.explain(ctx, err)
	}
	replies := make([]any, len(commands))
	for i, a := range answers {
		reply, err := a.Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return nil, c.explain(ctx, err)
		}
		replies[i] = reply
	}
	return replies, nil
}

// explain says what an error means, and what to do.
func (c *conn) explain(ctx context.Context, err error) error {
	var answer redis.Error
	switch {
	case ctx.Err() != nil:
		return errInterrupted
	case errors.As(err, &answer):
		text := answer.Error()
		unknown, isUnknown := strings.CutPrefix(text, "ERR unknown command '")
		switch {
		case strings.HasPrefix(text, "NOAUTH"):
			return fmt.Errorf("the server wants its password: give it in the environment as %s, or name its file by --password-file (%s)", envPassword, text)
		case strings.HasPrefix(text, "WRONGPASS"):
			return fmt.Errorf("the server refuses the password of %s: it is not the one that the server has by its setting requirepass (%s)", c.server.passwordFrom, text)
		case isUnknown:
			name, _, _ := strings.Cut(unknown, "'")
			return fmt.Errorf("the server at %s does not know %s, so it is a Redis, or an older dqd: say where yours is by --host and --port", c.server.addr(), name)
		}
		return fmt.Errorf("the server answers: %s", text)
	case strings.Contains(err.Error(), `"HTTP/1.`): // go-redis quotes the line that is no reply
		return fmt.Errorf("at %s a server of HTTP answers, perhaps that of /metrics: name the port for clients by --port, it is 7711 if the server was given no other", c.server.addr())
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("nobody listens at %s: start the server, or say where it is by --host and --port", c.server.addr())
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		if text := c.last.text(); text != "" {
			return fmt.Errorf("the server at %s refuses the connection: %s", c.server.addr(), shown(text, false))
		}
		return fmt.Errorf("the server at %s has closed the connection", c.server.addr())
	}
	return fmt.Errorf("the server at %s: %w", c.server.addr(), err)
}

var (
	errInterrupted = errors.New("interrupted")
	errNoDqd       = errors.New("the server does not answer as a dqd does: say where yours is by --host and --port")
)

// exit reports how a sub-command ended.
func exit(err error, stderr io.Writer) int {
	if err == nil {
		return exitOK
	}
	fmt.Fprintf(stderr, "dqd: %v\n", err)
	if errors.As(err, new(usage)) {
		return exitUsage
	}
	return exitFail
}
