package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"

	"dqd/commands"
	"dqd/server"
	"dqd/server/guard"
)

// config is how the process was asked to run.
type config struct {
	file        string
	bind        []string
	port        int // 0 = any free one
	httpBind    string
	httpPort    int // 0 = any free one, -1 = none
	dir         string
	password    string
	unprotected bool
	maxClients  int
	mostClients int   // what maxclients may become; 0 = any number
	maxMemory   int64 // bytes
	maxPayload  int64 // bytes
	minDiskFree guard.MinFree
	clockTrust  int64 // ns
	cluster     bool
	logLevel    slog.LevelVar

	given map[string]string // each setting but the secrets, as it was written
}

// setting is one thing to configure. Its name is that of the flag and of the key
// in the file, and where Redis has such a setting it is Redis's.
type setting struct {
	name   string
	value  string // the default, as it would be written
	usage  string
	secret bool // no flag, and never shown
	list   bool // takes several values
	set    func(c *config, value string) error
}

// envPassword is the environment's name for requirepass.
const envPassword = "DQD_REQUIREPASS"

var settings = []setting{
	{name: "port", value: "7711", usage: "port for clients, 0 = any free one",
		set: func(c *config, v string) error { return setInt(&c.port, v, 0, 65535) }},
	{name: "bind", value: "127.0.0.1", usage: "addresses for clients, separated by blanks", list: true,
		set: func(c *config, v string) (err error) { c.bind, err = addresses(v); return err }},
	{name: "http-port", value: "7712", usage: "port for /livez /readyz /metrics, 0 = any free one, off = none",
		set: func(c *config, v string) error {
			if v == "off" {
				c.httpPort = -1
				return nil
			}
			if setInt(&c.httpPort, v, 0, 65535) != nil {
				return errors.New("write a number from 0 to 65535, or off")
			}
			return nil
		}},
	{name: "http-bind", value: "127.0.0.1", usage: "address of that port",
		set: func(c *config, v string) error {
			list, err := addresses(v)
			if err == nil && len(list) != 1 {
				err = errors.New("give one address")
			}
			if err == nil {
				c.httpBind = list[0]
			}
			return err
		}},
	{name: "dir", value: "dqd-data", usage: "folder of the data, made if need be",
		set: func(c *config, v string) error {
			if v == "" {
				return errors.New("name a folder")
			}
			c.dir = v
			return nil
		}},
	{name: "requirepass", usage: "password for clients", secret: true,
		set: func(c *config, v string) error { c.password = v; return nil }},
	{name: "protected-mode", value: "yes", usage: "without a password serve this machine only: yes or no",
		set: func(c *config, v string) error {
			protected, err := yesNo(v)
			c.unprotected = !protected
			return err
		}},
	{name: "maxclients", value: "10000", usage: "most connections at a time",
		set: func(c *config, v string) error { return setInt(&c.maxClients, v, 1, 1_000_000) }},
	{name: "maxmemory", value: "80%", usage: "memory to use: bytes, with kb mb gb, or % of what the machine grants",
		set: func(c *config, v string) (err error) { c.maxMemory, err = memorySize(v); return err }},
	{name: "min-disk-free", value: "10%,2gb", usage: "below so much free disk adds are refused: a share, a size, or both (the smaller counts), or off", list: true,
		set: func(c *config, v string) (err error) { c.minDiskFree, err = minFree(v); return err }},
	{name: "max-payload", value: "1mb", usage: "largest payload, at most 16mb",
		set: func(c *config, v string) (err error) {
			c.maxPayload, err = server.Size(v)
			if err == nil && c.maxPayload > 16<<20 {
				err = errors.New("the most is 16mb")
			}
			return err
		}},
	{name: "clock-trust", value: "24h", usage: "largest forward step of the system's clock that is followed by itself after 10 s, 0 = none",
		set: func(c *config, v string) (err error) {
			if c.clockTrust, err = commands.ParseDuration(v); err != nil {
				err = errors.New("write a duration such as 24h, or 0")
			}
			return err
		}},
	{name: "cluster-enabled", value: "no", usage: "answer CLUSTER as a Redis Cluster of one node, for clients that insist: yes or no",
		set: func(c *config, v string) (err error) { c.cluster, err = yesNo(v); return err }},
	{name: "loglevel", value: "info", usage: "debug, info, warn or error",
		set: func(c *config, v string) error {
			if c.logLevel.UnmarshalText([]byte(v)) != nil {
				return errors.New("write debug, info, warn or error")
			}
			return nil
		}},
}

