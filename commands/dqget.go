package commands

import "slices"

var dqget = Command{
	Name: "dqget", Arity: -3, Flags: []string{"readonly", "fast"},
	FirstKey: 1, LastKey: 1, Step: 1,
	Categories: []string{"@read", "@fast", "@dq-look"},
	Group:      "delay", Since: "1.0.0", Complexity: "O(log N) with N jobs in the queue",
	Summary: "Shows a job: the live one, else the newest dead one.",
	Syntax:  "DQGET queue id [field]…",
	Args: []Arg{argQueue, argID, {Name: "field", Type: "string", Optional: true, Multiple: true,
		Summary: "of `id queue state due due-ns created attempt max-attempts token lease-until worker pri backoff expire-at reason late-us size meta payload`, up to 64, and the payload up to 4 times; left out: all"}},
	Replies: []string{
		"a map of all fields; null in it for what the job does not have",
		"with fields an array of their values, null for an unknown field",
		"null when there is no such job",
	},
	Errors: []string{"BADID: the queue name or the id is empty or too long"},
	Resend: "Harmless: it changes nothing.",
	Example: `
> DQADD mail m1 "Hello Ann" AT 2030-01-31T09:00:00Z BACKOFF exp:1s:1h META lang en
"m1"
> DQGET mail m1 state due-ns backoff size meta worker colour
1) "delayed"
2) "1896080400000000000"
3) "exp:1000:3600000:2:0%"
4) (integer) 9
5) 1) "lang"
   2) "en"
6) (nil)
7) (nil)
`,
	Parse: parseGet,
}

// jobFields are the fields of a job in the order of the contract.
const jobFields = 19

func jobFieldNames() [jobFields]string {
	return [...]string{
		"id", "queue", "state", "due", "due-ns", "created", "attempt", "max-attempts", "token", "lease-until",
		"worker", "pri", "backoff", "expire-at", "reason", "late-us", "size", "meta", "payload",
	}
}

// maxPayloadReply bounds the payloads of one reply, in bytes.
const maxPayloadReply = 16 << 20

func parseGet(args [][]byte, lim *Limits) (Request, error) {
	r := &Get{Queue: args[1], ID: args[2]}
	if err := checkQueueID(r.Queue, r.ID, lim); err != nil {
		return nil, err
	}
	asked := args[3:]
	if len(asked) == 0 {
		return r, nil
	}
	if len(asked) > lim.MaxFields {
		return nil, errf("ERR %d fields asked for, the limit is %d: leave them out to get all", len(asked), lim.MaxFields)
	}
	r.Fields = make([]string, len(asked))
	names := jobFieldNames()
	payloads := 0
	for i, field := range asked {
		var buf [keywordMax]byte
		n := slices.Index(names[:], string(keyword(&buf, field)))
		if n < 0 {
			continue // the empty name, answered with null as any unknown one
		}
		r.Fields[i] = names[n]
		if names[n] == "payload" {
			payloads++
		}
	}
	// Named 64 times, one payload of 16 MiB would be a reply of a gigabyte.
	if most := min(4, max(1, maxPayloadReply/lim.MaxPayload)); payloads > most {
		return nil, errf("ERR the payload is asked for %d times, the limit is %d: ask for it once", payloads, most)
	}
	return r, nil
}
