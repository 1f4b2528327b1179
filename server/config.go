package server

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dqd/commands"
)

// constantSetting is something that CONFIG GET shows beside the settings: what Redis tools ask
// for and its one true answer, and limits that nothing changes.
type constantSetting struct {
	name string
	show func(o *Options) string
}

var constantSettings = []constantSetting{
	{"appendfsync", constant("always")},
	{"appendonly", constant("yes")},
	{"client-output-buffer-limit", func(o *Options) string { return fmt.Sprintf("normal %d 0 0", o.OutputBuffer) }},
	{"client-query-buffer-limit", func(o *Options) string { return strconv.Itoa(o.Limits.Command) }},
	{"databases", constant("1")},
	{"maxmemory-policy", constant("noeviction")},
	{"notify-keyspace-events", constant("")},
	{"output-pause", func(o *Options) string { return strconv.Itoa(o.OutputPause) }},
	{"pending-bytes", func(o *Options) string { return strconv.Itoa(o.PendingBytes) }},
	{"pending-calls", func(o *Options) string { return strconv.Itoa(o.PendingCalls) }},
	{"proto-inline-max-size", func(o *Options) string { return strconv.Itoa(o.Limits.Inline) }},
	{"proto-max-args", func(o *Options) string { return strconv.Itoa(o.Limits.Args) }},
	{"proto-max-bulk-len", func(o *Options) string { return strconv.Itoa(o.Limits.Bulk) }},
	{"replica-read-only", constant("yes")},
	{"save", constant("")},
	{"slave-read-only", constant("yes")},
	{"stalled-input", func(o *Options) string { return strconv.Itoa(o.StalledInput) }},

	// The limits of arguments; durations in ms.
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
	limit("max-pop-count", func(l *commands.Limits) int64 { return int64(l.MaxPopCount) }),
	limit("max-queue-name", func(l *commands.Limits) int64 { return int64(l.MaxQueue) }),
	limit("max-reason", func(l *commands.Limits) int64 { return int64(l.MaxReason) }),
	limit("max-worker-name", func(l *commands.Limits) int64 { return int64(l.MaxWorker) }),
}

// IsConstant reports whether CONFIG GET shows a name that nothing changes.
func IsConstant(name string) bool {
	return slices.ContainsFunc(constantSettings, func(c constantSetting) bool { return c.name == name })
}

func constant(s string) func(*Options) string { return func(*Options) string { return s } }

func limit(name string, value func(l *commands.Limits) int64) constantSetting {
	return constantSetting{name, func(o *Options) string { return strconv.FormatInt(value(o.Arguments), 10) }}
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
	live := s.live.Load()
	add := func(name string, show func(o *Options) string) {
		for _, p := range patterns {
			if commands.MatchGlob(p, []byte(name)) {
				found = append(found, field{name, commands.Bulk(show(live))})
				return
			}
		}
	}
	for _, group := range settingGroups {
		for _, known := range group.Settings {
			if !known.Secret {
				add(known.Name, known.show)
			}
		}
	}
	for _, f := range constantSettings {
		add(f.name, f.show)
	}
	slices.SortFunc(found, func(a, b field) int { return strings.Compare(a.name, b.name) })
	return found
}

// configSet is CONFIG SET: all of it, or nothing.
func (s *Server) configSet(args [][]byte) commands.Reply {
	s.setting.Lock()
	defer s.setting.Unlock()
	d := *s.live.Load()
	d.Password = string(*s.password.Load())
	given := map[string]bool{}
	fail := func(name, err string) commands.Reply {
		return commands.Error("ERR CONFIG SET failed (possibly related to argument '" + name + "') - " + err)
	}
	for ; len(args) > 0; args = args[2:] {
		name := strings.ToLower(cut(args[0]))
		known := FindSetting(name)
		switch {
		case known == nil && slices.ContainsFunc(constantSettings, func(f constantSetting) bool { return f.name == name }):
			return fail(name, "can't set immutable config: dqd has this value and no other")
		case known == nil:
			return commands.UnknownSetting(args[0])
		case !known.Live:
			return fail(name, "can't set immutable config: start the server with --"+name+", "+known.Variable()+", or a line in its configuration file")
		case given[name]:
			return fail(name, "duplicate parameter")
		}
		given[name] = true
		if err := known.set(&d, string(args[1])); err != nil {
			return fail(name, err.Error())
		}
	}
	if err := d.ServesSomebody(); err != nil && (given["requirepass"] || given["protected-mode"]) {
		name := "requirepass"
		if !given[name] {
			name = "protected-mode"
		}
		return fail(name, err.Error()+"; give a requirepass with it, or protected-mode no where the network is trusted")
	}
	if given["requirepass"] {
		password := []byte(d.Password)
		s.password.Store(&password)
	}
	d.Password = "" // one copy, which nothing prints
	s.use(&d)
	return commands.OK
}

// use lets the parts know the options that they keep themselves.
func (s *Server) use(o *Options) {
	was := s.live.Swap(o)
	if o.LogLevel != nil {
		o.LogLevel.Set(o.Level)
	}
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

// cut keeps what a client sent at a length that no setting exceeds.
func cut(b []byte) string { return string(b[:min(len(b), 128)]) }
