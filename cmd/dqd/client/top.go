package client

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	topEvery  = 2 * time.Second
	topQueues = 1000 // the largest, which are looked at
)

// Top is the sub-command: it shows what is ready, late, leased and dead, now; on a
// terminal again every two seconds, until somebody types q or Ctrl-C.
func Top(args []string, stdout, stderr io.Writer) int {
	var s server
	f, once := s.topFlags()
	if _, err := parse(f, args, "top [--once]", 0, 0); err != nil {
		return exit(err, stderr)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	c, err := s.connect(ctx)
	if err != nil {
		return exit(err, stderr)
	}
	if _, _, ok := terminal(stdout); !*once && ok {
		ctx, quit := context.WithCancel(ctx)
		defer quit()
		restore := untilQuit(os.Stdin, quit)
		err := s.live(ctx, c, stdout)
		restore()
		return exit(err, stderr)
	}
	defer c.close()
	v, err := c.look(ctx)
	if err == nil {
		_, err = io.WriteString(stdout, strings.Join(v.lines(v.totals(), 0, 0), "\n")+"\n")
	}
	return exit(err, stderr)
}

// TopFlags returns the flags of top, for its help.
func TopFlags() *flag.FlagSet {
	f, _ := new(server).topFlags()
	return f
}

func (s *server) topFlags() (f *flag.FlagSet, once *bool) {
	f = s.flags()
	return f, f.Bool("once", false, "print it once, as is done when the output is no terminal")
}

// Sequences that terminals know.
const (
	beginScreen = "\x1b[?1049h\x1b[?25l"
	endScreen   = "\x1b[?25h\x1b[?1049l"
	home        = "\x1b[H"
	clearLine   = "\x1b[K"
	clearRest   = "\x1b[J"
	bold, red   = "\x1b[1m", "\x1b[31m"
	plain       = "\x1b[0m"
)

// live shows the view until ctx ends. While there is no connection it says so, and tries
// again at each turn. It closes c.
func (s *server) live(ctx context.Context, c *conn, w io.Writer) error {
	color := os.Getenv("NO_COLOR") == ""
	io.WriteString(w, beginScreen)
	defer io.WriteString(w, endScreen)
	tick := time.NewTicker(topEvery)
	defer tick.Stop()
	for before := (*view)(nil); ; {
		var v *view
		var err error
		if c == nil {
			c, err = s.connect(ctx)
		}
		if err == nil {
			// A server that does not answer holds nobody up.
			rdb := c.rdb
			unbind := context.AfterFunc(ctx, func() { rdb.Close() })
			v, err = c.look(ctx)
			unbind()
		}
		if (err != nil || ctx.Err() != nil) && c != nil {
			c.close()
			c = nil
		}
		if ctx.Err() != nil {
			return nil
		}
		rows, columns, _ := terminal(w)
		rows, columns = max(rows, 5), max(columns, 20)
		lines := []string{cut("no connection"+alarm+"   "+shown(fmt.Sprint(err), false), columns)}
		if err == nil {
			lines = v.lines(v.rates(before), rows, columns)
		}
		var b strings.Builder
		b.WriteString(home)
		for i, line := range lines {
			if i > 0 {
				b.WriteString("\r\n")
			}
			b.WriteString(paint(line, i, color) + clearLine)
		}
		b.WriteString(clearRest)
		if _, err := io.WriteString(w, b.String()); err != nil {
			return err
		}
		before = v
		select {
		case <-ctx.Done(): // seen by the next look
		case <-tick.C:
		}
	}
}

// paint marks the head of the table, and what is wrong.
func paint(line string, i int, color bool) string {
	switch {
	case !color:
		return line
	case i == headLines:
		return bold + line + plain
	case i < headLines && strings.Contains(line, alarm):
		return red + line + plain
	}
	return line
}

// view is what the server said at one moment.
type view struct {
	addr   string
	now    int64 // Unix ms
	at     time.Time
	info   fields
	clock  fields
	all    fields // DQSTATS of all queues
	queues []queue
	others int  // queues that were not looked at
	more   bool // and there are more, of which not even the sizes are known
}

// look asks the server.
func (c *conn) look(ctx context.Context) (v *view, err error) {
	v = &view{addr: c.server.addr(), at: time.Now()}
	if v.info, err = c.info(ctx); err != nil {
		return nil, err
	}
	reply, err := c.do(ctx, "DQSTATS")
	if err != nil {
		return nil, err
	}
	v.all, _ = fieldsOf(reply)
	all, more, err := c.queues(ctx, "*")
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b queue) int { return cmp.Or(cmp.Compare(b.live, a.live), cmp.Compare(a.name, b.name)) })
	v.others, v.more = max(len(all)-topQueues, 0), more
	if v.queues, err = c.stats(ctx, all[:len(all)-v.others]); err != nil {
		return nil, err
	}
	if v.now, v.clock, err = c.now(ctx); err != nil {
		return nil, err
	}
	// First what is late, then what is at work, then what waits.
	slices.SortFunc(v.queues, func(a, b queue) int {
		return cmp.Or(
			cmp.Compare(b.num("oldest-ready-ms"), a.num("oldest-ready-ms")), cmp.Compare(b.num("ready"), a.num("ready")),
			cmp.Compare(b.num("leased"), a.num("leased")), cmp.Compare(b.live, a.live), cmp.Compare(a.name, b.name))
	})
	return v, nil
}

