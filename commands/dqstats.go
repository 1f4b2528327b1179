package commands

var dqstats = Command{
	Name: "dqstats", Arity: -1, Flags: []string{"readonly", "fast"},
	FirstKey: 1, LastKey: 1, Step: 1,
	Categories: []string{"@read", "@fast", "@dq-look"},
	Group:      "delay", Since: "1.0.0", Complexity: "O(1) for a queue, O(Q) for all Q queues",
	Summary: "Shows the gauges and counters of a queue, or of all together.",
	Syntax:  "DQSTATS [queue]",
	Args:    []Arg{optional(argQueue)},
	Replies: []string{
		"a map of the fields below",
		"null for an unknown queue",
	},
	Fields: []Field{
		{"delayed ready leased dead", "how many jobs are in that state now"},
		{"bytes", "size of their payloads together, the dead ones included"},
		{"oldest-ready-ms", "for how long the oldest ready job has been due; 0 for none"},
		{"next-due", "the next due of a delayed job; null for none"},
		{"added", "jobs added; so are all counters down to `lease-timeouts` since the queue's first job, restarts included"},
		{"delivered", "deliveries, retries included"},
		{"acked noack", "jobs finished by DQACK or DQMACK; gone on delivery to a pop with NOACK"},
		{"nacked", "leases that DQNACK ended"},
		{"expired", "jobs that left because nobody took them within their TTL or EXPIREAT"},
		{"cancelled", "jobs removed by DQCANCEL or DQMCANCEL"},
		{"purged", "jobs removed by DQPURGE, live and dead ones"},
		{"pruned", "dead jobs that left by `dead-keep` or `dead-count`"},
		{"lease-timeouts", "leases that ran out unacked"},
		{"paused", "what is paused now: `none`, `in`, `out` or `all`; over all queues `none`"},
		{"blocked", "pops that wait now"},
		{"late-p50-us late-p99-us late-max-us", "lateness of the deliveries, µs: half, 99 of 100, all were not later; up to 12.5% too high, the maximum is exact"},
		{"run-p50-us run-p99-us", "time from a delivery to its ack, µs, in the same way"},
	},
	Notes:  "`late-` and `run-` are those of this process: after a restart they begin anew. They are kept for the 1,000 busiest queues, the others show 0.",
	Errors: []string{"BADID: the queue name is empty or too long"},
	Resend: "Harmless: it changes nothing.",
	Example: `
> DQADD mail m1 "Hello Ann" AT 2030-01-31T09:00:00Z
"m1"
> DQSTATS mail
 1) "delayed"
 2) (integer) 1
 3) "ready"
 4) (integer) 0
 5) "leased"
 6) (integer) 0
 7) "dead"
 8) (integer) 0
 9) "bytes"
10) (integer) 9
11) "oldest-ready-ms"
12) (integer) 0
13) "next-due"
14) (integer) 1896080400000
15) "added"
16) (integer) 1
17) "delivered"
18) (integer) 0
19) "acked"
20) (integer) 0
21) "noack"
22) (integer) 0
23) "nacked"
24) (integer) 0
25) "expired"
26) (integer) 0
27) "cancelled"
28) (integer) 0
29) "purged"
30) (integer) 0
31) "pruned"
32) (integer) 0
33) "lease-timeouts"
34) (integer) 0
35) "paused"
36) "none"
37) "blocked"
38) (integer) 0
39) "late-p50-us"
40) (integer) 0
41) "late-p99-us"
42) (integer) 0
43) "late-max-us"
44) (integer) 0
45) "run-p50-us"
46) (integer) 0
47) "run-p99-us"
48) (integer) 0
`,
	Parse: parseStats,
}

func parseStats(args [][]byte, lim *Limits) (Request, error) {
	switch len(args) {
	case 1:
		return &Stats{}, nil
	case 2:
		if err := checkQueue(args[1], lim); err != nil {
			return nil, err
		}
		return &Stats{Queue: args[1]}, nil
	}
	return nil, WrongArity("dqstats")
}
