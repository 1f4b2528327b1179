// Command benchmarks measures dqd beside its peers: the same client code, the
// same machine, the same minute. It starts every server it needs as a child
// process in a temporary directory, runs them in turn (round by round, never two
// under load at once), and judges dqd against the bars of each case.
//
//	go run ./benchmarks                       every case but the long ones
//	go run ./benchmarks -list
//	go run ./benchmarks -run 'add/|cycle' -rounds 5 -seconds 10 -json out.json
//	go run ./benchmarks -run waiting -jobs 10000000
//	go run ./benchmarks -run 'restart|store|look|extend|bulk|connections'
//
// README.md says what each case does and what it does not show.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// options are the choices of one run; main fills them from flags.
type options struct {
	run     string        // regexp over case names
	rounds  int           // rounds per case; figures are medians over them
	seconds float64       // measured seconds per round and server
	warmup  time.Duration // load before the measured seconds, not counted
	timeout time.Duration // bound of one case
	json    string        // file for the report as JSON
	dqd     string        // binary of dqd; built from cmd/dqd if empty
	dqdArgs string        // more arguments for `dqd serve`, split on spaces
	dir     string        // where the servers' directories go: its disk is measured
	keep    bool          // leave the servers' directories behind

	producers int // cycle: connections that add
	workers   int // cycle: connections that pop and ack
	inflight  int // cycle: jobs added and not yet acked
	consumers int // lateness: connections that pop and ack
	idlers    int // idle: connections that wait
	jobs      int // waiting: jobs that wait
	loaded    int // jobs that a server is given before other cases begin

	connections int // connections: how many are idle

	poll time.Duration // how often a worker asks Redis when nothing is due
}

func (o options) length() time.Duration {
	return time.Duration(o.seconds * float64(time.Second))
}

func main() {
	if len(os.Args) > 1 {
		if child := children[os.Args[1]]; child != nil {
			if err := child(os.Args[2:]); err != nil {
				fmt.Fprintf(os.Stderr, "benchmarks %s: %v\n", os.Args[1], err)
				os.Exit(1)
			}
			return
		}
	}
	// A first Ctrl-C ends the run and clears up; stop() gives a second one its
	// usual meaning.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)

	err := benchmark(ctx, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "benchmarks: interrupted")
		os.Exit(130)
	default:
		fmt.Fprintln(os.Stderr, "benchmarks:", err)
		os.Exit(1)
	}
}

// children are the parts of this program that it starts as processes of their own.
var children = map[string]func([]string) error{"noop": noopMain, "burn": burnMain}

// benchmark is the whole run: parse, start, measure, report, clear up.
func benchmark(ctx context.Context, args []string, out, log io.Writer) error {
	o, list, err := parseFlags(args, log)
	if err != nil {
		return err
	}
	chosen, err := choose(allCases(o), o.run)
	if err != nil {
		return err
	}
	if list {
		printCases(out, chosen, allCases(o))
		return nil
	}
	if len(chosen) == 0 {
		return fmt.Errorf("no case matches -run %q; -list shows them", o.run)
	}

	l, err := newLauncher(ctx, o, log)
	if err != nil {
		return err
	}
	defer l.close()

	rep := report{Started: time.Now(), Options: describeOptions(o), Environment: environment(l)}
	rep.Environment.print(out)
	var failed error
	for _, c := range chosen {
		fmt.Fprintf(log, "%s: %s\n", c.name, c.work)
		load := firstLine("/proc/loadavg")
		cctx, cancel := context.WithTimeout(ctx, o.timeout)
		res, err := c.run(cctx, &bench{options: o, launcher: l, log: log, name: c.name})
		cancel()
		l.stopAll()
		if err != nil {
			if ctx.Err() != nil {
				failed = ctx.Err()
				break // report what was finished
			}
			if missing := (notMeasured{}); errors.As(err, &missing) {
				fmt.Fprintln(log, "  not measured:", missing)
				rep.Cases = append(rep.Cases, caseReport{Name: c.name, Work: c.work, Load: load, Missing: missing.Error()})
				continue
			}
			err = fmt.Errorf("%s: %w", c.name, err)
			fmt.Fprintln(log, "benchmarks:", err)
			failed = errors.Join(failed, err)
			rep.Cases = append(rep.Cases, caseReport{Name: c.name, Work: c.work, Load: load, Error: err.Error()})
			continue
		}
		rep.Cases = append(rep.Cases, res.reports(c, load)...)
	}
	if len(rep.Cases) == 0 {
		return failed
	}
	rep.print(out)
	if o.json != "" {
		if err := rep.writeJSON(o.json); err != nil {
			return errors.Join(failed, err)
		}
	}
	return failed
}

