package client

import (
	"context"
	"strconv"
	"strings"
)

// fields is a reply that is a map.
type fields map[string]any

// fieldsOf takes a reply that is a map in RESP2; ok = it is one.
func fieldsOf(reply any) (f fields, ok bool) {
	list, ok := reply.([]any)
	f = make(fields, len(list)/2)
	for i := 0; i+1 < len(list); i += 2 {
		name, _ := list[i].(string)
		f[name] = list[i+1]
	}
	return f, ok
}

// num returns a field that is a number, 0 if it is null or missing.
func (f fields) num(name string) int64 {
	switch v := f[name].(type) {
	case int64:
		return v
	case string:
		n, _ := strconv.ParseInt(v, 10, 64)
		return n
	}
	return 0
}

// text returns a field as it is written, "" if it is null or missing.
func (f fields) text(name string) string {
	switch v := f[name].(type) {
	case int64:
		return strconv.FormatInt(v, 10)
	case string:
		return v
	}
	return ""
}

// info reads INFO.
func (c *conn) info(ctx context.Context) (fields, error) {
	reply, err := c.do(ctx, "INFO")
	if err != nil {
		return nil, err
	}
	text, _ := reply.(string)
	f := fields{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			f[name] = value
		}
	}
	if f.text("dqd_version") == "" {
		return nil, errNoDqd
	}
	return f, nil
}

// now asks for the time that due times are compared with, in Unix ms, rounded down.
func (c *conn) now(ctx context.Context) (ms int64, clock fields, err error) {
	reply, err := c.do(ctx, "DQCLOCK")
	if err != nil {
		return 0, nil, err
	}
	clock, ok := fieldsOf(reply)
	if !ok {
		return 0, nil, errNoDqd
	}
	return clock.num("now-ns") / 1e6, clock, nil
}

// queue is a queue as DQSTATS shows it.
type queue struct {
	name string
	live int64
	fields
}

// mostQueues is how many queues are looked at; a server may have a million.
const mostQueues = 10_000

// queues returns the queues whose names fit the pattern; more = there are more.
func (c *conn) queues(ctx context.Context, pattern string) (all []queue, more bool, err error) {
	for cursor := "0"; ; {
		reply, err := c.do(ctx, "DQQUEUES", cursor, "MATCH", pattern, "COUNT", 1000, "WITHLEN")
		if err != nil {
			return nil, false, err
		}
		page, _ := reply.([]any)
		if len(page) != 2 {
			return nil, false, errNoDqd
		}
		cursor, _ = page[0].(string)
		items, _ := page[1].([]any)
		for _, item := range items {
			pair, _ := item.([]any)
			if len(pair) != 2 {
				return nil, false, errNoDqd
			}
			q := queue{}
			q.name, _ = pair[0].(string)
			q.live, _ = pair[1].(int64)
			all = append(all, q)
		}
		if cursor == "0" {
			return all, false, nil
		}
		if len(all) >= mostQueues {
			return all[:mostQueues], true, nil
		}
	}
}

// stats fills in what DQSTATS says, and leaves out queues that are gone by now.
func (c *conn) stats(ctx context.Context, all []queue) (known []queue, err error) {
	const atOnce = 500
	for len(all) > 0 {
		part := all[:min(len(all), atOnce)]
		all = all[len(part):]
		commands := make([][]any, len(part))
		for i := range part {
			commands[i] = []any{"DQSTATS", part[i].name}
		}
		replies, err := c.all(ctx, commands)
		if err != nil {
			return nil, err
		}
		for i, reply := range replies {
			if f, ok := fieldsOf(reply); ok {
				part[i].fields = f
				known = append(known, part[i])
			}
		}
	}
	return known, nil
}
