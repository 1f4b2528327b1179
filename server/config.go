package server

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"dqd/commands"
)

// setting is a row of CONFIG. Some are dqd's own, some are what Redis tools ask
// for and their one true answer.
type setting struct {
	name  string
	value func(o *Options) string              // nil = a secret, which CONFIG GET does not have
	set   func(d *draft, v string) (err error) // nil = given at the start only
}

// draft is what CONFIG SET makes of the options: all of it counts, or nothing.
type draft struct {
	Options
	password *string     // nil = not given
	level    *slog.Level // nil = not given
}

var settings = slices.Concat([]setting{
	{name: "appendfsync", value: constant("always")},
	{name: "appendonly", value: constant("yes")},
	{name: "client-output-buffer-limit", value: func(o *Options) string { return fmt.Sprintf("normal %d 0 0", o.OutputBuffer) }},
	{name: "client-query-buffer-limit", value: func(o *Options) string { return strconv.Itoa(o.Limits.Command) }},
	{name: "clock-trust", value: func(o *Options) string { return strconv.FormatInt(o.ClockTrust.Milliseconds(), 10) }},
	{name: "cluster-enabled", value: func(o *Options) string { return yesNo(o.Cluster) }},
	{name: "command-timeout", value: seconds(func(o *Options) time.Duration { return o.CommandTimeout })},
	{name: "databases", value: constant("1")},
	{name: "dir", value: func(o *Options) string { return o.Dir }},
	number("latency-monitor-threshold", func(o *Options) *time.Duration { return &o.LatencyEvent }, time.Millisecond, 0, 1<<31-1),
	{name: "loading-wait", value: seconds(func(o *Options) time.Duration { return o.LoadingWait })},
	{name: "loglevel", value: logLevel, set: setLogLevel},
	{name: "maxclients", value: func(o *Options) string { return strconv.Itoa(o.MaxClients) }, set: setMaxClients},
	{name: "maxmemory", value: func(o *Options) string { return strconv.FormatInt(o.Memory, 10) }},
	{name: "maxmemory-clients", value: func(o *Options) string { return strconv.FormatInt(o.ClientBuffers, 10) }, set: setClientBuffers},
	{name: "maxmemory-policy", value: constant("noeviction")},
	{name: "min-disk-free", value: func(o *Options) string { return o.Guard.MinFree().String() }},
	{name: "notify-keyspace-events", value: constant("")},
	{name: "output-pause", value: func(o *Options) string { return strconv.Itoa(o.OutputPause) }},
	{name: "pending-bytes", value: func(o *Options) string { return strconv.Itoa(o.PendingBytes) }},
	{name: "pending-calls", value: func(o *Options) string { return strconv.Itoa(o.PendingCalls) }},
	{name: "proto-inline-max-size", value: func(o *Options) string { return strconv.Itoa(o.Limits.Inline) }},
	{name: "proto-max-args", value: func(o *Options) string { return strconv.Itoa(o.Limits.Args) }},
	{name: "proto-max-bulk-len", value: func(o *Options) string { return strconv.Itoa(o.Limits.Bulk) }},
	{name: "protected-mode", value: func(o *Options) string { return yesNo(!o.Unprotected) }, set: setProtected},
	{name: "replica-read-only", value: constant("yes")},
	{name: "requirepass", set: setPassword},
	{name: "save", value: constant("")},
	{name: "slave-read-only", value: constant("yes")},
	number("slowlog-log-slower-than", func(o *Options) *time.Duration { return &o.SlowerThan }, time.Microsecond, -1, 1<<31-1),
	number("slowlog-max-len", func(o *Options) *int { return &o.SlowLog }, 1, 0, slowLogMost),
	{name: "stalled-input", value: func(o *Options) string { return strconv.Itoa(o.StalledInput) }},
	number("tcp-keepalive", func(o *Options) *time.Duration { return &o.KeepAlive }, time.Second, 1, 1<<31-1),
	number("timeout", func(o *Options) *time.Duration { return &o.Timeout }, time.Second, 0, 1<<31-1),
	{name: "write-timeout", value: seconds(func(o *Options) time.Duration { return o.WriteTimeout })},
}, limits)

