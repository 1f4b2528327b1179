package commands

import "strings"

// Arguments that several rows have.
var (
	argQueue   = Arg{Name: "queue", Type: "key", Summary: "1 to 255 bytes"}
	argID      = Arg{Name: "id", Type: "string", Summary: "of the job"}
	argNewID   = Arg{Name: "id", Type: "string", Summary: "1 to 1024 bytes, unique among the live jobs of the queue; `*` = the server makes one"}
	argPayload = Arg{Name: "payload", Type: "string", Summary: "any bytes, up to 1 MiB (setting `max-payload`)"}
	argToken   = Arg{Name: "token", Type: "string", Summary: "that came with the job, or `*` for its current lease"}
	argDelay   = Arg{Name: "delay", Show: "dur", Type: "string", Token: "DELAY", Summary: "due so long after the server accepts the command"}
	argAt      = Arg{Name: "time", Type: "string", Token: "AT", Summary: "due at that time; what lies in the past is due at once"}
	argCompare = Arg{Name: "comparison", Type: "oneof", Optional: true, Args: []Arg{
		word("GT", "only if the new due is later"),
		word("LT", "only if the new due is earlier"),
	}}

	// argAddOptions are what DQADD and DQMADD share.
	argAddOptions = []Arg{
		{Name: "condition", Type: "oneof", Optional: true, Args: []Arg{
			word("NX", "only if the id is not live"),
			word("XX", "only if the id is live: replaces the job"),
			word("UPSERT", "replaces the job if the id is live"),
			word("IDEM", "this may be a re-send: the same request is for a minute (setting `id-memory`) answered as the first time and adds nothing; a cancel, UPSERT or XX makes the id forget"),
		}},
		{Name: "comparison", Type: "oneof", Optional: true, Args: []Arg{
			word("GT", "with XX or UPSERT: replaces only if the new due is later"),
			word("LT", "with XX or UPSERT: replaces only if the new due is earlier"),
		}},
		{Name: "expiry", Type: "oneof", Optional: true, Args: []Arg{
			{Name: "ttl", Show: "dur", Type: "string", Token: "TTL", Summary: "how long after its due the job leaves if nobody took it"},
			{Name: "expire-time", Show: "time", Type: "string", Token: "EXPIREAT", Summary: "when the job leaves if nobody took it"},
		}},
		{Name: "priority", Show: "n", Type: "integer", Token: "PRI", Optional: true, Summary: "0 to 255, 0 first; left out: 128"},
		{Name: "attempts", Show: "n", Type: "integer", Token: "ATTEMPTS", Optional: true, Summary: "deliveries in all, 0 to 65535, 0 = no limit; left out: as the queue says, 25"},
		{Name: "backoff", Show: "spec", Type: "string", Token: "BACKOFF", Optional: true, Summary: "delay before the next attempt: `fixed:5s`, `exp:1s:1h[:factor][:jitter%]` or `list:10s,1m,10m`; left out: as the queue says"},
		{Name: "lease", Show: "dur", Type: "string", Token: "LEASE", Optional: true, Summary: "how long a worker may have the job, 1ms to 12h; left out: as the queue says, 30s"},
		{Name: "meta", Type: "block", Token: "META", Optional: true, Repeats: true, Summary: "a field that travels with the job, up to 32 and 8 KiB together; of one field the last value wins", Args: []Arg{
			{Name: "field", Type: "string"}, {Name: "value", Type: "string"},
		}},
		{Name: "maxlen", Show: "n", Type: "integer", Token: "MAXLEN", Optional: true, Summary: "refuse the add if the queue would have more live jobs"},
	}
)

// argState is the option STATE; otherwise says what leaving it out means.
func argState(otherwise string) Arg {
	return Arg{Name: "state", Type: "oneof", Token: "STATE", Optional: true, Summary: otherwise, Args: []Arg{
		word("DELAYED", "due in the future"),
		word("READY", "due has come, nobody has it"),
		word("LEASED", "a worker has it"),
		word("DEAD", "no more attempts"),
	}}
}

// word is a keyword that stands alone.
func word(token string, summary ...string) Arg {
	return Arg{Name: strings.ToLower(token), Type: "pure-token", Token: token, Summary: strings.Join(summary, "")}
}

// kind is what the sub-commands of a container have in common.
type kind struct {
	group             string
	flags, categories []string
}

func (k *kind) row(name string, arity int, summary string, parse func([][]byte, *Limits) (Request, error), args ...Arg) *Command {
	return &Command{
		Name: name, Arity: arity, Flags: k.flags, Categories: k.categories,
		Group: k.group, Since: "1.0.0", Complexity: "O(1)", Summary: summary, Args: args,
		Parse: parse,
	}
}

// repeated is the argument a, which may be given several times.
func repeated(a Arg) Arg {
	a.Repeats = true
	return a
}

// optional is the argument a, which may be left out.
func optional(a Arg) Arg {
	a.Optional = true
	return a
}

// Usage is the command's syntax in one line, made of its Args:
// "DQLEN queue [STATE DELAYED | READY | LEASED | DEAD]".
func (c *Command) Usage() string {
	var b strings.Builder
	b.WriteString(strings.ToUpper(strings.ReplaceAll(c.Name, "|", " ")))
	for i := range c.Args {
		b.WriteByte(' ')
		c.Args[i].usage(&b)
	}
	return b.String()
}

// shown is the argument's name in the syntax.
func (a *Arg) shown() string {
	if a.Show != "" {
		return a.Show
	}
	return a.Name
}

func (a *Arg) usage(b *strings.Builder) {
	if a.Optional {
		b.WriteByte('[')
		defer b.WriteByte(']')
	}
	a.usageOnce(b)
	if a.Repeats {
		b.WriteString(" [")
		a.usageOnce(b)
		b.WriteString(" ...]")
	}
}

func (a *Arg) usageOnce(b *strings.Builder) {
	b.WriteString(a.Token)
	if a.Type == "pure-token" {
		return
	}
	if a.Token != "" {
		b.WriteByte(' ')
	}
	a.usageValue(b)
	if a.Multiple {
		b.WriteString(" [")
		a.usageValue(b)
		b.WriteString(" ...]")
	}
}

func (a *Arg) usageValue(b *strings.Builder) {
	between := " "
	switch a.Type {
	case "oneof":
		between = " | "
	case "block":
	default:
		b.WriteString(a.shown())
		return
	}
	for i := range a.Args {
		if i > 0 {
			b.WriteString(between)
		}
		a.Args[i].usage(b)
	}
}
