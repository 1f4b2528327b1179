package mutants

const (
	state   = "server/shard/evaluate/state.go"
	settle  = "server/shard/evaluate/settle.go"
	pop     = "server/shard/evaluate/pop.go"
	idem    = "server/shard/evaluate/idem.go"
	batch   = "server/shard/evaluate/batch.go"
	heads   = "server/shard/dispatch/heads.go"
	window  = "server/shard/dispatch/window.go"
	actor   = "server/shard/actor.go"
	line    = "server/shard/timeline.go"
	policy  = "server/shard/evaluate/policy.go"
	apply   = "raftfsm/effect/apply.go"
	logFile = "persist/log.go"
	purge   = "server/shard/evaluate/purge.go"
	multi   = "server/shard/evaluate/transaction.go"
)

// seeds is how many random histories the model test may use to notice.
var seeds = []string{"-shard.seeds", "12", "-shard.shrink", "1"}

// crashes are the crash points of one history that may notice.
var crashes = []string{"-crash.seed", "3", "-crash.every", "6"}

var mutants = []mutant{
	{
		name:  "feed the watchdog although the shard stands still",
		edits: []edit{{"cmd/dqd/assemble.go", "return n.shard.Survey(ctx) != nil", "return ctx != nil"}},
		tests: "./cmd/dqd", run: "TestWatchdog",
	},
	{
		name:  "deliver 1 ns early",
		edits: []edit{{batch, "return t.Ns <= n.In(t.Domain)", "return t.Ns-1 <= n.In(t.Domain)"}},
		tests: "./tests/model", run: "TestShard$", args: seeds, breaks: "I1",
	},
	{
		name: "lose the ready index on restart",
		edits: []edit{
			{heads, "	if q == nil {\n		return nil, true\n	}", "	if q == nil {\n		return nil, false\n	}"},
			{heads, "	return q == nil || !q.complete && len(q.items) < n", "	return q != nil && !q.complete && len(q.items) < n"},
		},
		tests: "./tests/model", run: "TestShard$", args: seeds, breaks: "I14",
	},
	{
		name:  "accept a stale token",
		edits: []edit{{settle, "(t.Token != j.is.Token || j.is.TokenState == record.TokenStale)", "t.Token != j.is.Token"}},
		tests: "./tests/model", run: "TestShard$", args: seeds, breaks: "I3",
	},
	{
		name:  "forget the IDEM memory of an ended job",
		edits: []edit{{idem, "	b.setIdem(q, rec.ID, &record.Idem{Digest: rec.Idem, Until: rec.IdemUntil})\n", ""}},
		tests: "./tests/model", run: "TestShard$", args: seeds, breaks: "I5",
	},
	{
		name:  "a cancel keeps the IDEM memory",
		edits: []edit{{settle, "		b.bump(q, cancelled, 1)\n		b.change(j, nil)\n", "		b.bump(q, cancelled, 1)\n		b.end(j, j.is)\n"}},
		tests: "./tests/model", run: "TestShard$", args: seeds,
	},
	{
		name:  "ignore the priority",
		edits: []edit{{heads, "cmp.Compare(a.Pri, b.Pri), ", ""}},
		tests: "./tests/model", run: "TestShard$", args: seeds, breaks: "I6",
	},
	{
		name:  "forget to load wake-ups from the store",
		edits: []edit{{window, "	scan(last, func(h Hint) bool {", "	scan(math.MaxInt64, func(h Hint) bool {"}},
		tests: "./tests/model", run: "TestShard$", args: seeds, breaks: "I2",
	},
	{
		name:  "keep the wall window when the clock goes back",
		edits: []edit{{actor, "		m.WallWentBack(now)\n", ""}},
		tests: "./tests/model", run: "TestShard$", args: seeds,
	},
	{
		name:  "follow a forward step at once",
		edits: []edit{{line, "mono-t.since >= standing && t.trusted()", "t.trusted()"}},
		tests: "./tests/model", run: "TestShard$", args: seeds, breaks: "F15",
	},
	{
		name:  "follow a step beyond clock-trust",
		edits: []edit{{line, "	return t.ahead <= t.trust\n", "	return true\n"}},
		tests: "./tests/model", run: "TestShard$", args: seeds,
	},
	{
		name:  "believe any stop",
		edits: []edit{{line, "elapsed >= 0 && elapsed <= maxElapsed", "elapsed >= 0"}},
		tests: "./tests/model", run: "TestShard$", args: seeds,
	},
	{
		name:  "slew without bound",
		edits: []edit{{line, "slew := min(max(t.ahead, -limit), limit)", "slew := t.ahead"}},
		tests: "./server/shard", run: "TestRandomClocks",
	},
	{
		name:  "do not look again when a step has stood for 10 s",
		edits: []edit{{line, "at = min(at, stands)", "_ = stands"}},
		tests: "./tests/model", run: "TestShard$", args: seeds,
	},
	{
		name:  "take a suspension for a step",
		edits: []edit{{"server/shard/clock.go", "	clock.CatchUp()\n", ""}},
		tests: "./server/shard", run: "TestSuspension", breaks: "F13",
	},
	{
		name: "release all the jobs of a step at once",
		edits: []edit{
			{"server/shard/shard.go", "batchWakes = 1024 ", "batchWakes = 1 << 20 "},
			{window, "windowStep = 1024", "windowStep = 1 << 20"},
		},
		tests: "./server/shard", run: "TestStepReleasesInSlices",
	},
	{
		name:  "count no lease time-out as an attempt's end",
		edits: []edit{{state, "	if b.usedUp(j, rec) {\n		b.die(j, rec, record.CauseAttempts)\n		return\n	}\n	rec.Due", "	rec.Due"}},
		tests: "./tests/model", run: "TestShard$", args: seeds, breaks: "I13",
	},
	{
		name:  "lose a gauge",
		edits: []edit{{batch, "			g.Leased += sign\n", "			g.Leased = max(0, g.Leased+sign)\n			g.Ready += 0\n			if sign < 0 {\n				g.Delayed++\n			}\n"}},
		tests: "./tests/model", run: "TestShard$", args: seeds, breaks: "I7",
	},
	{
		name:  "a lease 1 ns too long",
		edits: []edit{{pop, "	b.lease(j, min(lease, j.q.set.LeaseMax), r.Worker)", "	b.lease(j, lease+1, r.Worker)"}},
		tests: "./tests/model", run: "TestShard$", args: seeds,
	},
	{
		name:  "the filter of known ids forgets what is added",
		edits: []edit{{"server/shard/evaluate/cache.go", "		m.known.Add(h)\n", "		_ = h\n"}},
		tests: "./tests/model", run: "TestShard$", args: seeds,
	},
	{
		name:  "a batch takes for written what the one before it did",
		edits: []edit{{batch, "j.batch, j.was, j.bodyChanged, j.touched, j.body = b.begun, j.is,", "j.batch, j.was, j.bodyChanged, j.touched, j.body = b.begun, j.was,"}},
		tests: "./tests/model", run: "TestShard$", args: seeds,
	},
	{
		name:  "read the store while an entry is in flight",
		edits: []edit{{pop, "	if b.Flying() {\n		panic", "	if false {\n		panic"}},
		tests: "./server/shard", run: "TestStatsInFlight",
	},
	{
		name:  "answer before what was seen is committed",
		edits: []edit{{actor, "	if len(s.flights) > 0 {\n		s.held", "	if len(s.flights) > 9 {\n		s.held"}},
		tests: "./server/shard", run: "TestEntriesInFlight", breaks: "I11",
	},
	{
		name:  "a range begins 1 ns early",
		edits: []edit{{"commands/dqrange.go", "		from = (lo-1)*nsPerMs + 1\n", "		from = (lo - 1) * nsPerMs\n"}},
		tests: "./tests/model", run: "TestShard$", args: seeds,
	},
	{
		name:  "a walk goes on in a window that is older than it",
		edits: []edit{{"server/shard/scans.go", "	if r.Cursor == 0 {", "	if r.Cursor == 1<<63 {"}},
		tests: "./tests/model", run: "TestShard$", args: seeds,
	},
	{
		name:  "a walk ends with its first window",
		edits: []edit{{"server/shard/evaluate/scan.go", "	if w.more {", "	if w.more && w.after > 0 {"}},
		tests: "./tests/model", run: "TestShard$", args: seeds,
	},
	{
		name:  "a walk over the dead goes by milliseconds alone",
		edits: []edit{{"server/shard/evaluate/dead.go", "<<deadSeqBits | s.seq&(1<<deadSeqBits-1)", "<<deadSeqBits | 1"}},
		tests: "./tests/model", run: "TestShard$", args: seeds,
	},
	{
		name:  "forget to wake the waiting pops when a queue goes on",
		edits: []edit{{"server/shard/evaluate/pause.go", "		b.wants(q) // also when it goes on: it may have another end\n", ""}},
		tests: "./tests", run: "TestSessionsInVirtualTime/dqpause",
	},
	{
		name:  "look at the end of a pause never",
		edits: []edit{{policy, "			b.Looks.Set(q.Number, q.OutUntil)\n", ""}},
		tests: "./tests/model", run: "TestShard$", args: seeds,
	},
	{
		name:  "max-inflight off by one",
		edits: []edit{{policy, "q.Leased >= q.set.MaxInflight", "q.Leased > q.set.MaxInflight"}},
		tests: "./tests/model", run: "TestShard$", args: seeds,
	},
	{
		name:  "a rate refills twice as fast",
		edits: []edit{{policy, "	return (int64(time.Second) + q.set.Rate - 1) / q.set.Rate\n", "	return (int64(time.Second) + q.set.Rate - 1) / q.set.Rate / 2\n"}},
		tests: "./tests/model", run: "TestShard$", args: seeds,
	},
	{
		name:  "prune one dead job too many",
		edits: []edit{{"server/shard/evaluate/trim.go", "		surplus := max(0, q.Dead-q.set.DeadCount)\n", "		surplus := max(0, q.Dead-q.set.DeadCount+1)\n"}},
		tests: "./tests/model", run: "TestShard$", args: seeds,
	},
	{
		name:  "the end of a connection takes extended leases too",
		edits: []edit{{settle, "		b.Holders.Extended(rec.Token, b.From)\n", ""}},
		tests: "./tests", run: "TestSessionsInVirtualTime/settings-disconnect",
	},
	{
		name:  "a change of the defaults passes by queues with own settings",
		edits: []edit{{"server/shard/evaluate/settings.go", "		m.useSettings(m.byNum[n])\n", "		_ = n\n"}},
		tests: "./tests/model", run: "TestShard$", args: []string{"-shard.seeds", "60", "-shard.shrink", "1"},
	},
	{
		name:  "answer before the entry is committed",
		edits: []edit{{actor, "	s.opt.Log.Propose(entry, func(err error) { s.committed(f, err) })\n", "	deliverAll(f.answers)\n	f.answers = nil\n	s.opt.Log.Propose(entry, func(err error) { s.committed(f, err) })\n"}},
		tests: "./server/shard", run: "TestAnswersLeaveAfterTheirEntry",
	},
	{
		name:  "drop the fence",
		edits: []edit{{apply, "	if h.Epoch == last.Epoch {\n		return h.Sequence == last.Sequence+1\n	}\n	return h.Epoch == last.Epoch+1 && h.Sequence == 0", "	return true"}},
		tests: "./raftfsm/effect", run: ".",
	},
	{
		name:  "let one client have any number of commands unanswered",
		edits: []edit{{"server/options.go", "def(&o.PendingCalls, 4096)", "def(&o.PendingCalls, 1<<30)"}},
		tests: "./tests", run: "FloodIsFair", breaks: "I15",
	},
	{
		name:  "take too many connections for probes",
		edits: []edit{{"server/http.go", "open.Add(1) > httpConnections", "open.Add(1) > 2*httpConnections"}},
		tests: "./server", run: "HTTPConnectionsLimit",
	},
	{
		name:  "a discarded transaction keeps the gauges of its queues",
		edits: []edit{{multi, "		*k.queue = k.was\n", "		was := k.queue.Queue\n		*k.queue = k.was\n		k.queue.Queue = was\n"}},
		tests: "./tests/model", run: "TestShard$", args: seeds,
	},
	{
		name:  "a discarded transaction keeps the totals",
		edits: []edit{{multi, "b.Applied, b.totals, b.queueCount, b.sweepAt = u.applied, u.totals,", "b.Applied, b.queueCount, b.sweepAt = u.applied,"}},
		tests: "./server/shard", run: "TestTransactionTakenBack",
	},
	{
		name:  "a discarded transaction keeps its tokens",
		edits: []edit{{multi, "	b.bytes, b.Replied = u.bytes", "	b.Applied.NextToken++\n	b.bytes, b.Replied = u.bytes"}},
		tests: "./server/shard", run: "TestTransactionTakenBack",
	},
	{
		name:  "a discarded transaction keeps the ready heads",
		edits: []edit{{multi, "		b.Heads.Forget(k.queue.Number)\n", ""}},
		tests: "./tests/model", run: "TestShard$", args: seeds,
	},
	{
		name:  "a discarded transaction keeps its jobs",
		edits: []edit{{multi, "		*u.jobs[i].job = u.jobs[i].was\n", "		_ = i\n"}},
		tests: "./tests/model", run: "TestShard$", args: seeds, breaks: "I10",
	},
	{
		name:  "a discarded transaction keeps its IDEM memories",
		edits: []edit{{multi, "		*k.entry = k.was\n", ""}, {multi, "			delete(b.idem, k.key)\n", ""}},
		tests: "./server/shard", run: "TestTransactionTakenBack",
	},
	{
		name:  "a discarded transaction leaves the id of a dead job to nobody",
		edits: []edit{{multi, "		b.jobs.restore(u.places[i].key, u.places[i].was)\n", "		_ = i\n"}},
		tests: "./server/shard", run: "TestTransactionTakenBack",
	},
	{
		name:  "a transaction does not see what it made ready behind the read-ahead",
		edits: []edit{{pop, "			b.Heads.Add(q.Number, item, false)\n", "			_ = item\n"}},
		tests: "./server/shard", run: "TestTransactionPopsWhatItAdds",
	},
	{
		name:  "run the commands of a refused transaction",
		edits: []edit{{"server/transaction.go", "	if t.aborted {\n", "	if t.refused {\n"}},
		tests: "./tests", run: "Sessions.*/multi-refused$",
	},
	{
		name:  "count the waiting pops with the next entry only",
		edits: []edit{{actor, "		s.publish() // pops may wait, or wait no more, and the clock may have changed\n", ""}},
		tests: "./server/shard", run: "WaitingPops",
	},
	{
		name:  "the slow log shows payloads",
		edits: []edit{{"commands/slowlog.go", `a.Type != "key" && a.Name != "id" ||`, `a.Type != "key" && a.Name != "id" && a.Name != "payload" ||`}},
		tests: "./server", run: "TestNothingShowsSecrets",
	},
	{
		name:  "a refused CONFIG SET changes a part",
		edits: []edit{{"server/config.go", "		given[name] = true\n", "		given[name] = true\n		s.use(&d)\n"}},
		tests: "./server", run: "TestConfigSet",
	},
	{
		name:  "a client that waits for a job is closed as idle",
		edits: []edit{{"server/reading.go", "timeout > 0 && c.pending.empty() && time.Since", "timeout > 0 && time.Since"}},
		tests: "./server", run: "TestTimeout",
	},
	{
		name:  "a bulk command overlooks a job that died meanwhile",
		edits: []edit{{"server/shard/evaluate/bulk.go", "		w.slipped = true\n", "		w.slipped = false\n"}},
		tests: "./server/shard", run: "TestBulkFollowsWhatMoves",
	},
	{
		name:  "a pop that nobody hears takes jobs",
		edits: []edit{{"server/session.go", "	return pop && (c.replies.off || c.replies.skip > 0)", "	return pop && c.replies.off && c.replies.skip > 0"}},
		tests: "./tests", run: "TestSessionsInVirtualTime/client$",
	},
	{
		name:  "a filter of known ids lacks what became live while it was filled",
		edits: []edit{{"server/shard/evaluate/cache.go", "			k.Add(h)\n", "			_ = h\n"}},
		tests: "./server/shard/evaluate", run: "TestKnownWhileFilled",
	},
	{
		name:  "the guard never refuses",
		edits: []edit{{"server/guard/guard.go", "	g.refusal.Store(r)\n", "	_ = r\n"}},
		tests: "./server", run: "TestAddsAreRefused",
	},
	{
		name:  "what was deleted keeps its room on a nearly full disk",
		edits: []edit{{"server/guard/guard.go", "		g.reclaim(ctx)\n", ""}},
		tests: "./server/guard", run: "TestReclaim",
	},
	{
		name:  "a merge that finds no room ends the process",
		edits: []edit{{"persist/fault.go", "			if errors.As(err, new(noRoom)) {\n", "			if false {\n"}, {"persist/fault.go", "	\"errors\"\n", ""}},
		tests: "./persist", run: "TestMergesWithoutRoom",
	},
	{
		name:  "an add passes the guard",
		edits: []edit{{"server/shard/evaluate/add.go", "		if err := b.limit.refuse(); err != \"\" {\n			return err\n		}\n", ""}},
		tests: "./server/shard", run: "TestGuard",
	},
	{
		name:  "a guard refuses what takes no room",
		edits: []edit{{"server/shard/evaluate/add.go", "	if id, ok := b.sameRequest(q, &r.Job); ok {", "	if id, ok := b.sameRequest(q, &r.Job); ok && b.limit.refuse() == \"\" {"}},
		tests: "./server/shard", run: "TestGuard",
	},
	{
		name:  "the check ignores the checksums of tables",
		edits: []edit{{"persist/tables.go", "	err = r.ValidateBlockChecksums()\n", ""}},
		tests: "./cmd/dqd", run: "TestCheckCommand", breaks: "F7",
	},
	{
		name:  "the check ignores the checksum of a log entry",
		edits: []edit{{"persist/logentry.go", "	if entrySum(key, content) != binary", "	if false && entrySum(key, content) != binary"}},
		tests: "./raftfsm", run: "TestCheckFindsWhatChecksumsDoNot",
	},
	{
		name:  "a full disk does not cost the ballast",
		edits: []edit{{"persist/ballast.go", "	err := b.remove()\n	b.mu.Unlock()", "	var err error\n	b.mu.Unlock()"}},
		tests: "./persist", run: "TestBallast", breaks: "F5",
	},
	{
		name: "a failed write goes unheard",
		edits: []edit{{"persist/loud.go", `	return n, f.heard("writing", err)
}

func (f *loudFile) WriteAt`, `	_, _ = n, err
	return len(b), nil
}

func (f *loudFile) WriteAt`}},
		tests: "./raftfsm", run: "TestFaultAtEveryOperation", args: []string{"-fault-every", "40"},
	},
	{
		name:  "lose the largest queues in a restart",
		edits: []edit{{batch, "			b.list(b.found)\n", ""}},
		tests: "./server/shard", run: "TestSurvey",
	},
	{
		name:  "two queues share a label",
		edits: []edit{{"server/metrics.go", "s == restLabel || strings.HasPrefix(s, `\"`) || ", "s == restLabel || "}},
		tests: "./server", run: "TestQueueNamesInMetrics",
	},
	{
		name: "go on behind an error on which clients send the pipeline again",
		edits: []edit{
			{"server/dispatch.go", "c.add(entry{reply: errLoading, row: c.srv.rows[row], done: true, last: true})\n\treturn waitNothing, true", "c.add(entry{reply: errLoading, row: c.srv.rows[row], done: true})\n\treturn waitNothing, false"},
			{"server/output.go", "e.last || isLastReply(reply)", "e.last"},
		},
		tests: "./tests/clients", run: "ResentPipelineRunsOnce", breaks: "F12",
	},
	{
		name:  "answer before the entry is committed, and lose power",
		edits: []edit{{actor, "	s.opt.Log.Propose(entry, func(err error) { s.committed(f, err) })\n", "	deliverAll(f.answers)\n	f.answers = nil\n	s.opt.Log.Propose(entry, func(err error) { s.committed(f, err) })\n"}},
		tests: "./tests/model", run: "TestShardCrash$", args: crashes, breaks: "F1 F2 F3",
	},
	{
		name:  "a purge keeps the IDEM memory",
		edits: []edit{{"server/shard/evaluate/purge.go", "			b.forget(q, j.is.ID)\n", ""}},
		tests: "./tests", run: "SessionsInVirtualTime/dqpurge",
	},
	{
		name:  "a purge takes what came later",
		edits: []edit{{"server/shard/evaluate/bulk.go", "j.is.Seq >= w.before", "j.is.Seq >= 1<<62"}},
		tests: "./server/shard", run: "BulkTakesWhatWasThere",
	},
	{
		name:  "purge all in one slice",
		edits: []edit{{"server/shard/bulk.go", "	sliceJobs  = 128\n", "	sliceJobs  = 1 << 20\n"}, {"server/shard/bulk.go", "	bulkPage = 1024\n", "	bulkPage = 1 << 20\n"}, {"server/shard/bulk.go", "sliceBytes = 256 << 10", "sliceBytes = 256 << 20"}},
		tests: "./server/shard", run: "BulkInSlices",
	},
	{
		name:  "say that nothing was done when a slice was",
		edits: []edit{{"server/shard/bulk.go", "	if c.partly {", "	if c.partly && reply == nil {"}},
		tests: "./server/shard", run: "BulkEndsInBetween", breaks: "I17",
	},
	{
		name:  "requeue a dead job that would expire at once",
		edits: []edit{{"server/shard/evaluate/requeue.go", "e.Ns != 0 && j.is.TTL == 0", "false && j.is.TTL == 0"}},
		tests: "./tests", run: "SessionsInVirtualTime/dqrequeue",
	},
	{
		name:  "requeue keeps the attempts",
		edits: []edit{{"server/shard/evaluate/requeue.go", "	rec.Attempt, rec.LeasedAt, rec.LateUs = 0, 0, 0\n", ""}},
		tests: "./tests/model", run: "TestShard$", args: seeds,
	},
	{
		name:  "release counts the retry from the lease's planned end",
		edits: []edit{{"server/shard/evaluate/bulk.go", "min(b.now.Progress, j.is.Wake.Ns)", "j.is.Wake.Ns"}},
		tests: "./tests", run: "SessionsInVirtualTime/dqrelease",
	},
	{
		name:  "find a dropped queue that the store still has",
		edits: []edit{{"server/shard/evaluate/purge.go", "	if q.gone {\n		return nil\n	}\n", ""}},
		tests: "./server/shard", run: "DropInFlight",
	},
	{
		name:  "a transaction that is taken back brings a dropped queue back",
		edits: []edit{{"server/shard/evaluate/memory.go", "	return b.queueNumbered(n)\n", "	return b.load(n)\n"}},
		tests: "./server/shard", run: "DropAndTransaction",
	},
	{
		name:  "a drop behind a transaction leaves the name",
		edits: []edit{{"server/shard/evaluate/purge.go", "other == nil || other == q", "other == q"}},
		tests: "./server/shard", run: "DropAndTransaction",
	},
	{
		name:  "the settings of a dropped queue go on",
		edits: []edit{{"server/shard/evaluate/purge.go", "	q.own = record.Own{} // which bind the defaults no more\n", ""}},
		tests: "./server/shard", run: "DropForgets",
	},
	{
		name:  "a queue that stays behind a drop remembers what it was about to forget",
		edits: []edit{{"server/shard/evaluate/purge.go", "		IdemNumber: b.Applied.NextQueue,\n", "		IdemUntil:  q.IdemUntil,\n"}},
		tests: "./server/shard", run: "DropForgetsRequests",
	},
	{
		name:  "a drop ends with what was remembered, until something new is",
		edits: []edit{{"server/shard/evaluate/purge.go", "		IdemNumber: b.Applied.NextQueue,\n", ""}},
		tests: "./server/shard", run: "DropForgetsRequests",
	},
	{
		name:  "a live job is looked for where it was dead",
		edits: []edit{{batch, " || (old.State == record.Dead) != (rec.State == record.Dead)) {", ") {"}},
		tests: "./tests", run: "TestSessionsInVirtualTime/dqrequeue-wake$",
	},
	{
		name:  "a snapshot goes on before the hook knows of a failed flush",
		edits: []edit{{"persist/state.go", "{ return s.fault.returned }", "{ return s.fault.failed }"}},
		tests: "./persist", run: "TestFailedWhenToldOf",
	},
	{
		name:  "lease to a client whose end is not read yet",
		edits: []edit{{actor, "Client.Left() }", "Client.Gone() }"}},
		tests: "./server/shard", run: "TestUnnoticedLeaver", breaks: "F19",
	},
	{
		name:  "tell a client that is gone that there are no jobs",
		edits: []edit{{actor, "			return ErrGone, false\n", "			return commands.NullArray{}, false\n"}},
		tests: "./server/shard", run: "TestGoneClientIsRefused|TestTransactionOfAGoneClient",
	},
	{
		name:  "a pop that waited tells a client that is gone that there are no jobs",
		edits: []edit{{actor, "s.unpark(c, ErrGone)", "s.unpark(c, commands.NullArray{})"}},
		tests: "./server", run: "TestHalfCloseWaitingPop",
	},
	{
		name:  "believe a backup without looking at its sums",
		edits: []edit{{"raftfsm/archive/reader.go", "binary.BigEndian.Uint64(sum[:]) != want", "want != want"}},
		tests: "./raftfsm", run: "TestDamagedBackup", breaks: "I16",
	},
	{
		name:  "a restored folder is a node's before it was verified",
		edits: []edit{{"raftfsm/restore.go", "	if err := r.verify(in); err != nil {", "	if err := r.verify(in); false {"}},
		tests: "./raftfsm", run: "TestRestoreVerifies",
	},
	{
		name:  "a restored node gives tokens again",
		edits: []edit{{"raftfsm/effect/restored.go", "sparedTokens + uint64(", "0 * uint64("}},
		tests: "./raftfsm", run: "TestBackup$",
	},
	{
		name:  "CONFIG GET shows secrets",
		edits: []edit{{"server/settings.go", "			set: func(o *Options, v string) error {\n				if len(v) > passwordMax {", "			show: func(o *Options) string { return o.Password },\n			set: func(o *Options, v string) error {\n				if len(v) > passwordMax {"}, {"server/config.go", "			if !known.Secret {", "			if known.show != nil {"}, {"server/config.go", "	d.Password = \"\" // one copy, which nothing prints\n", ""}},
		tests: "./tests", run: "TestNothingPrintsSecrets",
	},
	{
		name:  "an error shows the line of a secret",
		edits: []edit{{"cmd/dqd/configfile.go", "	if s.Secret {\n		g.as = at + \": \" + name\n	}\n", ""}},
		tests: "./tests", run: "TestNothingPrintsSecrets",
	},
	{
		name:  "0.0.0.0 opens IPv6 too",
		edits: []edit{{"cmd/dqd/serve.go", "network = \"tcp4\"", "network = \"tcp\""}},
		tests: "./cmd/dqd", run: "TestListen",
	},
	{
		name:  "a worker does not tell its handler that the lease is lost",
		edits: []edit{{"worker/lease.go", "	t.cancel(ErrLeaseLost)\n", ""}},
		tests: "./tests", run: "TestWorkerIsTakenOver",
	},
	{
		name:  "a worker ignores the weights",
		edits: []edit{{"worker/weights.go", "(stepOne / int64(s.queues[i].Weight))", "stepOne"}},
		tests: "./tests", run: "TestWorkerWeights", args: []string{"-seed", "42"},
	},
	{
		name:  "a worker that stops begins what arrives late",
		edits: []edit{{"worker/pop.go", "			if ctx.Err() != nil {\n", "			if false {\n"}},
		tests: "./tests", run: "TestWorkerGivesBackWhatArrivesLate",
	},
	{
		name:  "keep a queue that holds nothing",
		edits: []edit{{purge, "	if q.Added == 0 && ", "	if q.Added < 0 && "}},
		tests: "./tests", run: "TestSessionsInVirtualTime/bare$",
	},
	{
		name:  "end a queue that holds its counters",
		edits: []edit{{purge, "	if q.Added == 0 && ", "	if q.Live()+q.Dead == 0 && "}},
		tests: "./tests/model", run: "TestShard$", args: seeds,
	},
	{
		name:  "a discarded transaction loses the queue that it had ended and made again",
		edits: []edit{{multi, "			b.queues[string(k.queue.Name)] = k.queue\n", ""}},
		tests: "./server/shard/evaluate", run: "TestDiscardedEndOfAQueue",
	},
	{
		name:  "say that a write is synced before it is",
		edits: []edit{{logFile, "	if err := b.Commit(o); err != nil {", "	if o.Sync && l.tell() == nil {\n		l.synced--\n	}\n	if err := b.Commit(o); err != nil {"}},
		tests: "./raftfsm", run: "TestCrash$", args: []string{"-crash-seed", "1"},
	},
	{
		name:  "do not miss synced writes",
		edits: []edit{{"persist/synced.go", "told > l.synced:", "told > l.synced && false:"}},
		tests: "./persist", run: "TestWALCutShort",
	},
	{
		name:  "a check makes the lock's file anew",
		edits: []edit{{"persist/files.go", "return plainFS{vfs.Default}", "return vfs.Default"}},
		tests: "./cmd/dqd", run: "TestCheckCommand",
	},
	{
		name:  "a cancel that was counted leaves the job",
		edits: []edit{{settle, "		b.bump(q, cancelled, 1)\n		b.change(j, nil)\n", "		b.bump(q, cancelled, 1)\n"}},
		tests: "./tests", run: "TestSessionsInVirtualTime/dqcancel$", breaks: "I4",
	},
	{
		name:  "the hash of the state is that of the latest entry",
		edits: []edit{{apply, "	d.Write(b[:])\n", ""}},
		tests: "./raftfsm/effect", run: "TestStateHash", breaks: "I8",
	},
	{
		name:  "an entry turns time back",
		edits: []edit{{apply, "h.Time < last.Time || ", ""}},
		tests: "./raftfsm", run: "TestRefusedBeforeLog", breaks: "I12",
	},
	{
		name: "a failed sync goes unheard",
		edits: []edit{
			{"persist/loud.go", "return f.heard(\"syncing\", f.File.Sync())", "f.File.Sync(); return nil"},
			{"persist/loud.go", "return f.heard(\"syncing\", f.File.SyncData())", "f.File.SyncData(); return nil"},
			{"persist/loud.go", "	full, err = f.File.SyncTo(length)\n	return full, f.heard(\"syncing\", err)", "	full, _ = f.File.SyncTo(length)\n	return full, nil"},
		},
		tests: "./tests/model", run: "TestShardFaults/EIO_once_in_the_log", args: []string{"-crash.seed", "3"}, breaks: "F4",
	},
	{
		name:  "believe a counter that is far off",
		edits: []edit{{"tsc/discipline.go", "max(ahead, -ahead)-maxResidual > errorNs", "-ahead > 1000*maxResidual"}},
		tests: "./tsc", run: "TestSessions", breaks: "F16",
	},
	{
		name:  "let a disturbed reading show nothing",
		edits: []edit{{"tsc/discipline.go", "off := d.off(s, s.widthNs); off != \"\"", "off := d.off(s, Never); off != \"\""}},
		tests: "./tsc", run: "TestSessions", breaks: "F16",
	},
	{
		name:  "accept without a pause when files are used up",
		edits: []edit{{"server/accept.go", "pause = min(max(2*pause, acceptPauseMin), acceptPauseMax)", "pause = acceptPauseMin"}},
		tests: "./server", run: "TestAcceptBackOff", breaks: "F18",
	},
	{
		name:  "take an argument of twice the limit",
		edits: []edit{{"server/resp/framer.go", "case f.number > f.Limits.Bulk:", "case f.number > 2*f.Limits.Bulk:"}},
		tests: "./server/resp", run: "TestFramer", breaks: "F20",
	},
}

// unproved are the faults that no mutant is the proof of.
var unproved = map[string]string{
	"F6": "the disk of TestSlowDisk stalls for 10 s: too long to be run twice",
}
