package commands

import "dqd/persist/record"

var dqconfig = Command{
	Name: "dqconfig", Arity: -2,
	Categories: []string{"@slow", "@dq-admin"},
	Group:      "delay", Since: "1.0.0", Complexity: "O(1); with queue `*` O(Q) with Q queues",
	Summary: "Sets, shows and resets the settings of a queue, or with queue `*` the defaults of all.",
	Syntax: "DQCONFIG SET queue field value [field value]…\n" +
		"DQCONFIG GET queue [glob]\n" +
		"DQCONFIG RESET queue [field]…",
	Replies: []string{
		"SET and RESET: OK, or an error and nothing is changed",
		"GET: a map of the fields below with the values that count, for any queue name; strings, durations in milliseconds",
	},
	Fields: settingFields(),
	Notes: "Each field is shown with its default. A setting is for all decisions from then on, and for waiting pops at once. What a queue does not set itself follows the defaults of all, also when they change later; " +
		"RESET takes a queue's own settings away, all of them if no field is named. A queue that has a setting exists; one in which no job was ever added ends with the last of its settings and pauses. " +
		"`*` is only here not the name of a queue.",
	Errors: []string{
		"BADID: the queue name is empty or too long",
		"BADTIME: a duration cannot be read or is out of range",
		"ERR: no such field, a value that it cannot have, or `lease` would be above `lease-max`, in the queue or with `*` in any queue",
		"MISCONF: there is no such queue yet, and the disk is nearly full",
		"OOM: likewise the memory",
	},
	Resend: "Harmless: it sets the same again.",
	Example: `
> DQCONFIG SET mail lease 5m backoff fixed:10s max-inflight 50
OK
> DQCONFIG GET mail lease*
1) "lease"
2) "300000"
3) "lease-max"
4) "43200000"
> DQCONFIG RESET mail lease
OK
> DQCONFIG GET mail lease
1) "lease"
2) "30000"
> DQCONFIG SET mail lease-max 10s
(error) ERR lease 30000 ms would be above lease-max 10000 ms of queue "mail": nothing was changed, lower the one or raise the other in the same command
`,
	Subcommands: []*Command{
		configRow("dqconfig|set", -5, "write", "@write", "Changes settings of a queue: all that are given, or none.", parseConfigSet,
			Arg{Name: "setting", Type: "block", Multiple: true, Args: []Arg{{Name: "field", Type: "string"}, {Name: "value", Type: "string"}}}),
		configRow("dqconfig|get", -3, "readonly", "@read", "Shows the settings that count for a queue.", parseConfigGet,
			Arg{Name: "glob", Type: "string", Optional: true}),
		configRow("dqconfig|reset", -3, "write", "@write", "Takes settings of a queue back to the defaults.", parseConfigReset,
			Arg{Name: "field", Type: "string", Optional: true, Multiple: true}),
		helpKind.row("dqconfig|help", 2, "Shows these lines.", parseHelp("dqconfig")),
	},
}

func configRow(name string, arity int, flag, category, summary string, parse func([][]byte, *Limits) (Request, error), args ...Arg) *Command {
	k := kind{"delay", []string{flag}, []string{category, "@slow", "@dq-admin"}}
	c := k.row(name, arity, summary, parse, append([]Arg{argQueue}, args...)...)
	c.FirstKey, c.LastKey, c.Step = 2, 2, 1
	return c
}

func parseConfigSet(args [][]byte, lim *Limits) (Request, error) {
	r := &SetConfig{Queue: args[2]}
	if err := checkQueue(r.Queue, lim); err != nil {
		return nil, err
	}
	pairs := args[3:]
	if len(pairs)%2 != 0 {
		return nil, WrongArity("dqconfig|set")
	}
	for i := 0; i < len(pairs); i += 2 {
		s, err := findSetting(pairs[i])
		if err != nil {
			return nil, err
		}
		if r.Set.Given.Has(s.field) {
			return nil, syntaxf("%s is given twice", s.name)
		}
		r.Set.Given |= s.field
		if err := s.parse(&r.Set.Settings, pairs[i+1], lim); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func parseConfigGet(args [][]byte, lim *Limits) (Request, error) {
	r := &GetConfig{Queue: args[2]}
	if err := checkQueue(r.Queue, lim); err != nil {
		return nil, err
	}
	switch len(args) {
	case 3:
	case 4:
		r.Pattern = notNil(args[3])
	default:
		return nil, WrongArity("dqconfig|get")
	}
	return r, nil
}

func parseConfigReset(args [][]byte, lim *Limits) (Request, error) {
	r := &ResetConfig{Queue: args[2]}
	if err := checkQueue(r.Queue, lim); err != nil {
		return nil, err
	}
	for _, name := range args[3:] {
		s, err := findSetting(name)
		if err != nil {
			return nil, err
		}
		if r.Fields.Has(s.field) {
			return nil, syntaxf("%s is given twice", s.name)
		}
		r.Fields |= s.field
	}
	if len(args) == 3 {
		r.Fields = record.AllFields
	}
	return r, nil
}