// errHelp says that the flags asked for help.
var errHelp = errors.New("help")

// readConfig merges defaults, file, environment and flags; the later wins.
func readConfig(args []string, getenv func(string) string) (*config, error) {
	given := map[string]string{}
	c := &config{given: map[string]string{}}
	flags := flag.NewFlagSet("dqd", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&c.file, "config", "", "")
	var names []string
	for _, s := range settings {
		if !s.secret {
			names = append(names, s.name)
			flags.Func(s.name, "", func(v string) error { given[s.name] = v; return nil })
		}
	}
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil, errHelp
		}
		if name, ok := strings.CutPrefix(err.Error(), "flag needs an argument: -"); ok {
			return nil, fmt.Errorf("--%s needs a value behind it", name)
		}
		if name, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: -"); ok {
			if s := find(name); s != nil && s.secret {
				return nil, fmt.Errorf("unknown flag --%s: give it in the environment as %s, or in the configuration file", name, envPassword)
			}
			return nil, fmt.Errorf("unknown flag --%s%s", name, didYouMean(name, append(names, "config")))
		}
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q: settings are written --name value", flags.Arg(0))
	}

	for _, s := range settings {
		if err := c.set(&s, s.value); err != nil {
			panic("dqd: the default of " + s.name + " is wrong: " + err.Error())
		}
	}
	if c.file != "" {
		f, err := os.Open(c.file)
		if err != nil {
			return nil, fmt.Errorf("configuration file: %w", err)
		}
		defer f.Close()
		if err := c.readFile(f); err != nil {
			return nil, fmt.Errorf("configuration file %s, %w", c.file, err)
		}
	}
	if password := getenv(envPassword); password != "" {
		c.password = password
	}
	for _, s := range settings {
		if v, ok := given[s.name]; ok {
			if err := c.set(&s, v); err != nil {
				return nil, fmt.Errorf("--%s %s: %w", s.name, v, err)
			}
		}
	}
	return c, nil
}

// set gives a setting its value.
func (c *config) set(s *setting, v string) error {
	if !s.secret {
		c.given[s.name] = v
	}
	return s.set(c, v)
}

// readFile reads lines "name value" as in redis.conf: a line that begins with #
// is a comment, a value may stand in double quotes. An unknown name is an error: a
// setting that does nothing is worse than no start. So is a value that was meant
// otherwise: with = before it, or a comment behind it.
func (c *config) readFile(r io.Reader) error {
	in := bufio.NewScanner(r)
	for n := 1; in.Scan(); n++ {
		line := strings.TrimSpace(in.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		name, value := line, ""
		if i := strings.IndexAny(line, " \t"); i > 0 {
			name, value = line[:i], line[i:]
		}
		name, value = strings.ToLower(name), strings.TrimSpace(value)
		s := find(name)
		if before, _, ok := strings.Cut(name, "="); ok && s == nil {
			s, value = find(before), "="
		}
		if s == nil {
			var names []string
			for _, s := range settings {
				names = append(names, s.name)
			}
			return fmt.Errorf("line %d: unknown setting %q%s", n, name, didYouMean(name, names))
		}
		switch unquoted, err := strconv.Unquote(value); {
		case strings.HasPrefix(value, `"`):
			if err != nil {
				return fmt.Errorf("line %d: %s: unbalanced quotes, or text behind them: a comment needs a line of its own", n, name)
			}
			value = unquoted
		case strings.HasPrefix(value, "="):
			return fmt.Errorf("line %d: write %s and the value without =; a value that begins with = needs double quotes", n, s.name)
		case strings.ContainsAny(value, " \t") && (!s.list || strings.Contains(value, "#")):
			return fmt.Errorf("line %d: %s has more than one value: put a value with blanks in double quotes, and a comment in a line of its own", n, name)
		}
		if value == "" && s.secret { // what filled it in was missing, perhaps
			return fmt.Errorf("line %d: %s without a value: write one, or leave the line out", n, name)
		}
		if err := c.set(s, value); err != nil {
			if s.secret {
				value = "…"
			}
			return fmt.Errorf("line %d: %s %s: %w", n, name, value, err)
		}
	}
	return in.Err()
}

// exposed reports whether other machines are served without a password.
func (c *config) exposed() bool {
	if !c.unprotected || c.password != "" {
		return false
	}
	for _, a := range c.bind {
		if ip := net.ParseIP(a); a != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return true
		}
	}
	return false
}

