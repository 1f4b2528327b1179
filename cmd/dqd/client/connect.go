package client

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
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
	f.StringVar(&s.host, "host", "127.0.0.1", "`ADDRESS` of the server, else 127.0.0.1")
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
				if similar == "" && strings.HasPrefix(name, "pass") {
					return nil, usage{fmt.Errorf("--%s would show the password to everybody on this machine: give it in the environment as %s, or name its file by --password-file", name, envPassword)}
				}
				text = "unknown flag --" + name + similar
			}
			return nil, bad(strings.NewReplacer("flag needs an argument: -", "a value is missing behind --", "for flag -", "for --").Replace(text))
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

// portOf reads the number of a port that a server can be at.
func portOf(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		return 0, errors.New("write a number from 1 to 65535")
	}
	return int(n), nil
}

// password reads the password, "" if there is none.
func (s *server) password() (string, error) {
	from, path := "--password-file", s.passwordFile
	if path == "" {
		if password := s.getenv(envPassword); password != "" {
			s.passwordFrom = envPassword + " in the environment"
			return password, nil
		}
		from, path = envPasswordFile, s.getenv(envPasswordFile)
	}
	if path == "" {
		return "", nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", from, err)
	}
	password := strings.TrimRight(string(b), "\r\n")
	if password == "" || strings.ContainsAny(password, "\r\n") {
		return "", fmt.Errorf("%s: write the password into the only line of %s", from, path)
	}
	s.passwordFrom = "the file " + path
	return password, nil
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
	rdb := redis.NewClient(&redis.Options{
		Addr: s.addr(), Password: password, Protocol: 2, ClientName: "dqd-cli", MaxRetries: -1,
		DialTimeout: 5 * time.Second, ReadTimeout: time.Minute, WriteTimeout: time.Minute,
		DialerRetries: 1, DisableIdentity: true,
	})
	c := &conn{server: s, rdb: rdb, conn: rdb.Conn()}
	if _, err := c.do(ctx, "PING"); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

type conn struct {
	server *server
	rdb    *redis.Client
	conn   *redis.Conn
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
