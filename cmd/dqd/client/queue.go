package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Queue is the sub-command: queue ls lists queues, queue show shows one.
func Queue(args []string, stdout, stderr io.Writer) int {
	var s server
	sub, args := word(args)
	var run func(ctx context.Context, c *conn, arg string) (string, error)
	var rest []string
	var err error
	switch sub {
	case "ls":
		run = listQueues
		rest, err = parse(s.flags(), args, "queue ls [PATTERN]", 1, 1)
	case "show":
		run = showQueue
		rest, err = parse(s.flags(), args, "queue show QUEUE", 1, 0)
	default:
		err = wrongWord(sub, "write dqd queue ls [PATTERN], or dqd queue show QUEUE", "ls", "show")
	}
	if err != nil {
		return exit(err, stderr)
	}
	arg := ""
	if len(rest) > 0 {
		arg = rest[0]
	}
	return s.print(stdout, stderr, func(ctx context.Context, c *conn) (string, error) { return run(ctx, c, arg) })
}

// wrongWord says what is wrong with the word behind a sub-command, if there is one.
func wrongWord(word, how string, words ...string) error {
	if word == "" {
		return usage{errors.New(how)}
	}
	return usage{fmt.Errorf("unknown word %q%s: %s", word, DidYouMean(word, words, strconv.Quote), how)}
}

// print connects, and prints what text returns.
func (s *server) print(stdout, stderr io.Writer, text func(ctx context.Context, c *conn) (string, error)) int {
	ctx := context.Background()
	c, err := s.connect(ctx)
	if err != nil {
		return exit(err, stderr)
	}
	defer c.close()
	out, err := text(ctx, c)
	if err == nil {
		_, err = io.WriteString(stdout, out)
	}
	return exit(err, stderr)
}

func listQueues(ctx context.Context, c *conn, pattern string) (string, error) {
	all, more, err := c.queues(ctx, cmp.Or(pattern, "*"))
	if err == nil {
		all, err = c.stats(ctx, all)
	}
	if err != nil {
		return "", err
	}
	now, _, err := c.now(ctx)
	if err != nil {
		return "", err
	}
	slices.SortFunc(all, func(a, b queue) int { return cmp.Compare(a.name, b.name) })
	out := strings.Join(queueTable(all, now, 0), "\n") + "\n"
	if more {
		out += fmt.Sprintf("… and more than these %d: give a pattern, such as dqd queue ls 'mail*'\n", mostQueues)
	}
	return out, nil
}

// queueTable shows queues, a line each.
func queueTable(all []queue, now int64, width int) []string {
	rows := make([][]string, len(all))
	for i := range all {
		rows[i] = all[i].row(now)
	}
	return table([]column{
		{head: "QUEUE", left: true}, {head: "READY"}, {head: "LATE", rank: 1}, {head: "LEASED", rank: 2}, {head: "DELAYED", rank: 4}, {head: "NEXT", rank: 6},
		{head: "DEAD", rank: 3}, {head: "WAITING", rank: 7}, {head: "PAUSED", left: true, rank: 5},
	}, rows, width)
}

// row shows a queue: LATE is how long ago its oldest ready job was due, NEXT when its
// next one will be, WAITING how many pops wait for it.
func (q *queue) row(now int64) []string {
	late, next, paused := "-", "-", "-"
	if q.num("ready") > 0 {
		late = span(q.num("oldest-ready-ms"))
	}
	if due := q.num("next-due"); due > 0 {
		next = span(max(due-now, 0))
	}
	if p := q.text("paused"); p != "none" {
		paused = p
	}
	return []string{
		cut(shown(q.name, false), 40), q.text("ready"), late, q.text("leased"), q.text("delayed"), next,
		q.text("dead"), q.text("blocked"), paused,
	}
}

func showQueue(ctx context.Context, c *conn, name string) (string, error) {
	replies, err := c.all(ctx, [][]any{{"DQSTATS", name}, {"DQCONFIG", "GET", name}, {"DQCONFIG", "GET", "*"}})
	if err != nil {
		return "", err
	}
	stats, ok := fieldsOf(replies[0])
	if !ok {
		return "", fmt.Errorf("there is no queue %s", shown(name, false))
	}
	now, _, err := c.now(ctx)
	if err != nil {
		return "", err
	}
	next := "none"
	if due := stats.num("next-due"); due > 0 {
		next = moment(due, now)
	}
	pairs := [][2]string{{"queue", shown(name, false)}}
	for _, field := range []string{"ready", "leased", "delayed", "dead"} {
		pairs = append(pairs, [2]string{field, stats.text(field)})
	}
	late := "-"
	if stats.num("ready") > 0 {
		late = span(stats.num("oldest-ready-ms"))
	}
	pairs = append(pairs, [][2]string{
		{"late", late},
		{"next due", next},
		{"waiting pops", stats.text("blocked")},
		{"paused", stats.text("paused")},
		{"payloads", size(stats.num("bytes"))},
	}...)
	for _, field := range []string{"added", "delivered", "acked", "noack", "nacked", "lease-timeouts", "expired", "cancelled", "purged", "pruned"} {
		pairs = append(pairs, [2]string{field, stats.text(field)})
	}
	for _, field := range []string{"late", "run"} {
		pairs = append(pairs, [2]string{field + " p50 / p99", measured(stats.num(field+"-p50-us")) + " / " + measured(stats.num(field+"-p99-us"))})
	}
	out := list(pairs) + "\n" + settings(replies[1], replies[2])
	for _, part := range []func(context.Context, *conn, *queue, int64) ([]string, error){firstJobs, firstLeased, firstDead} {
		lines, err := part(ctx, c, &queue{name: name, fields: stats}, now)
		if err != nil {
			return "", err
		}
		if len(lines) > 1 { // not only the head
			out += "\n" + strings.Join(lines, "\n") + "\n"
		}
	}
	return out, nil
}

