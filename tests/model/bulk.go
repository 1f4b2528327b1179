package model

import "math"

// sliced is a command on any number of jobs, at work: it takes them in slices, between which others run. It finds its jobs when it begins, or a little later, and
// looks at each anew when its turn comes.
type sliced struct {
	queue  string
	born   int64                                  // of the queue: a dropped one that is made anew is another
	before int64                                  // jobs accepted later are not its
	find   func(m *Model) []*job                  // its jobs, in order
	take   func(m *Model, w *sliced, j *job) bool // whether it is one still
	end    func(m *Model, w *sliced) Reply        // nil = the count
	repeat bool                                   // a job that is not where it was found, but dead or live now, is looked for again

	looked  bool
	found   []spot // that are left
	slipped bool   // since it looked there was such a job
	left    int64
	done    int64
}

// spot is where a job was found.
type spot struct {
	id       string
	accepted int64
	died     int64 // 0 = live
}

// newBulk begins a command on an existing queue; of an unknown one the reply is 0.
func (m *Model) newBulk(w *sliced) (*sliced, Reply) {
	c := m.counts[w.queue]
	if c == nil {
		return nil, number(0)
	}
	w.born, w.before, w.left = c.born, m.lastAccepted, math.MaxInt64
	return w, Reply{}
}

func (m *Model) has(w *sliced) bool {
	c := m.counts[w.queue]
	return c != nil && c.born == w.born
}

// whole runs a command on many jobs with nothing in between.
func (m *Model) whole(begin func([]string) (*sliced, Reply)) func([]string) Reply {
	return func(args []string) Reply {
		w, reply := begin(args)
		for over := w == nil; !over; {
			reply, over = m.slice(w, 1)
			if !over && m.atMost > 0 && w.done == int64(m.atMost) {
				return number(w.done)
			}
		}
		return reply
	}
}

// look finds the jobs of a command.
func (m *Model) look(w *sliced) {
	w.looked, w.found = true, nil
	if !m.has(w) {
		return
	}
	for _, j := range w.find(m) {
		if j.accepted <= w.before {
			s := spot{id: j.id, accepted: j.accepted}
			if j.state == "dead" {
				s.died = j.died
			}
			w.found = append(w.found, s)
		}
	}
}

// slice takes the next n jobs that were found, or ends the command. Behind the last one that it may take it ends at once.
func (m *Model) slice(w *sliced, n int) (reply Reply, over bool) {
	if !w.looked {
		m.look(w)
	}
	if !m.has(w) {
		w.left = 0
	}
	last := len(w.found) == 0
	for ; n > 0 && len(w.found) > 0 && w.left > 0; n-- {
		s := w.found[0]
		w.found = w.found[1:]
		if j := m.inPlace(w.queue, s); j == nil {
			w.slipped = true
		} else if w.take(m, w, j) {
			w.left--
			w.done++
		}
	}
	switch {
	case !last && w.left > 0:
		return Reply{}, false
	case w.repeat && w.slipped && w.left > 0:
		w.slipped, w.looked = false, false
		return Reply{}, false
	case w.end != nil:
		return w.end(m, w), true
	}
	return number(w.done), true
}

// inPlace is the job that was found at a spot, if it is there still.
func (m *Model) inPlace(queue string, s spot) *job {
	for _, j := range m.jobs {
		if j.queue == queue && j.id == s.id && j.accepted == s.accepted && (j.state == "dead") == (s.died > 0) && (s.died == 0 || j.died == s.died) {
			return j
		}
	}
	return nil
}
