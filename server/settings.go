package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"dqd/commands"
	"dqd/server/guard"
)

// Setting is a row of the one table of settings. It feeds the flags, the
// environment, the configuration file, CONFIG GET and CONFIG SET, the help, the
// completion of shells, and docs/settings.md.
type Setting struct {
	Name    string // of the flag, of the key in the file, and of CONFIG; where Redis has such a setting it is Redis's
	Default string // as it would be written; empty = none
	Values  string // what may be written
	Usage   string // one line
	Note    string // further sentences for the reference
	Secret  bool   // by file or environment only, and never shown
	List    bool   // takes several values, separated by blanks or commas
	Live    bool   // CONFIG SET changes it
	Words   []string
	Path    string // "file" or "folder": the value names one

	show func(o *Options) string
	set  func(o *Options, v string) error
}

// SettingGroup are settings of one topic.
type SettingGroup struct {
	Title    string
	Settings []Setting
}

// valueError is that a value is none of Setting.Values. CONFIG SET answers it with
// its own text, which is Redis's.
type valueError string

func (e valueError) Error() string { return string(e) }

const errValues = valueError("argument is not allowed")

// Set reads a value into the options. The error says what may be written; it never
// shows a secret.
func (s *Setting) Set(o *Options, v string) error {
	err := s.set(o, v)
	if wrong := valueError(""); errors.As(err, &wrong) {
		return errors.New("write " + s.Values)
	}
	return err
}

// Variable is the setting's name in the environment.
func (s *Setting) Variable() string {
	return "DQD_" + strings.ToUpper(strings.ReplaceAll(s.Name, "-", "_"))
}

// AllSettings returns the table. Its order is that in which values are set: one
// that is a share of another comes behind it.
func AllSettings() []SettingGroup { return settingGroups }

// FindSetting returns a setting, or nil.
func FindSetting(name string) *Setting {
	for _, group := range settingGroups {
		for i := range group.Settings {
			if group.Settings[i].Name == name {
				return &group.Settings[i]
			}
		}
	}
	return nil
}

// DefaultOptions returns the options of a process that was given no settings.
func DefaultOptions() Options {
	o := Options{Arguments: commands.DefaultLimits(), LogLevel: new(slog.LevelVar), settled: true}
	for _, group := range settingGroups {
		for _, s := range group.Settings {
			if s.Default == "" {
				continue
			}
			if err := s.Set(&o, s.Default); err != nil {
				panic("server: the default of " + s.Name + " is wrong: " + err.Error())
			}
		}
	}
	return o
}

