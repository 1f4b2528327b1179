package raftfsm

import (
	"io"
	"log/slog"
	"strings"

	"github.com/hashicorp/go-hclog"
)

// raftLogger passes raft's warnings and errors to slog. Warnings become infos, and
// those of an election, which every start of a single node has, are for debugging.
func raftLogger(to *slog.Logger) hclog.Logger {
	l := hclog.NewInterceptLogger(&hclog.LoggerOptions{Name: "raft", Level: hclog.Warn, Output: io.Discard})
	l.RegisterSink(sink{to})
	return l
}

type sink struct{ to *slog.Logger }

func (s sink) Accept(name string, level hclog.Level, msg string, args ...any) {
	switch {
	case level >= hclog.Error:
		s.to.Error(name+": "+msg, args...)
	case level == hclog.Warn && strings.HasSuffix(msg, "starting election"): // also "restarting election"
		s.to.Debug(name+": "+msg, args...)
	case level == hclog.Warn:
		s.to.Info(name+": "+msg, args...)
	}
}
