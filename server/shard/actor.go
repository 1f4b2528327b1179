package shard

import (
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"slices"

	"dqd/commands"
	"dqd/persist/record"
	"dqd/raftfsm"
	"dqd/server/shard/dispatch"
	"dqd/server/shard/evaluate"
)

// errStopped is the answer to what this node certainly did not do.
const errStopped = commands.Error("TRYAGAIN this node stopped leading: nothing was done")

// errShutDown is the answer to what was not done, or not to its end, when the node stops.
const errShutDown = commands.Error("TRYAGAIN the server shuts down: nothing was done")

// ErrGone is the answer to a client that is gone, and that may yet read: TCP does not
// tell who has closed its sending side from who has closed all.
const ErrGone = commands.Error("ERR the client closed its sending side before this could be done: nothing was done, keep the connection open until the answer has come")

// run is the actor: it waits for a message, and while fewer than maxFlights
// entries are in flight it evaluates what has gathered and proposes it.
func (s *Shard) run() {
	defer close(s.done)
	defer s.fatalPanic()
	for {
		select {
		case <-s.wake:
		case lead := <-s.opt.Log.Leadership():
			s.leadership(lead)
		case <-s.quit:
			s.close()
			return
		}
		s.collect()
		for len(s.flights) < maxFlights && s.memory != nil && s.boundary() {
			s.collect()
		}
	}
}

// collect takes the messages from the inbox.
func (s *Shard) collect() {
	s.mu.Lock()
	in := s.inbox
	s.inbox = inbox{calls: s.spare[:0], finished: s.spareFlights[:0], flying: in.flying}
	s.mu.Unlock()

	for _, f := range in.finished {
		s.finish(f)
	}
	clear(in.finished)
	s.spareFlights = in.finished
	for _, k := range in.known {
		if k.memory == s.memory {
			s.memory.UseKnown(k.filter)
		}
	}
	s.todo = append(s.todo, in.calls...)
	clear(in.calls)
	s.spare = in.calls
	s.back = append(s.back, in.back...)
	for _, c := range in.gone {
		s.unpark(c, ErrGone)
		s.giveUpBulks(c)
		if s.memory != nil {
			s.memory.Holders.Gone(c)
		}
	}
	s.unblock = append(s.unblock, in.unblock...)
	s.reading -= in.readDone
	if s.memory == nil {
		s.noSurvey()
	}
}

// unpark ends a client's waiting pop with a reply of its own.
func (s *Shard) unpark(c Client, reply commands.Reply) {
	w := s.parked[c]
	if w == nil {
		return
	}
	delete(s.parked, c)
	s.memory.Waiters.Remove(w)
	call := w.Call.(*Call)
	call.Reply = reply
	s.answer([]*Call{call})
}

// answer delivers calls that no entry carries, as soon as what they may have seen
// is committed: with the next entry, or when none is in flight.
func (s *Shard) answer(calls []*Call) {
	if len(s.flights) > 0 {
		s.held = append(s.held, calls...)
		return
	}
	s.deliver(calls)
}

// finish takes the result of an entry that was in flight, the oldest.
func (s *Shard) finish(f *flight) {
	s.flights = slices.Delete(s.flights, 0, 1)
	if f.err == nil {
		if f.memory == s.memory {
			s.memory.Committed(f.number)
		}
		for _, d := range f.report.Deliveries {
			s.stats.delivered(d.Name, d.LateNs)
			if s.opt.Observe.Lateness != nil {
				s.opt.Observe.Lateness(d.LateNs)
			}
		}
		for _, r := range f.report.Runs {
			s.stats.ran(r.Name, r.RunNs)
		}
	} else {
		// What this node remembers is void: its batch may or may not have happened.
		s.opt.Logger.Error("a proposal failed; the shard starts over from committed state", "error", f.err)
		s.stopLeading(errStopped)
	}
	if len(s.flights) > 0 {
		return
	}
	s.deliver(s.held)
	s.held = nil
	if s.memory == nil && s.leads && !errors.Is(f.err, raftfsm.ErrStopped) {
		s.lead() // it failed, or leadership came back while it was on its way
	}
}

// leadership follows the log's word on who leads.
func (s *Shard) leadership(lead bool) {
	// A second true means that leadership was lost and regained in between: what
	// this node remembers is void.
	s.stopLeading(errStopped)
	s.leads = lead
	if lead && len(s.flights) == 0 {
		s.lead() // else finish does, when what is in flight is settled
	}
}

