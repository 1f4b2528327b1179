package server

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"dqd/commands"
	"dqd/server/guard"
	"dqd/server/resp"
)

// Options configure a Server. The zero value serves; fields left zero get the
// defaults written beside them. Some of them are settings: see settings.go.
type Options struct {
	// Password is asked of every client when it is not empty. It appears in no
	// log, INFO or CONFIG GET.
	Password string
	// Unprotected serves clients from other machines although there is no
	// password (protected-mode no).
	Unprotected bool

	// MaxClients bounds the connections (10,000), MostClients what CONFIG SET
	// may make of it (1,000,000).
	MaxClients, MostClients int
	// Memory is what the process may use; INFO shows it as maxmemory (1 GiB).
	Memory int64
	// ClientBuffers bounds the buffers of all clients together; beyond it the
	// largest is closed (a quarter of Memory).
	ClientBuffers int64
	// OutputBuffer closes a client that has so much unread (32 MiB).
	OutputBuffer int
	// OutputPause is the amount of unread output beyond which no more commands
	// of a client are run until it reads (1 MiB).
	OutputPause int
	// PendingCalls and PendingBytes bound the unanswered commands of a client;
	// at the bound its socket is left alone (4,096; 16 MiB).
	PendingCalls int
	PendingBytes int
	// StalledInput bounds what is read from a client whose commands have to
	// wait, only to see it leave (256 KiB).
	StalledInput int

	// CommandTimeout is granted to complete a command once begun (30 s).
	CommandTimeout time.Duration
	// WriteTimeout is granted for each 64 KiB of output (10 s).
	WriteTimeout time.Duration
	// LoadingWait is how long a command waits for the shard (4 s).
	LoadingWait time.Duration
	// KeepAlive is the time between probes of a silent client, and the time
	// that sent bytes may stay unacknowledged (60 s).
	KeepAlive time.Duration
	// Timeout closes a client that has sent nothing for so long and waits for
	// nothing, in whole seconds (0 = never).
	Timeout time.Duration

	// SlowerThan is the time from which on a command gets into the slow log
	// (10 ms); below 0 none does.
	SlowerThan time.Duration
	// SlowLog is how many entries the slow log keeps (128).
	SlowLog int
	// LatencyEvent is the time from which on LATENCY notes an event (100 ms);
	// below 0 it notes none.
	LatencyEvent time.Duration

	// Cluster answers CLUSTER as a Redis Cluster of one node that has all slots,
	// for clients that insist on one.
	Cluster bool

	// Limits bound the framing (resp.DefaultLimits).
	Limits resp.Limits
	// Arguments bound what commands accept (commands.DefaultLimits).
	Arguments *commands.Limits

	// Guard refuses adds when disk or memory run short (it never does).
	Guard *guard.Guard

	// Wall is the clock that TIME shows, in nanoseconds since 1970 (the OS's).
	Wall func() int64
	// ClockTrust is shown by CONFIG GET, in ms: the shard acts on it.
	ClockTrust time.Duration
	// Version is dqd's own ("dev").
	Version string
	// ConfigFile is shown by INFO.
	ConfigFile string
	// What follows is for whoever makes the server; CONFIG GET shows it. An
	// HTTPPort below 0 means none; of Bind and HTTPBind "*" means all addresses.
	Bind         []string
	Port         int
	HTTPBind     string
	HTTPPort     int
	Dir          string
	PasswordFile string
	MinDiskFree  guard.MinFree
	// Stop is called once when a client asks for SHUTDOWN, and returns at once;
	// nil = the server cannot be asked to end.
	Stop func()
	// Log takes the events (slog.Default).
	Log *slog.Logger
	// Level is that of the log, and LogLevel what has the log heed it (nil = the
	// level is fixed).
	Level    slog.Level
	LogLevel *slog.LevelVar

	// settled: all settings have their values, zero is one as any other.
	settled bool
}

// withDefaults fills in what was left out.
func (o Options) withDefaults() Options {
	def(&o.MaxClients, 10_000)
	def(&o.MostClients, max(maxClientsMost, o.MaxClients))
	def(&o.Memory, 1<<30)
	def(&o.ClientBuffers, o.Memory/4)
	def(&o.OutputBuffer, 32<<20)
	def(&o.OutputPause, 1<<20)
	def(&o.PendingCalls, 4096)
	def(&o.PendingBytes, 16<<20)
	def(&o.StalledInput, 256<<10)
	def(&o.CommandTimeout, 30*time.Second)
	def(&o.WriteTimeout, 10*time.Second)
	def(&o.LoadingWait, 4*time.Second)
	def(&o.KeepAlive, time.Minute)
	if !o.settled {
		def(&o.SlowerThan, 10*time.Millisecond)
		def(&o.SlowLog, 128)
		def(&o.LatencyEvent, 100*time.Millisecond)
	}
	def(&o.Limits, resp.DefaultLimits())
	def(&o.Version, "dev")
	if o.Arguments == nil {
		o.Arguments = commands.DefaultLimits()
	}
	if o.Guard == nil {
		o.Guard = guard.New(guard.Options{})
	}
	if o.Wall == nil {
		o.Wall = func() int64 { return time.Now().UnixNano() }
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o
}

func def[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// validate checks options that have their defaults.
func (o Options) validate() error {
	for _, check := range []struct {
		name  string
		value int64
		min   int64
	}{
		{"MaxClients", int64(o.MaxClients), 1},
		{"MostClients", int64(o.MostClients), int64(o.MaxClients)},
		{"Memory", o.Memory, 16 << 20},
		{"ClientBuffers", o.ClientBuffers, 1 << 20},
		{"OutputBuffer", int64(o.OutputBuffer), 1 << 10},
		{"OutputPause", int64(o.OutputPause), 1},
		{"PendingCalls", int64(o.PendingCalls), 1},
		{"PendingBytes", int64(o.PendingBytes), 1},
		{"StalledInput", int64(o.StalledInput), 1},
		{"CommandTimeout", int64(o.CommandTimeout), 1},
		{"WriteTimeout", int64(o.WriteTimeout), 1},
		{"LoadingWait", int64(o.LoadingWait), 1},
		{"KeepAlive", int64(o.KeepAlive), int64(time.Second)},
		{"Timeout", int64(o.Timeout), 0},
		{"SlowLog", int64(o.SlowLog), 0},
		{"Limits.Args", int64(o.Limits.Args), 1},
		{"Limits.Bulk", int64(o.Limits.Bulk), 1},
		{"Limits.Inline", int64(o.Limits.Inline), 1},
		{"Limits.Command", int64(o.Limits.Command), 1},
	} {
		if check.value < check.min {
			return fmt.Errorf("server: option %s is %d, use %d or more", check.name, check.value, check.min)
		}
	}
	if o.Limits.Unauthenticated {
		return errors.New("server: Limits.Unauthenticated is set by the server itself")
	}
	return nil
}