// limits are the rows of the limits on arguments; durations in ms.
var limits = []setting{
	limit("default-count", func(l *commands.Limits) int64 { return int64(l.DefaultList) }),
	limit("lease-max", func(l *commands.Limits) int64 { return l.LeaseMax / 1e6 }),
	limit("lease-min", func(l *commands.Limits) int64 { return l.LeaseMin / 1e6 }),
	limit("max-ahead", func(l *commands.Limits) int64 { return l.MaxAhead / 1e6 }),
	limit("max-batch-bytes", func(l *commands.Limits) int64 { return int64(l.MaxBatchBytes) }),
	limit("max-batch-jobs", func(l *commands.Limits) int64 { return int64(l.MaxBatchJobs) }),
	limit("max-block", func(l *commands.Limits) int64 { return l.MaxBlock / 1e6 }),
	limit("max-count", func(l *commands.Limits) int64 { return int64(l.MaxList) }),
	limit("max-fields", func(l *commands.Limits) int64 { return int64(l.MaxFields) }),
	limit("max-id", func(l *commands.Limits) int64 { return int64(l.MaxID) }),
	limit("max-ids", func(l *commands.Limits) int64 { return int64(l.MaxIDs) }),
	limit("max-meta-bytes", func(l *commands.Limits) int64 { return int64(l.MaxMetaBytes) }),
	limit("max-meta-pairs", func(l *commands.Limits) int64 { return int64(l.MaxMetaPairs) }),
	limit("max-payload", func(l *commands.Limits) int64 { return int64(l.MaxPayload) }),
	limit("max-pop-count", func(l *commands.Limits) int64 { return int64(l.MaxPopCount) }),
	limit("max-queue-name", func(l *commands.Limits) int64 { return int64(l.MaxQueue) }),
	limit("max-reason", func(l *commands.Limits) int64 { return int64(l.MaxReason) }),
	limit("max-worker-name", func(l *commands.Limits) int64 { return int64(l.MaxWorker) }),
}

func constant(s string) func(*Options) string { return func(*Options) string { return s } }

func limit(name string, value func(l *commands.Limits) int64) setting {
	return setting{name: name, value: func(o *Options) string { return strconv.FormatInt(value(o.Arguments), 10) }}
}

func seconds(field func(o *Options) time.Duration) func(*Options) string {
	return func(o *Options) string { return strconv.Itoa(int(field(o) / time.Second)) }
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// number is a setting that can be changed and is a whole number of units.
func number[T ~int | ~int64](name string, field func(o *Options) *T, unit T, least, most int64) setting {
	return setting{
		name:  name,
		value: func(o *Options) string { return strconv.FormatInt(int64(*field(o)/unit), 10) },
		set: func(d *draft, v string) error {
			n, err := parseNumber(v, least, most)
			*field(&d.Options) = T(n) * unit
			return err
		},
	}
}

// parseNumber has Redis's texts.
func parseNumber(v string, least, most int64) (int64, error) {
	n, err := strconv.ParseInt(v, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrSyntax):
		return 0, errors.New("argument couldn't be parsed into an integer")
	case err != nil || n < least || n > most:
		return 0, fmt.Errorf("argument must be between %d and %d inclusive", least, most)
	}
	return n, nil
}

func setMaxClients(d *draft, v string) error {
	n, err := parseNumber(v, 1, int64(d.MostClients))
	d.MaxClients = int(n)
	return err
}

func setClientBuffers(d *draft, v string) error {
	n, err := Size(v)
	if err != nil {
		return errors.New("argument must be a memory value, such as 256mb")
	}
	if n < 1<<20 || n > d.Memory {
		return fmt.Errorf("argument must be between %d and %d inclusive", 1<<20, d.Memory)
	}
	d.ClientBuffers = n
	return nil
}

func setProtected(d *draft, v string) error {
	switch strings.ToLower(v) {
	case "yes", "no":
		d.Unprotected = strings.EqualFold(v, "no")
		return nil
	}
	return errors.New("argument must be 'yes' or 'no'")
}

// passwordMax is the longest password, as in Redis.
const passwordMax = 512

// setPassword counts for clients that come from now on. The value is in no text.
func setPassword(d *draft, v string) error {
	if len(v) > passwordMax {
		return fmt.Errorf("the password has %d bytes: use at most %d", len(v), passwordMax)
	}
	d.password = &v
	return nil
}

// logLevels are the words for the levels of the log. Redis has two of them with
// other names, which are taken as well.
var logLevels = []struct {
	names []string
	level slog.Level
}{
	{[]string{"debug", "verbose"}, slog.LevelDebug},
	{[]string{"info", "notice"}, slog.LevelInfo},
	{[]string{"warn", "warning"}, slog.LevelWarn},
	{[]string{"error"}, slog.LevelError},
}