// lead starts to serve: all earlier entries are applied behind the barrier, then
// a new epoch begins from that state.
func (s *Shard) lead() {
	if err := s.opt.Log.Barrier(); err != nil {
		s.opt.Logger.Warn("this node cannot lead yet", "error", err)
		return
	}
	applied := s.opt.Log.Applied()
	if applied.NextToken == 0 {
		applied.NextToken, applied.NextSeq, applied.NextQueue = 1, 1, 1
	}
	applied.Epoch++
	applied.Sequence = math.MaxUint64 // the first entry's is 0
	if s.timeline == nil {
		mono, wall := s.readClocks()
		s.timeline = newTimeline(applied.Time, applied.WallOffset, mono, wall, s.opt.ClockTrust)
	} else {
		s.timeline.resume(applied.Time, applied.WallOffset)
	}
	store := store{s.opt.State, s.opt.Fatal}
	census := countQueues(store)
	s.memory = evaluate.NewMemory(store, applied, census)
	s.scans = &scanWindows{}
	s.publish()
	s.mu.Lock()
	serving := s.serving
	s.serving = nil
	s.mu.Unlock()
	if serving != nil {
		serving()
	}
	s.opt.Logger.Info("serving", "jobs", census.Totals.Live(), "dead", census.Totals.Dead, "queues", census.Queues, "index", applied.Index)
}

// stopLeading drops all volatile state; the waiting pops get reply.
func (s *Shard) stopLeading(reply commands.Reply) {
	if s.memory == nil {
		return
	}
	answers := s.held // they may have seen what is lost now; they changed nothing
	s.held = nil
	answers = append(answers, s.stopBulks()...)
	for _, c := range answers {
		c.refuse(reply)
	}
	for c, w := range s.parked {
		call := w.Call.(*Call)
		call.Reply = reply
		answers = append(answers, call)
		delete(s.parked, c)
	}
	s.memory = nil
	s.publish()
	s.answer(answers) // behind what is in flight
}

// close answers what waits and ends.
func (s *Shard) close() {
	s.collect()
	for len(s.flights) > 0 {
		<-s.wake
		s.collect()
	}
	s.todo = append(s.todo, s.stopBulks()...)
	s.stopLeading(commands.NullArray{})
	for _, r := range s.reads {
		s.todo = append(s.todo, r.call)
	}
	for _, c := range s.todo {
		c.refuse(errShutDown)
	}
	s.deliver(s.todo)
	s.reads, s.todo = nil, nil
}