var settingGroups = []SettingGroup{
	{"Clients", []Setting{
		number("port", "7711", "port for clients, 0 = any free one, which is printed", func(o *Options) *int { return &o.Port }, 1, 0, 65535),
		{Name: "bind", Default: "127.0.0.1", List: true,
			Values: "IP addresses, localhost, or * for all", Usage: "addresses for clients, separated by blanks or commas",
			Note: "`localhost` = `127.0.0.1`, `0.0.0.0` = all of IPv4 and nothing else, `::` = all of IPv6 and nothing else, `*` = all of both.",
			show: func(o *Options) string { return strings.Join(o.Bind, " ") },
			set:  func(o *Options, v string) (err error) { o.Bind, err = addresses(v); return err }},
		live(yesNo("protected-mode", "yes", "without a password serve connections over loopback only, which bind must have then; no = serve whoever reaches bind, with a warning at the start",
			func(o *Options) bool { return !o.Unprotected }, func(o *Options, yes bool) { o.Unprotected = !yes })),
		{Name: "requirepass", Secret: true, Live: true,
			Values: fmt.Sprintf("a password of at most %d bytes", passwordMax), Usage: "password that clients have to give",
			Note: "A password given by `CONFIG SET` counts for clients that come from then on; an empty one there takes it away, unless loopback is not bound either.",
			set: func(o *Options, v string) error {
				if len(v) > passwordMax {
					return fmt.Errorf("the password has %d bytes: use at most %d", len(v), passwordMax)
				}
				o.Password = v
				return nil
			}},
		{Name: "requirepass-file", Path: "file", Values: "the name of a file",
			Usage: "file whose only line is the password", Note: "Read once, at the start. Not together with `requirepass`.",
			show: func(o *Options) string { return o.PasswordFile },
			set:  func(o *Options, v string) error { return setName(&o.PasswordFile, v) }},
		{Name: "maxclients", Default: "10000", Live: true,
			Values: fmt.Sprintf("a number from 1 to %d", maxClientsMost), Usage: "most connections at a time",
			Note: "Lowered to what the limit of open files allows.",
			show: func(o *Options) string { return strconv.Itoa(o.MaxClients) },
			set: func(o *Options, v string) error {
				most := o.MostClients
				if most == 0 {
					most = maxClientsMost
				}
				return setNumber(&o.MaxClients, v, 1, most)
			}},
		live(number("timeout", "0", "seconds after which a silent client is closed, 0 = never", func(o *Options) *time.Duration { return &o.Timeout }, time.Second, 0, 1<<31-1)),
		live(number("tcp-keepalive", "60", "seconds between probes of a silent client", func(o *Options) *time.Duration { return &o.KeepAlive }, time.Second, 1, 1<<31-1)),
		number("command-timeout", "30", "seconds in which a command must be complete once it has begun", func(o *Options) *time.Duration { return &o.CommandTimeout }, time.Second, 1, 3600),
		number("write-timeout", "10", "seconds in which a client must read 64 KiB of replies", func(o *Options) *time.Duration { return &o.WriteTimeout }, time.Second, 1, 3600),
		number("loading-wait", "4", "seconds for which commands wait while the data is loaded", func(o *Options) *time.Duration { return &o.LoadingWait }, time.Second, 1, 3600),
		yesNo("cluster-enabled", "no", "answer CLUSTER as a Redis Cluster of one node, for clients that insist on one",
			func(o *Options) bool { return o.Cluster }, func(o *Options, yes bool) { o.Cluster = yes }),
	}},
	{"Probes and metrics", []Setting{
		{Name: "http-port", Default: "7712", Values: "a number from 0 to 65535, or off", Usage: "port for /livez /readyz /metrics, 0 = any free one, off = none",
			show: func(o *Options) string {
				if o.HTTPPort < 0 {
					return "off"
				}
				return strconv.Itoa(o.HTTPPort)
			},
			set: func(o *Options, v string) error {
				if v == "off" {
					o.HTTPPort = -1
					return nil
				}
				return setNumber(&o.HTTPPort, v, 0, 65535)
			}},
		{Name: "http-bind", Default: "127.0.0.1", Values: "one IP address, localhost, or * for all", Usage: "address of that port",
			show: func(o *Options) string { return o.HTTPBind },
			set: func(o *Options, v string) error {
				list, err := addresses(v)
				if err == nil && len(list) != 1 {
					return errValues
				}
				if err == nil {
					o.HTTPBind = list[0]
				}
				return err
			}},
	}},
	{"Data and memory", []Setting{
		{Name: "dir", Default: "dqd-data", Path: "folder", Values: "the name of a folder", Usage: "folder of the data, made if need be",
			show: func(o *Options) string { return o.Dir },
			set:  func(o *Options, v string) error { return setName(&o.Dir, v) }},
		{Name: "maxmemory", Default: "80%", Values: "a size from 128mb on, such as 2gb, or a share from 1% to 100%",
			Usage: "memory to use; a share is one of what the machine grants",
			Note:  "Beyond it adds are refused with `OOM`. The limit of a control group counts as the machine's. Below 2gb the stores' caches shrink with it.",
			show:  func(o *Options) string { return strconv.FormatInt(o.Memory, 10) },
			set: func(o *Options, v string) error {
				if share, ok := percent(v); ok {
					o.Memory = max(guard.GrantedMemory()/100*share, LeastMemory)
					return nil
				}
				return setSize(&o.Memory, v, LeastMemory, 1<<62)
			}},
		{Name: "maxmemory-clients", Default: "25%", Live: true, Values: "a size such as 256mb, from 1mb to maxmemory, or a share of maxmemory from 1% to 100%",
			Usage: "memory for the buffers of all clients; beyond it the largest client is closed",
			show:  func(o *Options) string { return strconv.FormatInt(o.ClientBuffers, 10) },
			set: func(o *Options, v string) error {
				if share, ok := percent(v); ok {
					o.ClientBuffers = max(o.Memory/100*share, 1<<20)
					return nil
				}
				return setSize(&o.ClientBuffers, v, 1<<20, o.Memory)
			}},
		{Name: "min-disk-free", Default: "10%,2gb", List: true, Values: "a share from 1% to 100%, a size such as 2gb, both, or off",
			Usage: "below so much free disk adds are refused; of a share and a size the smaller counts, off = no guard",
			Note:  "They are refused with `MISCONF`. A quarter of it, at most 256mb, is the ballast in the folder of the data.",
			show:  func(o *Options) string { return o.MinDiskFree.String() },
			set:   func(o *Options, v string) (err error) { o.MinDiskFree, err = minFree(v); return err }},
		{Name: "max-payload", Default: "1mb", Values: "a size from 1 to 16mb", Usage: "largest payload of a job",
			show: func(o *Options) string { return strconv.Itoa(o.Arguments.MaxPayload) },
			set: func(o *Options, v string) error {
				n, err := size(v)
				if err != nil || n > 16<<20 {
					return errValues
				}
				o.Arguments.MaxPayload = int(n)
				return nil
			}},
	}},
	{"Time", []Setting{
		{Name: "clock-trust", Default: "24h", Values: "a duration from 0 (none) to 100 years with its unit, such as 24h or 90s, or a number of milliseconds", Usage: "largest forward step of the system's clock that is followed by itself after 10 s",
			Note: "A larger one waits for `DQCLOCK ACCEPT`. CONFIG GET shows milliseconds.",
			show: func(o *Options) string { return strconv.FormatInt(o.ClockTrust.Milliseconds(), 10) },
			set: func(o *Options, v string) error {
				n, err := commands.ParseDuration(v)
				if err != nil {
					return errValues
				}
				o.ClockTrust = time.Duration(n)
				return nil
			}},
	}},
	{"What is noted", []Setting{
		{Name: "loglevel", Default: "info", Live: true, Words: []string{"debug", "info", "warn", "error"},
			Values: "debug, info, warn or error", Usage: "how much the log on stderr tells", Note: "Redis's words `verbose`, `notice` and `warning` are taken too.",
			show: func(o *Options) string { return strings.ToLower(o.Level.String()) },
			set:  setLogLevel},
		live(number("slowlog-log-slower-than", "10000", "microseconds from which on SLOWLOG notes a command, 0 = each, -1 = none", func(o *Options) *time.Duration { return &o.SlowerThan }, time.Microsecond, -1, 1<<31-1)),
		live(number("slowlog-max-len", "128", "entries that SLOWLOG keeps", func(o *Options) *int { return &o.SlowLog }, 1, 0, slowLogMost)),
		live(number("latency-monitor-threshold", "100", "milliseconds from which on LATENCY notes an event, 0 = none", func(o *Options) *time.Duration { return &o.LatencyEvent }, time.Millisecond, 0, 1<<31-1)),
	}},
}

