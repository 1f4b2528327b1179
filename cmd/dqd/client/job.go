package client

import (
	"context"
	"fmt"
	"io"
	"strings"
)

// Job is the sub-command: job show shows a job.
func Job(args []string, stdout, stderr io.Writer) int {
	var s server
	sub, args := word(args)
	if sub != "show" {
		return exit(wrongWord(sub, "write dqd job show QUEUE ID", "show"), stderr)
	}
	rest, err := parse(s.flags(), args, "job show QUEUE ID", 2, 0)
	if err != nil {
		return exit(err, stderr)
	}
	return s.print(stdout, stderr, func(ctx context.Context, c *conn) (string, error) { return showJob(ctx, c, rest[0], rest[1]) })
}

// payloadShown is how much of a payload is shown.
const payloadShown = 4096

func showJob(ctx context.Context, c *conn, queue, id string) (string, error) {
	reply, err := c.do(ctx, "DQGET", queue, id)
	if err != nil {
		return "", err
	}
	job, ok := fieldsOf(reply)
	if !ok {
		return "", fmt.Errorf("queue %s has no job %s, neither live nor dead", shown(queue, false), shown(id, false))
	}
	now, _, err := c.now(ctx)
	if err != nil {
		return "", err
	}
	var pairs [][2]string
	pairsOf, _ := reply.([]any)
	for i := 0; i+1 < len(pairsOf); i += 2 {
		name, _ := pairsOf[i].(string)
		text := job.text(name)
		switch name {
		case "due-ns", "payload":
			continue
		case "due", "created", "lease-until", "expire-at":
			if text != "" {
				text = moment(job.num(name), now)
			}
		case "late-us":
			if name = "late"; text != "" {
				text = micros(job.num("late-us"))
			}
		case "size":
			text = size(job.num(name))
		case "max-attempts":
			if text == "0" {
				text = "no limit"
			}
		case "meta":
			text = metaText(job[name])
		default:
			if text != "" {
				text = shown(text, false)
			}
		}
		if text == "" {
			text = "-"
		}
		pairs = append(pairs, [2]string{name, text})
	}
	payload := job.text("payload")
	rest := ""
	if n := len(payload); n > payloadShown {
		payload, rest = strings.ToValidUTF8(payload[:payloadShown], ""), fmt.Sprintf("\n… of %s", size(int64(n)))
	}
	return list(pairs) + "\n" + shown(payload, true) + rest + "\n", nil
}

// metaText shows META as it is written.
func metaText(meta any) string {
	list, _ := meta.([]any)
	var parts []string
	for i := 0; i+1 < len(list); i += 2 {
		name, _ := list[i].(string)
		value, _ := list[i+1].(string)
		parts = append(parts, shown(name, false)+"="+shown(value, false))
	}
	return strings.Join(parts, " ")
}
