package commands

var dqpop = Command{
	Name: "dqpop", Arity: -2, Flags: []string{"write", "blocking"},
	FirstKey: 1, LastKey: 1, Step: 1,
	Categories: []string{"@write", "@slow", "@blocking", "@dq-consume"},
	Group:      "delay", Since: "1.0.0", Complexity: "O(M log N) with M jobs taken and N jobs in the queue",
	Summary: "Takes ready jobs and leases them to the caller; it may wait for the first.",
	Syntax:  "DQPOP queue [COUNT n] [BLOCK dur] [LEASE dur] [NOACK] [WORKER name] [FULL]",
	Args:    append([]Arg{argQueue}, argPopOptions...),
	Replies: []string{
		"an array of jobs, each `[queue, id, payload, token, attempt, due]`; it ends early at the limit for one reply, 4 MiB",
		"with FULL a seventh element, a map of the fields below; later versions may add some",
		"null when there is none",
	},
	Fields: []Field{
		{"due-ns", "when it was due, as exact nanoseconds in a string"},
		{"late-us", "how long after its due it was handed out, µs"},
		{"created", "when it was added"},
		{"lease-until", "when the lease ends; null with NOACK"},
		{"max-attempts", "deliveries in all; 0 = no limit"},
		{"pri", "its priority"},
		{"meta", "the map given with META"},
		{"reason", "the text of the latest DQNACK, null for none"},
	},
	Errors: []string{
		"BADID: the queue name or the worker name is empty or too long",
		"BADTIME: a duration cannot be read, or the lease is too short or too long",
		"BUSY: too many clients wait already",
	},
	Notes:  "One counter numbers all leases of the server, so the tokens of an id grow with gaps. Always use the one that came with the job.",
	Resend: "Leases more jobs. Those of the first one come back when their lease ends.",
	Example: `
> DQADD mail m1 "Hello Ann" AT 2024-01-31T09:00:00Z
"m1"
> DQPOP mail COUNT 10 LEASE 1m WORKER w1
1) 1) "mail"
   2) "m1"
   3) "Hello Ann"
   4) (integer) 1
   5) (integer) 1
   6) (integer) 1706691600000
> DQPOP mail
(nil)
`,
	Parse: parsePop,
}

// argPopOptions are what DQPOP and DQMPOP share.
var argPopOptions = []Arg{
	{Name: "count", Show: "n", Type: "integer", Token: "COUNT", Optional: true, Summary: "at most so many jobs, 1 to 1000; left out: 1"},
	{Name: "block", Show: "dur", Type: "string", Token: "BLOCK", Optional: true, Summary: "how long to wait for the first job; 0 or too long: as long as the server allows, 30s. Keep it below your client's read time-out (in older versions of go-redis 3s, in Jedis 2s): 1s is below all that we know but that of redis-client, which is 1s too"},
	{Name: "lease", Show: "dur", Type: "string", Token: "LEASE", Optional: true, Summary: "how long the jobs are leased, 1ms to 12h; left out: as the job or the queue says"},
	{Name: "noack", Type: "pure-token", Token: "NOACK", Optional: true, Summary: "the job is gone on delivery: at most once; LEASE counts for nothing then"},
	{Name: "worker", Show: "name", Type: "string", Token: "WORKER", Optional: true, Summary: "who takes the jobs, 1 to 255 bytes; DQGET shows it"},
	{Name: "full", Type: "pure-token", Token: "FULL", Optional: true, Summary: "adds a map with more about each job"},
}

func parsePop(args [][]byte, lim *Limits) (Request, error) {
	// One allocation for the request and its list of one queue.
	r := new(struct {
		Pop
		queue [1][]byte
	})
	if err := checkQueue(args[1], lim); err != nil {
		return nil, err
	}
	r.queue[0] = args[1]
	r.Queues = r.queue[:]
	if err := parsePopOptions(&r.Pop, cursor{args, 2}, lim); err != nil {
		return nil, err
	}
	return &r.Pop, nil
}

var popOptions = []option{
	{"count", groupCount, true},
	{"block", groupBlock, true},
	{"lease", groupLease, true},
	{"noack", groupNoAck, false},
	{"worker", groupWorker, true},
	{"full", groupFull, false},
}

func parsePopOptions(r *Pop, c cursor, lim *Limits) error {
	r.Count = 1
	var given given
	for c.more() {
		word, arg, err := given.take(&c, popOptions)
		if err != nil {
			return err
		}
		switch word {
		case "count":
			var n int64
			n, err = parseRange("COUNT", arg, 1, int64(lim.MaxPopCount))
			r.Count = int(n)
		case "block":
			r.Block, err = parseDuration("BLOCK", arg, lim)
			if r.Block == 0 || r.Block > lim.MaxBlock {
				r.Block = lim.MaxBlock
			}
		case "lease":
			longest := lim.LeaseMax
			if r.CutLease {
				longest = lim.MaxAhead
			}
			r.Lease, err = parseLease("LEASE", arg, lim, longest)
		case "noack":
			r.NoAck = true
		case "worker":
			r.Worker = arg
			err = checkName("worker name", arg, lim.MaxWorker)
		case "full":
			r.Full = true
		}
		if err != nil {
			return err
		}
	}
	return nil
}