// boundary evaluates what has gathered, in one batch, and proposes or answers
// it. It reports whether there is more to do at once.
func (s *Shard) boundary() (more bool) {
	now, clock := s.stamp()
	s.wentBack = s.wentBack || clock == wentBack
	s.moved = s.moved || clock == wentBack || clock == followed
	m := s.memory
	if !m.Flying() {
		more = s.readStore(now)
	} else if s.bytes.Load() < s.opt.Early || s.wantsStore(now) {
		return false // until nothing is in flight
	}
	b := m.NewBatch(now, s.opt.Limits)
	s.survey(b)
	b.Trim()
	b.Sweep()
	var answers []*Call
	answer := func(c *Call, r commands.Reply) {
		c.Reply = r
		answers = append(answers, c)
	}
	serve := func() (again bool) {
		return b.ServeWaiters(
			func(w *dispatch.Waiter) bool { return !w.Call.(*Call).Client.Left() },
			func(w *dispatch.Waiter, r commands.Reply) {
				c := w.Call.(*Call)
				delete(s.parked, c.Client)
				answer(c, r)
			})
	}

	for _, g := range s.back {
		b.Undelivered(g.queue, g.id, g.token)
	}
	s.back = s.back[:0]
	b.ReleaseGone()
	again := serve()

	n := 0
	for ; n < len(s.todo) && n < batchCalls && b.Size() < batchBytes && b.Replied < evaluate.BatchReplies && !again; n++ {
		c := s.todo[n]
		if commands.ReadsMuch(c.Request) {
			if again = !b.Empty() || m.Flying(); again {
				break // it must see what is on its way
			}
			s.reads = append(s.reads, read{c, s.beside(b, c)})
			s.bytes.Add(-int64(c.Size))
			continue
		}
		if commands.Slices(c.Request) {
			if again = !b.Empty() || m.Flying(); again {
				break // likewise
			}
			if r := s.beginBulk(b, c); r != nil {
				answer(c, r)
			}
			continue
		}
		var r commands.Reply
		if r, again = s.evaluate(b, c); again {
			break
		}
		s.bytes.Add(-int64(c.Size))
		if r != nil {
			answer(c, r)
		} else {
			s.parked[c.Client] = b.Park(c.Request.(*commands.Pop), c)
		}
		again = serve()
	}
	s.took(n)
	if len(s.todo) == 0 {
		for _, u := range s.unblock {
			s.unpark(u.client, u.reply)
		}
		s.unblock = s.unblock[:0]
	}

	full := false // there may be more wake-ups than were taken
	if !again {
		for d, w := range m.Windows {
			full = s.wakeDue(b, w, now.In(record.Domain(d))) || full
		}
		b.Look()
		again = serve()
	}
	// After the wake-ups: a job that becomes ready as the block time ends is delivered.
	if !again && !full {
		for _, w := range m.Waiters.Expired(now.Progress) {
			c := w.Call.(*Call)
			delete(s.parked, c.Client)
			answer(c, commands.NullArray{})
		}
	}
	if !(again && b.Empty()) && s.slice(b, answer) {
		again = serve() || again
	}
	more = more || s.bulksReady() || again || full || m.Untidy() || len(s.todo) > 0 || len(s.reads) > 0 && s.reading < maxReaders

	offset := now.Offset - m.Applied.WallOffset
	moved := s.moved || s.accepted
	if b.Empty() && !moved && offset < offsetAlone && offset > -offsetAlone {
		s.publish() // pops may wait, or wait no more, and the clock may have changed
		s.answer(answers)
		if !more {
			s.setAlarm()
		}
		s.drain = again && m.Flying()
		return more && !s.drain
	}
	s.moved, s.accepted, s.drain = false, false, again
	f := &flight{answers: append(s.held, answers...), report: b.Report, memory: m, number: b.Number()}
	s.held = nil
	entry := b.Seal(s.opt.Number)
	s.flights = append(s.flights, f)
	s.mu.Lock()
	s.inbox.flying++
	s.mu.Unlock()
	s.opt.Log.Propose(entry, func(err error) { s.committed(f, err) })
	s.publish()
	s.setAlarm()
	return more
}

// wakeDue takes a timeline's wake-ups that are due, not all if they are many. It
// reports whether there may be more.
func (s *Shard) wakeDue(b *evaluate.Batch, w *dispatch.Window, now int64) (more bool) {
	until := s.opt.Clock.Mono() + stepTime
	for n := 0; n < batchWakes && s.opt.Clock.Mono() <= until; n += stepJobs {
		s.hints = w.Take(now, stepJobs, s.hints[:0])
		b.WakeAll(s.hints)
		if len(s.hints) < stepJobs {
			return false
		}
	}
	return true
}

// wantsStore reports whether the next batch must find all that was before it in
// the store: readStore has something to do, or a request asked for it.
func (s *Shard) wantsStore(now evaluate.Now) bool {
	m := s.memory
	for d, w := range m.Windows {
		if w.Urgent(now.In(record.Domain(d))) {
			return true
		}
	}
	return s.drain || s.wentBack || m.Untidy() || s.wantsBulks() || m.Full() || m.WantsKnown() || m.SweepAt() <= now.Progress || len(s.reads) > 0 && s.reading < maxReaders
}

// readStore does what must read the store while nothing is in flight. It reports
// whether there is more to load.
func (s *Shard) readStore(now evaluate.Now) (more bool) {
	m := s.memory
	s.drain = false
	if s.wentBack {
		s.wentBack = false
		m.WallWentBack(now)
	}
	for d, w := range m.Windows {
		if w.Load(now.In(record.Domain(d)), s.scanWakes(record.Domain(d))) {
			more = true
		}
	}
	s.renewKnown()
	s.startReads(now)
	s.startBulks()
	return more
}

// offsetAlone is the change of the wall offset, in ns, that is worth an entry of its own.
const offsetAlone = int64(1e6)

// took removes the first n calls from todo.
func (s *Shard) took(n int) {
	if n == len(s.todo) {
		clear(s.todo)
		s.todo = s.todo[:0]
		return
	}
	s.todo = s.todo[n:]
}

// evaluate answers one call; a nil reply without again means that it shall wait.
func (s *Shard) evaluate(b *evaluate.Batch, c *Call) (reply commands.Reply, again bool) {
	switch c.Request.(type) {
	case *commands.Clock, *commands.Stats:
	default:
		if s.bytes.Load() > inboxBytes {
			return commands.Error("BUSY more than 64 MiB of commands wait for the disk: nothing was done, try later"), false
		}
	}
	if t, ok := c.Request.(*commands.Transaction); ok {
		return b.Transaction(t, func(r commands.Request) (commands.Reply, bool) { return s.decide(b, c.Client, r) })
	}
	return s.decide(b, c.Client, c.Request)
}

