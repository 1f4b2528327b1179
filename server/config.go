package server

import (
	"strconv"
	"strings"

	"dqd/commands"
)

// setting is a row of CONFIG GET. Some are dqd's own, some are what Redis tools
// ask for and their one true answer. There is none for the password.
type setting struct {
	name  string
	value func(o *Options) string
}

var settings = []setting{
	{"appendfsync", constant("always")},
	{"appendonly", constant("yes")},
	{"client-query-buffer-limit", func(o *Options) string { return strconv.Itoa(o.Limits.Command) }},
	{"clock-trust", func(o *Options) string { return strconv.FormatInt(o.ClockTrust.Milliseconds(), 10) }},
	{"databases", constant("1")},
	{"dir", func(o *Options) string { return o.Dir }},
	{"maxclients", func(o *Options) string { return strconv.Itoa(o.MaxClients) }},
	{"maxmemory", func(o *Options) string { return strconv.FormatInt(o.Memory, 10) }},
	{"maxmemory-clients", func(o *Options) string { return strconv.FormatInt(o.ClientBuffers, 10) }},
	{"maxmemory-policy", constant("noeviction")},
	{"notify-keyspace-events", constant("")},
	{"proto-max-bulk-len", func(o *Options) string { return strconv.Itoa(o.Limits.Bulk) }},
	{"protected-mode", func(o *Options) string {
		if o.Unprotected {
			return "no"
		}
		return "yes"
	}},
	{"replica-read-only", constant("yes")},
	{"save", constant("")},
	{"slave-read-only", constant("yes")},
	{"tcp-keepalive", func(o *Options) string { return strconv.Itoa(int(o.KeepAlive.Seconds())) }},
	{"timeout", constant("0")},
}

func constant(s string) func(*Options) string { return func(*Options) string { return s } }

// config is CONFIG.
func (s *Server) config(r *commands.Config) commands.Reply {
	switch r.Sub {
	case "get":
		return s.configGet(r.Args)
	case "set":
		for _, known := range settings {
			if strings.EqualFold(known.name, string(r.Args[0])) {
				return commands.Error("ERR CONFIG SET failed (possibly related to argument '" + known.name + "') - can't set immutable config: set it in the configuration file and restart")
			}
		}
		return commands.Error("ERR Unknown option or number of arguments for CONFIG SET - '" + cut(r.Args[0]) + "'")
	case "resetstat":
		s.counters.reset()
		return commands.OK
	case "rewrite":
		return commands.Error("ERR CONFIG REWRITE: dqd does not write its configuration file, edit it and restart")
	case "help":
		return commands.HelpReply("config")
	}
	panic("server: no CONFIG " + r.Sub)
}

// configGet is CONFIG GET: each setting once that one of the patterns fits.
func (s *Server) configGet(patterns [][]byte) commands.Reply {
	for i, p := range patterns {
		patterns[i] = []byte(strings.ToLower(cut(p)))
	}
	found := fields{}
	for _, known := range settings {
		for _, p := range patterns {
			if commands.MatchGlob(p, []byte(known.name)) {
				found = append(found, field{known.name, commands.Bulk(known.value(&s.opts))})
				break
			}
		}
	}
	return found
}

// cut keeps what a client sent at a length that no setting exceeds.
func cut(b []byte) string { return string(b[:min(len(b), 128)]) }