func parseFlags(args []string, log io.Writer) (o options, list bool, err error) {
	fs := flag.NewFlagSet("benchmarks", flag.ContinueOnError)
	fs.SetOutput(log)
	fs.StringVar(&o.run, "run", "", "run only cases whose name matches this `regexp`; long cases run only when it contains their name")
	fs.IntVar(&o.rounds, "rounds", 3, "rounds per case; the servers take turns, figures are medians")
	fs.Float64Var(&o.seconds, "seconds", 5, "measured seconds per round and server")
	fs.DurationVar(&o.warmup, "warmup", time.Second, "load before the measured seconds")
	fs.DurationVar(&o.timeout, "timeout", 30*time.Minute, "bound of one case")
	fs.StringVar(&o.json, "json", "", "also write the report, with every sample, to this `file`")
	fs.StringVar(&o.dqd, "dqd", "", "`path` of the dqd binary (default: go build dqd/cmd/dqd)")
	fs.StringVar(&o.dqdArgs, "dqd-args", "", "more `arguments` for dqd serve, split on spaces")
	fs.StringVar(&o.dir, "dir", os.TempDir(), "`directory` for the servers' data: its disk is what fsync meets")
	fs.BoolVar(&o.keep, "keep", false, "keep the servers' directories (data and logs)")
	fs.IntVar(&o.producers, "producers", 8, "cycle: connections that add")
	fs.IntVar(&o.workers, "workers", 16, "cycle: connections that pop and ack")
	fs.IntVar(&o.inflight, "inflight", 100_000, "cycle: jobs added and not yet acked")
	fs.IntVar(&o.consumers, "consumers", 8, "lateness, waiting: connections that pop and ack")
	fs.IntVar(&o.idlers, "idlers", 64, "idle: connections that wait")
	fs.DurationVar(&o.poll, "poll", time.Millisecond, "how often each worker asks Redis while nothing is due")
	fs.IntVar(&o.jobs, "jobs", 10_000_000, "waiting: jobs that wait")
	fs.IntVar(&o.loaded, "loaded", 1_000_000, "cancel, restart, store, look, extend, bulk: jobs that are loaded before")
	fs.IntVar(&o.connections, "connections", 10_000, "connections: how many are idle")
	fs.BoolVar(&list, "list", false, "list the cases and stop")
	if err := fs.Parse(args); err != nil {
		return o, false, err
	}
	if fs.NArg() > 0 {
		return o, false, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	for _, n := range []struct {
		name  string
		value int
	}{{"rounds", o.rounds}, {"producers", o.producers}, {"workers", o.workers}, {"consumers", o.consumers}, {"idlers", o.idlers}} {
		if n.value < 1 || n.value > 10_000 {
			return o, false, fmt.Errorf("-%s %d: want 1 to 10000", n.name, n.value)
		}
	}
	if o.seconds < 0.1 || o.seconds > 3600 {
		return o, false, fmt.Errorf("-seconds %g: want 0.1 to 3600", o.seconds)
	}
	if o.inflight < cycleBatch {
		return o, false, fmt.Errorf("-inflight %d: want at least %d, one batch", o.inflight, cycleBatch)
	}
	if o.jobs < 2 {
		return o, false, fmt.Errorf("-jobs %d: want at least 2", o.jobs)
	}
	if o.loaded < extendBatch {
		return o, false, fmt.Errorf("-loaded %d: want at least %d", o.loaded, extendBatch)
	}
	if o.connections < 1 || o.connections > 50_000 {
		return o, false, fmt.Errorf("-connections %d: want 1 to 50000", o.connections)
	}
	return o, list, nil
}
