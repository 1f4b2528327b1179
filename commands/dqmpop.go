package commands

import "slices"

var dqmpop = Command{
	Name: "dqmpop", Arity: -3, Flags: []string{"write", "blocking", "movablekeys"},
	NumKeys:    1,
	Categories: []string{"@write", "@slow", "@blocking", "@dq-consume"},
	Group:      "delay", Since: "1.0.0", Complexity: "O(K + M log N) with K queues, M jobs taken and N jobs in the queues",
	Summary: "Takes ready jobs of several queues, left to right, and leases them to the caller; it may wait for the first.",
	Syntax:  "DQMPOP numqueues queue [queue]… [COUNT n] [BLOCK dur] [LEASE dur] [NOACK] [WORKER name] [FULL]",
	Args: append([]Arg{
		{Name: "numqueues", Type: "integer", Summary: "how many queues follow, 1 to 1000"},
		{Name: "queue", Type: "key", Multiple: true, Summary: "each 1 to 255 bytes; jobs of the first leave before those of the second"},
	}, mpopOptions()...),
	Replies: []string{"as DQPOP: an array of jobs, of which each names its queue; null when no queue has any"},
	Errors: []string{
		"BADID: a queue name or the worker name is empty or too long",
		"BADTIME: a duration cannot be read, or the lease is below 1ms",
		"BUSY: too many clients wait already",
	},
	Notes: "As DQPOP in all else, but for LEASE: a longer one than a queue allows is no error, it is cut to what that queue allows.\n" +
		"While it waits it stands in the line of each queue; the first of them that gets a job serves it. Workers that name the same queues in another order share them fairly.",
	Resend: "Leases more jobs. Those of the first one come back when their lease ends.",
	Example: `
> DQADD low m1 "Hello Ann" AT 2024-01-31T09:00:00Z
"m1"
> DQADD high m2 "Hello Bob" AT 2024-01-31T09:00:00Z
"m2"
> DQMPOP 2 high low COUNT 10
1) 1) "high"
   2) "m2"
   3) "Hello Bob"
   4) (integer) 1
   5) (integer) 1
   6) (integer) 1706691600000
2) 1) "low"
   2) "m1"
   3) "Hello Ann"
   4) (integer) 2
   5) (integer) 1
   6) (integer) 1706691600000
> DQMPOP 2 high low
(nil)
`,
	Parse: parseMPop,
}

// mpopOptions are those of DQPOP, but for what becomes of a LEASE that is too long.
func mpopOptions() []Arg {
	list := slices.Clone(argPopOptions)
	for i := range list {
		if list[i].Name == "lease" {
			list[i].Summary = "how long the jobs are leased, from 1ms on; a longer time than the queue allows (at most 12h) is cut to that; left out: as the job or the queue says"
		}
	}
	return list
}

func parseMPop(args [][]byte, lim *Limits) (Request, error) {
	n, err := parseRange("numqueues", args[1], 1, int64(lim.MaxPopQueues))
	if err != nil {
		return nil, err
	}
	if have := len(args) - 2; n > int64(have) {
		return nil, syntaxf("numqueues is %d, but only %d arguments follow", n, have)
	}
	r := &Pop{Queues: args[2 : 2+n], CutLease: true}
	for _, queue := range r.Queues {
		if err := checkQueue(queue, lim); err != nil {
			return nil, err
		}
	}
	if err := parsePopOptions(r, cursor{args, 2 + int(n)}, lim); err != nil {
		return nil, err
	}
	return r, nil
}