func find(name string) *setting {
	for i := range settings {
		if settings[i].name == name {
			return &settings[i]
		}
	}
	return nil
}

func setInt(to *int, v string, min, max int) error {
	n, err := strconv.Atoi(v)
	if err != nil || n < min || n > max {
		return fmt.Errorf("write a number from %d to %d", min, max)
	}
	*to = n
	return nil
}

func addresses(v string) ([]string, error) {
	list := strings.FieldsFunc(v, func(r rune) bool { return r == ' ' || r == ',' })
	if len(list) == 0 {
		return nil, errors.New("name an address")
	}
	for i, a := range list {
		if a == "*" {
			list[i] = ""
		} else if a != "localhost" && net.ParseIP(a) == nil {
			return nil, fmt.Errorf("%q is no IP address", a)
		}
	}
	return list, nil
}

func yesNo(v string) (bool, error) {
	if v != "yes" && v != "no" {
		return false, errors.New("write yes or no")
	}
	return v == "yes", nil
}

// leastMemory is what the caches of the shard and a little load take.
const leastMemory = 128 << 20

// memorySize is a size, or a share of what the machine grants.
func memorySize(v string) (int64, error) {
	n, err := server.Size(v)
	if digits, ok := strings.CutSuffix(v, "%"); ok {
		var percent int
		if setInt(&percent, digits, 1, 100) != nil {
			return 0, errors.New("write a percentage from 1% to 100%")
		}
		n, err = max(grantedMemory()/100*int64(percent), leastMemory), nil
	}
	if err == nil && n < leastMemory {
		err = errors.New("the least is 128mb")
	}
	return n, err
}

// minFree reads a share of a disk, a size, both, or off.
func minFree(v string) (m guard.MinFree, err error) {
	if v == "off" {
		return m, nil
	}
	parts := strings.FieldsFunc(v, func(r rune) bool { return r == ' ' || r == ',' })
	for _, part := range parts {
		if digits, ok := strings.CutSuffix(part, "%"); ok && m.Percent == 0 {
			m.Percent, err = strconv.ParseInt(digits, 10, 64)
			if err != nil || m.Percent < 1 || m.Percent > 100 {
				return m, errors.New("write a percentage from 1% to 100%")
			}
		} else if ok || m.Bytes != 0 {
			return m, errors.New("write one share and one size at most")
		} else if m.Bytes, err = server.Size(part); err != nil {
			return m, errors.New("write a share such as 10%, a size such as 2gb, both, or off")
		}
	}
	if len(parts) == 0 {
		err = errors.New("write a share such as 10%, a size such as 2gb, both, or off")
	}
	return m, err
}

// didYouMean names the nearest of names, if it is near.
func didYouMean(name string, names []string) string {
	best, near := "", 3
	for _, n := range names {
		if d := distance(name, n); d < near {
			best, near = n, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(", did you mean %q?", best)
}

// distance is the number of characters to insert, delete or replace.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