// firstShown is how many jobs of a kind are shown of a queue.
const firstShown = 10

// firstJobs shows what will be delivered first.
func firstJobs(ctx context.Context, c *conn, q *queue, now int64) ([]string, error) {
	reply, err := c.do(ctx, "DQPEEK", q.name, "COUNT", firstShown)
	if err != nil {
		return nil, err
	}
	var rows [][]string
	jobs, _ := reply.([]any)
	for _, j := range jobs {
		job, _ := j.([]any)
		if len(job) != 4 {
			return nil, errNoDqd
		}
		id, _ := job[0].(string)
		due, _ := job[1].(int64)
		attempt, _ := job[2].(int64)
		rows = append(rows, []string{idShown(id), moment(due, now), strconv.FormatInt(attempt, 10)})
	}
	return table([]column{{head: "FIRST JOBS", left: true}, {head: "DUE", left: true}, {head: "ATTEMPT"}}, rows, 0), nil
}

// firstLeased shows who has jobs.
func firstLeased(ctx context.Context, c *conn, q *queue, now int64) ([]string, error) {
	if q.num("leased") == 0 { // else all of the queue would be looked at for them
		return nil, nil
	}
	reply, err := c.do(ctx, "DQPEEK", q.name, "STATE", "leased", "COUNT", firstShown)
	if err != nil {
		return nil, err
	}
	jobs, _ := reply.([]any)
	var commands [][]any
	for _, j := range jobs {
		job, _ := j.([]any)
		if len(job) != 4 {
			return nil, errNoDqd
		}
		commands = append(commands, []any{"DQGET", q.name, job[0], "id", "state", "token", "attempt", "worker", "lease-until"})
	}
	if len(commands) == 0 {
		return nil, nil
	}
	replies, err := c.all(ctx, commands)
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for _, reply := range replies {
		v, _ := reply.([]any)
		if len(v) != 6 || v[1] != "leased" {
			continue // it has ended meanwhile
		}
		job := fields{"id": v[0], "token": v[2], "attempt": v[3], "worker": v[4], "until": v[5]}
		worker := "-"
		if job["worker"] != nil {
			worker = idShown(job.text("worker"))
		}
		rows = append(rows, []string{idShown(job.text("id")), job.text("token"), job.text("attempt"), worker, moment(job.num("until"), now)})
	}
	return table([]column{{head: "FIRST LEASED", left: true}, {head: "TOKEN"}, {head: "ATTEMPT"}, {head: "WORKER", left: true}, {head: "LEASE UNTIL", left: true}}, rows, 0), nil
}

// firstDead shows what died first, and of what.
func firstDead(ctx context.Context, c *conn, q *queue, now int64) ([]string, error) {
	if q.num("dead") == 0 {
		return nil, nil
	}
	reply, err := c.do(ctx, "DQDEAD", q.name, 0, "COUNT", firstShown)
	if err != nil {
		return nil, err
	}
	page, _ := reply.([]any)
	if len(page) != 2 {
		return nil, errNoDqd
	}
	var rows [][]string
	jobs, _ := page[1].([]any)
	for _, j := range jobs {
		v, _ := j.([]any)
		if len(v) != 6 {
			return nil, errNoDqd
		}
		job := fields{"id": v[0], "died": v[1], "attempt": v[2], "cause": v[3], "reason": v[4]}
		reason := "-"
		if job["reason"] != nil {
			reason = cut(shown(job.text("reason"), false), 100)
		}
		rows = append(rows, []string{idShown(job.text("id")), moment(job.num("died"), now), job.text("attempt"), job.text("cause"), reason})
	}
	return table([]column{{head: "FIRST DEAD", left: true}, {head: "DIED", left: true}, {head: "ATTEMPT"}, {head: "CAUSE", left: true}, {head: "REASON", left: true}}, rows, 0), nil
}

// idShown is an id, or what somebody is called, in a table.
func idShown(id string) string { return cut(shown(id, false), 60) }

// settings shows those of a queue that are not the defaults of all.
func settings(own, defaults any) string {
	list, _ := own.([]any)
	all, _ := fieldsOf(defaults)
	var differ []string
	for i := 0; i+1 < len(list); i += 2 {
		name, _ := list[i].(string)
		value, _ := list[i+1].(string)
		if value != all.text(name) {
			differ = append(differ, name+" "+value)
		}
	}
	if len(differ) == 0 {
		return "settings: the defaults\n"
	}
	return "settings (durations in ms): " + strings.Join(differ, ", ") + ", else the defaults\n"
}
