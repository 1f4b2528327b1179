package model

import (
	"fmt"
	"path"
	"sort"
	"strconv"
	"strings"
)

// item is something that a walk shows.
type item struct {
	key   string // names it for as long as it is there
	at    int64  // its place in the order in which this model walks
	reply Reply
}

// walkOptions are those of DQSCAN, DQDEAD, DQQUEUES and SCAN.
type walkOptions struct {
	queue, cursor        string
	match, state, worker string
	count                int64
	full, withLen        bool
	kind                 string
}

// parseWalk reads the arguments of the commands that have a cursor.
func parseWalk(args []string) (o walkOptions, bad *Reply) {
	refuse := func(r Reply) (walkOptions, *Reply) { return o, &r }
	o.count = 100
	rest := args[1:]
	slots := map[string]string{"MATCH": "match", "COUNT": "count"}
	switch strings.ToUpper(args[0]) {
	case "DQSCAN":
		slots["STATE"], slots["WORKER"], slots["FULL"] = "state", "worker", "full"
	case "DQDEAD":
		slots = map[string]string{"COUNT": "count"}
	case "DQQUEUES":
		slots["WITHLEN"] = "withlen"
	case "SCAN":
		slots["TYPE"] = "type"
		o.count = 10
	}
	queued := slots["STATE"] != "" || slots["MATCH"] == ""
	if len(rest) < 1 || queued && len(rest) < 2 {
		return refuse(fail("ERR", "wrong number of arguments"))
	}
	if queued {
		o.queue, rest = rest[0], rest[1:]
		if !validName(o.queue, 255) {
			return refuse(fail("BADID", "queue"))
		}
	}
	o.cursor, rest = rest[0], rest[1:]
	if _, err := strconv.ParseUint(o.cursor, 10, 64); err != nil {
		return refuse(fail("ERR", "invalid cursor"))
	}
	for w := (&words{args: rest}); !w.empty(); {
		name, ok := w.option(slots)
		if !ok {
			return refuse(errSyntax)
		}
		switch name {
		case "FULL":
			o.full = true
			continue
		case "WITHLEN":
			o.withLen = true
			continue
		case "STATE":
			var bad *Reply
			if o.state, bad = parseState(w); bad != nil {
				return o, bad
			}
			continue
		}
		value, ok := w.next()
		if !ok {
			return refuse(errSyntax)
		}
		switch name {
		case "MATCH":
			o.match = value
		case "WORKER":
			o.worker = value
			if !validName(value, 255) {
				return refuse(fail("BADID", "worker"))
			}
		case "TYPE":
			o.kind = value
		case "COUNT":
			if o.count, ok = parseInt(value, 1, 1<<53); !ok {
				return refuse(errNumber)
			}
			o.count = min(o.count, 10000)
		}
	}
	return o, nil
}

// fits is MATCH for patterns that path.Match reads as Redis does.
func (o *walkOptions) fits(name string) bool {
	ok, _ := path.Match(o.match, strings.ReplaceAll(name, "/", "_"))
	return ok || o.match == ""
}

// walkItems lists all that a walk is to show if nothing changes meanwhile.
func (m *Model) walkItems(args []string) (items []item, bad *Reply) {
	o, bad := parseWalk(args)
	if bad != nil {
		return nil, bad
	}
	switch strings.ToUpper(args[0]) {
	case "DQQUEUES", "SCAN":
		for name := range m.counts {
			if !o.fits(name) || o.kind != "" && !strings.EqualFold(o.kind, "dqueue") {
				continue
			}
			reply := bulk(name)
			if o.withLen {
				reply = array(reply, number(m.liveCount(name)))
			}
			items = append(items, item{name, m.counts[name].born, reply})
		}
	case "DQDEAD":
		for _, j := range m.inState(o.queue, "dead") {
			died := oneOf(number(ceilDiv(m.toWall(instant{ns: j.diedNs}), ms)), number(ceilDiv(j.diedWall, ms)))
			items = append(items, item{fmt.Sprint(j.id, j.died), j.died,
				array(m.idReply(j), died, number(int64(j.attempt)), bulk(j.cause), reasonReply(j), bulk(j.payload))})
		}
	default:
		for _, j := range m.jobs {
			if j.queue != o.queue || !o.fits(j.id) || o.state != j.state && (o.state != "" || j.state == "dead") ||
				o.worker != "" && (j.state != "leased" || j.worker != o.worker) {
				continue
			}
			i := item{j.id, j.accepted, m.idReply(j)}
			if j.state == "dead" {
				i.key, i.at = fmt.Sprint(j.id, j.died), j.died
			}
			if o.full {
				i.reply = m.jobMap(j)
			}
			items = append(items, i)
		}
	}
	sort.Slice(items, func(a, b int) bool { return items[a].at < items[b].at })
	return items, nil
}

// page answers a part of a walk. A server may cut its parts elsewhere; a Subject that is a model needs some way.
func (m *Model) page(args []string) Reply {
	items, bad := m.walkItems(args)
	if bad != nil {
		return *bad
	}
	o, _ := parseWalk(args)
	after, _ := strconv.ParseInt(o.cursor, 10, 64)
	page := array()
	for _, i := range items {
		if i.at <= after {
			continue
		}
		if int64(len(page.Items)) == o.count {
			return array(decimal(after), page)
		}
		page.Items, after = append(page.Items, i.reply), i.at
	}
	return array(bulk("0"), page)
}

func (m *Model) dbsize(args []string) Reply {
	if len(args) != 1 {
		return fail("ERR", "wrong number of arguments")
	}
	return number(int64(len(m.counts)))
}

func (m *Model) exists(args []string) Reply {
	if len(args) < 2 {
		return fail("ERR", "wrong number of arguments")
	}
	n := int64(0)
	for _, name := range args[1:] {
		if m.counts[name] != nil {
			n++
		}
	}
	return number(n)
}

func (m *Model) typeOf(args []string) Reply {
	switch {
	case len(args) != 2:
		return fail("ERR", "wrong number of arguments")
	case m.counts[args[1]] == nil:
		return status("none")
	}
	return status("dqueue")
}