// alarm marks a line of the head that says that something is wrong.
const alarm = "!"

// headLines is how many lines stand above the table, an empty one with them.
const headLines = 5

// counted are the counters that are shown, first what matters most.
var counted = []string{"added", "delivered", "acked", "nacked", "lease-timeouts", "cancelled", "expired"}

// totals shows the counters as they are.
func (v *view) totals() []item {
	items := []item{{"totals since the first job", 0}}
	for rank, name := range counted {
		items = append(items, item{fmt.Sprintf("%s %d", name, v.all.num(name)), rank})
	}
	return items
}

// rates shows how fast the counters went up since an earlier view; nil = there is none yet.
func (v *view) rates(before *view) []item {
	var items []item
	for rank, name := range counted {
		rate := "-"
		if before != nil {
			more := float64(v.all.num(name) - before.all.num(name))
			rate = fmt.Sprintf("%.0f/s", max(more/v.at.Sub(before.at).Seconds(), 0))
		}
		items = append(items, item{name + " " + rate, rank})
	}
	return items
}

// lines is the view as text of at most rows lines and columns characters, with its counters
// as they are given; 0 = as many as there are. What matters least is left out where there is
// little room.
func (v *view) lines(counters []item, rows, columns int) []string {
	n := func(name string) int64 { return v.all.num(name) }
	first := []item{
		{fmt.Sprintf("dqd %s at %s", v.info.text("dqd_version"), v.addr), 2},
		{"up " + span(v.info.num("uptime_in_seconds")*1000), 4},
		{fmt.Sprintf("clients %s, waiting pops %d", v.info.text("connected_clients"), n("blocked")), 3},
	}
	state := "clock " + v.clock.text("state")
	if v.clock.text("state") != "ok" {
		state += alarm
	}
	first = append(first, item{state, 1})
	for _, guard := range []string{"disk", "maxmemory"} {
		if g := v.info.text(guard + "_guard"); g != "ok" && g != "" {
			first = append(first, item{"adds refused: " + guard + alarm, 0})
		}
	}
	late := "-"
	if n("ready") > 0 {
		late = span(n("oldest-ready-ms"))
	}
	lines := []string{
		fit(columns, first...),
		fit(columns, item{fmt.Sprintf("jobs    ready %d", n("ready")), 0}, item{"late " + late, 1}, item{fmt.Sprintf("leased %d", n("leased")), 2},
			item{fmt.Sprintf("delayed %d", n("delayed")), 4}, item{fmt.Sprintf("dead %d", n("dead")), 3}, item{"payloads " + size(n("bytes")), 5}),
		fit(columns, item{"lateness of deliveries", 0}, item{"p50 " + measured(n("late-p50-us")), 2}, item{"p99 " + measured(n("late-p99-us")), 1}, item{"max " + measured(n("late-max-us")), 3}),
		fit(columns, counters...),
		"",
	}
	lines = append(lines, queueTable(v.queues, v.now, columns)...)
	more := v.others
	if rows > 0 && len(lines) > rows {
		more += len(lines) - rows + 1
		lines = lines[:rows-1]
	} else if more == 0 && !v.more {
		return lines
	}
	last := fmt.Sprintf("… %d more queues: dqd queue ls", more)
	if v.more {
		last = fmt.Sprintf("… at least %d more queues, these are of the first %d: dqd queue ls", more+1, mostQueues)
	}
	return append(lines, fit(columns, item{last, 0}))
}
