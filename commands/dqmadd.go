package commands

import (
	"strconv"
	"strings"
)

var dqmadd = Command{
	Name: "dqmadd", Arity: -7, Flags: []string{"write", "denyoom"},
	FirstKey: 1, LastKey: 1, Step: 1,
	Categories: []string{"@write", "@slow", "@dq-produce"},
	Group:      "delay", Since: "1.0.0", Complexity: "O(M log N) with M jobs to add and N jobs in the queue",
	Summary: "Adds many jobs, all or none.",
	Syntax:  "DQMADD queue [options of DQADD] JOBS n id payload due [id payload due]…",
	Args: append(append([]Arg{argQueue}, argAddOptions...),
		Arg{Name: "count", Show: "n", Type: "integer", Token: "JOBS", Summary: "how many jobs follow, 1 to 4096"},
		Arg{Name: "job", Type: "block", Multiple: true, Args: []Arg{
			argNewID,
			argPayload,
			{Name: "due", Type: "string", Summary: "a time as of AT, or + and a duration as of DELAY: `+15m`"},
		}},
	),
	Replies: []string{"an array of n ids, null where a condition was not met"},
	Errors: []string{
		"DUPID: an id is twice in the command, or is live",
		"TOOBIG: more jobs or bytes than one command may have, or a payload or META is too large",
		"as for DQADD: one bad job refuses all, and the text names it",
	},
	Resend: "As for DQADD, job by job: without options it is refused with DUPID while one of the jobs lives, with IDEM each is answered as DQADD's would be.",
	Example: `
> DQMADD mail PRI 10 JOBS 2 m1 "Hello Ann" +15m m2 "Hello Bob" 2030-01-31T09:00:00Z
1) "m1"
2) "m2"
> DQMADD mail NX JOBS 2 m2 "Hello Bob" +15m m3 "Hello Cid" +15m
1) (nil)
2) "m3"
> DQLEN mail
(integer) 3
`,
	Parse: parseMAdd,
}

func parseMAdd(args [][]byte, lim *Limits) (Request, error) {
	r := &MAdd{Queue: args[1]}
	if err := checkQueue(r.Queue, lim); err != nil {
		return nil, err
	}
	p := newAddParser(&r.Options, nil, lim)
	c := cursor{args, 2}
	for {
		if !c.more() {
			return nil, syntaxf("JOBS is missing: write JOBS n id payload due ... behind the options")
		}
		if isKeyword(c.args[c.at], "jobs") {
			c.next()
			break
		}
		if err := p.option(&c); err != nil {
			return nil, err
		}
	}
	if err := p.finish(); err != nil {
		return nil, err
	}
	if err := checkBatch(&c, args, lim); err != nil {
		return nil, err
	}
	r.Jobs = make([]NewJob, len(c.rest())/3)
	for i := range r.Jobs {
		idArg := c.next()
		if err := parseBatchJob(&r.Jobs[i], &p, idArg, c.next(), c.next()); err != nil {
			return nil, inJob(err, i, idArg)
		}
	}
	if i := repeatedID(r.Jobs); i >= 0 {
		return nil, inJob(Error("DUPID the id is twice in this command: give each job its own"), i, r.Jobs[i].ID)
	}
	return r, nil
}

// checkBatch reads "JOBS n" and checks the batch as a whole.
func checkBatch(c *cursor, args [][]byte, lim *Limits) error {
	if c.more() {
		if n, ok := parseInt(c.args[c.at]); ok && n > int64(lim.MaxBatchJobs) {
			return errf("TOOBIG JOBS %d is more than the limit of %d: send several commands", n, lim.MaxBatchJobs)
		}
	}
	size := 0
	for _, arg := range args {
		size += len(arg)
	}
	if size > lim.MaxBatchBytes {
		return errf("TOOBIG the jobs have %d bytes together, the limit is %d: send several commands", size, lim.MaxBatchBytes)
	}
	return c.parseCounted("JOBS", 3, int64(lim.MaxBatchJobs))
}

func parseBatchJob(job *NewJob, p *addParser, id, payload, due []byte) (err error) {
	if job.ID, err = parseNewID(id, p.lim); err != nil {
		return err
	}
	job.Payload = payload
	if err := checkPayload(payload, p.lim); err != nil {
		return err
	}
	if len(due) > 0 && due[0] == '+' {
		job.Due.Kind = DueDelay
		job.Due.Ns, err = parseDuration("due", due[1:], p.lim)
	} else {
		job.Due.Kind = DueAt
		job.Due.Ns, err = parseTime("due", due, p.lim)
	}
	if err != nil {
		return err
	}
	return p.finishJob(job)
}

// inJob says in which job of the batch an error is, behind the error's code:
// "BADTIME job 3 'id': …".
func inJob(err error, i int, id []byte) Error {
	code, text, _ := strings.Cut(err.Error(), " ")
	if rest, ok := strings.CutPrefix(text, "syntax error: "); ok {
		code, text = code+" syntax error:", rest
	}
	return Error(code + " job " + strconv.Itoa(i+1) + " " + quote(id) + ": " + text)
}

// repeatedID returns the first job whose id an earlier one has, -1 for none.
func repeatedID(jobs []NewJob) int {
	seen := make(map[string]struct{}, len(jobs))
	for i := range jobs {
		id := jobs[i].ID
		if id == nil {
			continue
		}
		if _, ok := seen[string(id)]; ok {
			return i
		}
		seen[string(id)] = struct{}{}
	}
	return -1
}