// decide answers one request, which may be part of a transaction.
func (s *Shard) decide(b *evaluate.Batch, client Client, request commands.Request) (reply commands.Reply, again bool) {
	switch r := request.(type) {
	case *commands.Clock:
		// What is accepted must be in the log before it is answered: the next
		// batch is stamped with it.
		if r.Accept && s.timeline.accept() {
			s.accepted = true
			s.opt.Logger.Warn("DQCLOCK ACCEPT: the held wall-clock step is followed", "offset_ns", s.timeline.offset)
			return nil, true
		}
		info := s.clockInfo()
		return &info, false
	case *commands.Pop:
		if client.Gone() { // there may be jobs, so null would not be true
			return ErrGone, false
		}
	case *commands.Stats: // of one queue
		reply, again = b.Evaluate(r)
		if q, ok := reply.(*commands.QueueStats); ok {
			s.stats.fill(q, r.Queue)
		}
		return reply, again
	}
	b.From = client
	return b.Evaluate(request)
}

// committed is called by the log when the oldest entry in flight is done with.
func (s *Shard) committed(f *flight, err error) {
	if err != nil {
		reply := errStopped
		if errors.Is(err, raftfsm.ErrInDoubt) {
			reply = "INDOUBT this node stopped leading while the command was on its way: it may or may not have happened; ask, or send the same request with IDEM"
		}
		for _, c := range f.answers {
			c.refuse(reply)
		}
	}
	// The actor goes on before all is delivered: deliverMu keeps the next replies behind these.
	s.deliverMu.Lock()
	defer s.deliverMu.Unlock()
	first := f.answers[:min(len(f.answers), deliverFirst)]
	deliverAll(first)
	f.err = err
	s.mu.Lock()
	s.inbox.finished = append(s.inbox.finished, f)
	s.inbox.flying--
	s.mu.Unlock()
	s.poke()
	deliverAll(f.answers[len(first):])
}

// deliverFirst is how many answers leave before the actor goes on. Clients that
// wait for one answer at a time then come back in time for the next batch, which
// is larger for it; with more of them the two are better done side by side.
const deliverFirst = 32

func (s *Shard) deliver(answers []*Call) {
	if len(answers) == 0 {
		return
	}
	s.deliverMu.Lock()
	defer s.deliverMu.Unlock()
	deliverAll(answers)
}

// deliverAll hands the calls to their clients and flushes each client once per
// run of its calls.
func deliverAll(answers []*Call) {
	for i, c := range answers {
		c.Client.Deliver(c)
		if i+1 == len(answers) || answers[i+1].Client != c.Client {
			c.Client.Flush()
		}
	}
}

// setAlarm asks to be woken when the next wake-up, deadline or look at the clock is due.
func (s *Shard) setAlarm() {
	m := s.memory
	at := min(m.Windows[record.Progress].Next(), m.Looks.Next(record.Progress), m.SweepAt())
	wall := min(m.Windows[record.Wall].Next(), m.Looks.Next(record.Wall))
	if wall != math.MaxInt64 {
		at = min(at, wall-s.timeline.offset)
	}
	// The wall clock may step while the shard sleeps: look at it now and then.
	at = min(at, s.timeline.nextLook(wall != math.MaxInt64))
	if next, ok := m.Waiters.Next(); ok {
		at = min(at, next)
	}
	mono := s.timeline.mono(at)
	s.alarmAt = mono
	s.alarm.Set(mono)
}

// fatalPanic stops the node on damaged state, or a broken invariant: it never goes
// on from there.
func (s *Shard) fatalPanic() {
	if p := recover(); p != nil {
		s.opt.Logger.Error("the shard cannot go on", "reason", p, "stack", string(debug.Stack()))
		s.opt.Fatal(fmt.Errorf("shard %d: %v", s.opt.Number, p))
	}
}

// publish renews the gauges.
func (s *Shard) publish() {
	g := &Gauges{Leading: s.memory != nil}
	if m := s.memory; m != nil {
		g.Totals, g.Queues = m.Totals()
		g.Waiting = int64(m.Waiters.Len())
		g.Window = int64(m.Windows[0].Len() + m.Windows[1].Len())
		g.Clock = s.clockInfo()
	}
	s.gauges.Store(g)
}
