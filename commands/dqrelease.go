package commands

var dqrelease = Command{
	Name: "dqrelease", Arity: 4, Flags: []string{"write", "no_multi"},
	FirstKey: 1, LastKey: 1, Step: 1,
	Categories: []string{"@write", "@slow", "@dq-manage"},
	Group:      "delay", Since: "1.0.0", Complexity: "O(N) with N live jobs in the queue",
	Summary: "Ends the leases of a worker that is known to be dead.",
	Syntax:  "DQRELEASE queue WORKER name",
	Args: []Arg{
		argQueue,
		{Name: "worker", Show: "name", Type: "string", Token: "WORKER", Summary: "as the pops that took the jobs said"},
	},
	Replies: []string{"the number of leases ended"},
	Errors:  []string{"BADID: the queue name or the worker name is empty or too long"},
	Notes: "The leases end as if they had run out now: a job waits for its BACKOFF, or is dead if its attempts are used up, and its token is good for an ack until somebody takes the job. It works in\n" +
		"slices, as DQPURGE does. Leases that the worker takes after the command was accepted are left alone.",
	Resend: "Ends the leases that the worker has now.",
	Example: `
> DQADD mail m1 "Hello Ann" AT 2024-01-31T09:00:00Z
"m1"
> DQPOP mail WORKER w1
1) 1) "mail"
   2) "m1"
   3) "Hello Ann"
   4) (integer) 1
   5) (integer) 1
   6) (integer) 1706691600000
> DQRELEASE mail WORKER w1
(integer) 1
> DQLEN mail STATE leased
(integer) 0
`,
	Parse: parseRelease,
}

func parseRelease(args [][]byte, lim *Limits) (Request, error) {
	r := &Release{Queue: args[1], Worker: args[3]}
	if !isKeyword(args[2], "worker") {
		return nil, noOption(quote(args[2]))
	}
	if err := checkQueue(r.Queue, lim); err != nil {
		return nil, err
	}
	if err := checkName("worker name", r.Worker, lim.MaxWorker); err != nil {
		return nil, err
	}
	return r, nil
}
