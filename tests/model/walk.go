package model

import (
	"fmt"
	"slices"
	"strings"
)

// walk is one that goes on by its cursor, with other commands between its parts. What is there all along must be seen by its end; what is shown must be there.
type walk struct {
	args   []string
	place  int             // of the cursor in args
	unseen map[string]bool // what was there all along and was not shown yet
	parts  int
}

// partsMax is how many parts a walk may have: a run has few jobs.
const partsMax = 2000

// walks reports whether a command walks by a cursor.
func walks(command string) bool {
	return slices.Contains([]string{"DQSCAN", "DQDEAD", "DQQUEUES", "SCAN"}, strings.ToUpper(command))
}

func newWalk(m *Model, args []string) *walk {
	w := &walk{args: slices.Clone(args), place: 1, unseen: map[string]bool{}}
	if name := strings.ToUpper(args[0]); name == "DQSCAN" || name == "DQDEAD" {
		w.place = 2
	}
	items, _ := m.walkItems(w.args)
	for _, i := range items {
		w.unseen[i.key] = true
	}
	return w
}

// meanwhile forgets what is gone: it was not there all along.
func (w *walk) meanwhile(m *Model) {
	there := map[string]bool{}
	items, _ := m.walkItems(w.args)
	for _, i := range items {
		there[i.key] = true
	}
	for key := range w.unseen {
		if !there[key] {
			delete(w.unseen, key)
		}
	}
}

// take checks one part.
func (w *walk) take(m *Model, names *Names, got Reply) (over bool, text string) {
	w.parts++
	if got.Kind != Array || len(got.Items) != 2 || got.Items[0].Kind != Bulk || got.Items[1].Kind != Array {
		return false, fmt.Sprintf("want [cursor [item …]], got %v", got)
	}
	items, _ := m.walkItems(w.args)
	o, _ := parseWalk(w.args)
	if len(got.Items[1].Items) > int(o.count) {
		return false, fmt.Sprintf("%d items, COUNT is %d", len(got.Items[1].Items), o.count)
	}
	names.guessing++
	defer func() { names.guessing-- }()
	for _, shown := range got.Items[1].Items {
		fits := func(i item) bool { return names.Diff(i.reply, shown) == "" }
		i := slices.IndexFunc(items, func(i item) bool { return w.unseen[i.key] && fits(i) })
		if i < 0 { // of what looks alike, such as an id that died twice, first what was not shown yet
			i = slices.IndexFunc(items, fits)
		}
		if i < 0 {
			return false, fmt.Sprintf("%v is not there, or was shown in this part already; left: %v", shown, items)
		}
		delete(w.unseen, items[i].key)
		items = slices.Delete(items, i, i+1)
	}
	w.args[w.place] = got.Items[0].Str
	switch {
	case got.Items[0].Str != "0" && w.parts > partsMax:
		return false, "the walk does not end"
	case got.Items[0].Str != "0":
		return false, ""
	}
	for _, i := range items {
		if w.unseen[i.key] {
			return true, fmt.Sprintf("the walk is over, %v was there all along and not shown", i.reply)
		}
	}
	return true, ""
}

// goOn sends the next part of a walk.
func (r *runner) goOn(w *walk) (over bool, text string) {
	const reader = -1
	line := "c> "
	for _, s := range w.args {
		line += word(s) + " "
	}
	got, parked := r.subject.Do(reader, slices.Clone(w.args))
	r.note("")
	r.log = append(r.log, line, "#   "+got.String())
	if parked {
		return false, "a walk waits"
	}
	return w.take(r.model, r.names, got)
}

// walk begins a walk, or goes on with the one that has this number.
func (r *runner) walk(op Op) string {
	w := r.walks[op.Client]
	if w == nil {
		var args []string
		for _, a := range op.Args {
			args = append(args, a.Text)
		}
		w = newWalk(r.model, args)
		r.walks[op.Client] = w
	}
	over, text := r.goOn(w)
	if over {
		delete(r.walks, op.Client)
	}
	return text
}

// wholeWalk walks without anything between.
func (r *runner) wholeWalk(args []string) string {
	log := len(r.log)
	for w := newWalk(r.model, args); ; {
		over, text := r.goOn(w)
		switch {
		case text != "":
			return text
		case over:
			r.log = r.log[:log]
			return ""
		}
	}
}