// LeastMemory is what the caches of the shard and a little load take, in bytes.
const LeastMemory = 128 << 20

// passwordMax is the longest password in bytes, as in Redis.
const passwordMax = 512

// maxClientsMost is what maxclients may be at most.
const maxClientsMost = 1_000_000

func live(s Setting) Setting {
	s.Live = true
	return s
}

// number is a setting that is a whole number of units.
func number[T ~int | ~int64](name, value, usage string, field func(o *Options) *T, unit T, least, most int) Setting {
	what := "a number"
	if d, ok := any(unit).(time.Duration); ok {
		what += " of " + map[time.Duration]string{time.Second: "seconds", time.Millisecond: "milliseconds", time.Microsecond: "microseconds"}[d]
	}
	return Setting{Name: name, Default: value, Values: fmt.Sprintf("%s from %d to %d", what, least, most), Usage: usage,
		show: func(o *Options) string { return strconv.FormatInt(int64(*field(o)/unit), 10) },
		set: func(o *Options, v string) error {
			n := 0
			if err := setNumber(&n, v, least, most); err != nil {
				return err
			}
			*field(o) = T(n) * unit
			return nil
		}}
}

func yesNo(name, value, usage string, get func(o *Options) bool, set func(o *Options, yes bool)) Setting {
	return Setting{Name: name, Default: value, Values: "yes or no", Usage: usage, Words: []string{"yes", "no"},
		show: func(o *Options) string {
			if get(o) {
				return "yes"
			}
			return "no"
		},
		set: func(o *Options, v string) error {
			v = strings.ToLower(v)
			if v != "yes" && v != "no" {
				return valueError("argument must be 'yes' or 'no'")
			}
			set(o, v == "yes")
			return nil
		}}
}