func logLevel(o *Options) string {
	if o.LogLevel != nil {
		return strings.ToLower(o.LogLevel.Level().String())
	}
	return "info"
}

func setLogLevel(d *draft, v string) error {
	for _, l := range logLevels {
		if d.LogLevel != nil && slices.Contains(l.names, strings.ToLower(v)) {
			d.level = &l.level
			return nil
		}
	}
	if d.LogLevel == nil {
		return errors.New("can't set immutable config: the log of this server has a fixed level")
	}
	return errors.New("argument(s) must be one of the following: debug, info, warn, error")
}

// config is CONFIG.
func (s *Server) config(r *commands.Config) commands.Reply {
	switch r.Sub {
	case "get":
		return s.configGet(r.Args)
	case "set":
		return s.configSet(r.Args)
	case "resetstat":
		s.resetStats()
		return commands.OK
	case "rewrite":
		return commands.Error("ERR CONFIG REWRITE: dqd does not write its configuration file, edit it and restart")
	}
	panic("server: no CONFIG " + r.Sub)
}

// configGet is CONFIG GET: each setting once that one of the patterns fits.
func (s *Server) configGet(patterns [][]byte) commands.Reply {
	for i, p := range patterns {
		patterns[i] = []byte(strings.ToLower(cut(p)))
	}
	found := fields{}
	add := func(name, value string) {
		for _, p := range patterns {
			if commands.MatchGlob(p, []byte(name)) {
				found = append(found, field{name, commands.Bulk(value)})
				return
			}
		}
	}
	live := s.live.Load()
	for _, known := range settings {
		if known.value != nil {
			add(known.name, known.value(live))
		}
	}
	for name, value := range live.Started {
		if findSetting(name) == nil {
			add(name, value)
		}
	}
	slices.SortFunc(found, func(a, b field) int { return strings.Compare(a.name, b.name) })
	return found
}

// configSet is CONFIG SET: all of it, or nothing.
func (s *Server) configSet(args [][]byte) commands.Reply {
	s.setting.Lock()
	defer s.setting.Unlock()
	d := &draft{Options: *s.live.Load()}
	given := map[string]bool{}
	for ; len(args) > 0; args = args[2:] {
		name := strings.ToLower(cut(args[0]))
		fail := func(err string) commands.Reply {
			return commands.Error("ERR CONFIG SET failed (possibly related to argument '" + name + "') - " + err)
		}
		known := findSetting(name)
		switch _, started := d.Started[name]; {
		case known == nil && !started:
			return commands.UnknownSetting(args[0])
		case known == nil || known.set == nil:
			return fail("can't set immutable config: set it in the configuration file and restart")
		case given[name]:
			return fail("duplicate parameter")
		}
		given[name] = true
		if err := known.set(d, string(args[1])); err != nil {
			return fail(err.Error())
		}
	}
	s.use(&d.Options)
	if d.password != nil {
		password := []byte(*d.password)
		s.password.Store(&password)
	}
	if d.level != nil {
		d.LogLevel.Set(*d.level)
	}
	return commands.OK
}

// use lets the parts know the options that they keep themselves.
func (s *Server) use(o *Options) {
	was := s.live.Swap(o)
	s.budget.setLimit(o.ClientBuffers)
	s.slow.setLimit(o.SlowLog)
	s.latency.threshold.Store(int64(o.LatencyEvent))
	if was == nil || was.Timeout == o.Timeout {
		return
	}
	for _, c := range s.connections() { // one that is silent does not know its new time-out
		c.mu.Lock()
		c.kick()
		c.mu.Unlock()
	}
}

func findSetting(name string) *setting {
	for i := range settings {
		if settings[i].name == name {
			return &settings[i]
		}
	}
	return nil
}

// cut keeps what a client sent at a length that no setting exceeds.
func cut(b []byte) string { return string(b[:min(len(b), 128)]) }

// Size reads a number of bytes, 1 or more, with a unit, which is binary as in
// Redis's "kb": 512, 64kb, 16mb, 2gb.
func Size(v string) (int64, error) {
	digits := strings.TrimRight(strings.ToLower(v), "kmgtb")
	n, err := strconv.ParseInt(digits, 10, 64)
	shift, ok := map[string]int{"": 0, "b": 0, "k": 10, "kb": 10, "m": 20, "mb": 20, "g": 30, "gb": 30}[strings.ToLower(v[len(digits):])]
	if err != nil || !ok || n < 1 || n > 1<<62>>shift {
		return 0, errors.New("write a size such as 512mb")
	}
	return n << shift, nil
}