func setNumber(to *int, v string, least, most int) error {
	n, err := strconv.Atoi(v)
	switch {
	case errors.Is(err, strconv.ErrSyntax):
		return valueError("argument couldn't be parsed into an integer")
	case err != nil || n < least || n > most:
		return valueError(fmt.Sprintf("argument must be between %d and %d inclusive", least, most))
	}
	*to = n
	return nil
}

func setSize(to *int64, v string, least, most int64) error {
	n, err := size(v)
	if err != nil {
		return valueError("argument must be a memory value, such as 256mb")
	}
	if n < least || n > most {
		return valueError(fmt.Sprintf("argument must be between %d and %d inclusive", least, most))
	}
	*to = n
	return nil
}

func setName(to *string, v string) error {
	if v == "" {
		return errValues
	}
	*to = v
	return nil
}

// logLevels are the words for the levels of the log. Redis has some with other
// names, which are taken as well.
var logLevels = []struct {
	names []string
	level slog.Level
}{
	{[]string{"debug", "verbose"}, slog.LevelDebug},
	{[]string{"info", "notice"}, slog.LevelInfo},
	{[]string{"warn", "warning"}, slog.LevelWarn},
	{[]string{"error"}, slog.LevelError},
}

func setLogLevel(o *Options, v string) error {
	if o.LogLevel == nil {
		return errors.New("the log of this server has a fixed level")
	}
	for _, l := range logLevels {
		if slices.Contains(l.names, strings.ToLower(v)) {
			o.Level = l.level
			return nil
		}
	}
	return valueError("argument(s) must be one of the following: debug, info, warn, error")
}

// split separates the values of a list.
func split(v string) []string {
	return strings.FieldsFunc(v, func(r rune) bool { return r == ' ' || r == '\t' || r == ',' })
}

func addresses(v string) ([]string, error) {
	list := split(v)
	if len(list) == 0 {
		return nil, errValues
	}
	for _, a := range list {
		if a != "*" && a != "localhost" && net.ParseIP(a) == nil {
			if _, port, err := net.SplitHostPort(a); err == nil && port != "" {
				return nil, fmt.Errorf("%q has a port in it, which is a setting of its own: port", a)
			}
			return nil, fmt.Errorf("%q is no IP address", a)
		}
	}
	return list, nil
}

// percent reads a share from 1% to 100%.
func percent(v string) (share int64, ok bool) {
	digits, ok := strings.CutSuffix(v, "%")
	n := 0
	if !ok || setNumber(&n, digits, 1, 100) != nil {
		return 0, false
	}
	return int64(n), true
}

// minFree reads a share of a disk, a size, both, or off.
func minFree(v string) (m guard.MinFree, err error) {
	if v == "off" {
		return m, nil
	}
	parts := split(v)
	for _, part := range parts {
		if share, ok := percent(part); ok && m.Percent == 0 {
			m.Percent = share
		} else if n, err := size(part); err == nil && m.Bytes == 0 {
			m.Bytes = n
		} else {
			return m, errValues
		}
	}
	if len(parts) == 0 {
		return m, errValues
	}
	return m, nil
}

// size reads a number of bytes, 1 or more, with a unit, which is binary as in
// Redis's "kb": 512, 64kb, 16mb, 2gb.
func size(v string) (int64, error) {
	v = strings.ToLower(v)
	digits := strings.TrimRight(v, "kmgb")
	n, err := strconv.ParseInt(digits, 10, 64)
	shift, ok := map[string]int{"": 0, "b": 0, "k": 10, "kb": 10, "m": 20, "mb": 20, "g": 30, "gb": 30}[v[len(digits):]]
	if err != nil || !ok || n < 1 || n > 1<<62>>shift {
		return 0, errors.New("write a size such as 512mb")
	}
	return n << shift, nil
}
