package commands

var dqclock = Command{
	Name: "dqclock", Arity: -1, Flags: []string{"write", "fast"},
	Categories: []string{"@write", "@fast", "@dq-admin"},
	Group:      "delay", Since: "1.0.0", Complexity: "O(1)",
	Summary: "Shows the clock that due times are compared with, or accepts its step.",
	Syntax:  "DQCLOCK [ACCEPT]",
	Args:    []Arg{optional(word("ACCEPT", "follow a step of the wall clock that the server held back"))},
	Replies: []string{"a map of the fields below"},
	Fields: []Field{
		{"now-ns", "the time that due times are compared with, as Unix nanoseconds in a string"},
		{"source", "what it is read from: `tsc`, the processor's counter, or `os`"},
		{"tsc-hz", "rate of that counter; 0 without it"},
		{"offset-us", "by how much the system's clock is ahead of `now-ns`, µs: the step that is held, or up to 50 ms either way that are worked off by 500 µs per second; else 0"},
		{"uncertainty-us", "by how much the counter may be off the system's clock, by their latest comparison, µs; 0 without it"},
		{"steps", "steps of the system's clock by more than 50 ms, either way, that were seen since the start"},
		{"state", "`ok`, or `held`: the system's clock is ahead by a step that is not followed. It is followed when it has stood for 10 s if it is no longer than `clock-trust`, else `AT` jobs wait until the clock returns or DQCLOCK ACCEPT is sent. More than 366 days since the last change before a start are held too, and then are time that has passed"},
	},
	Resend: "Harmless; of ACCEPT the second finds nothing to accept.",
	Example: `
> DQCLOCK
 1) "now-ns"
 2) ...
 3) "source"
 4) ...
 5) "tsc-hz"
 6) ...
 7) "offset-us"
 8) ...
 9) "uncertainty-us"
10) ...
11) "steps"
12) ...
13) "state"
14) ...
`,
	Parse: parseClock,
}

func parseClock(args [][]byte, _ *Limits) (Request, error) {
	switch {
	case len(args) == 1:
		return &Clock{}, nil
	case len(args) > 2:
		return nil, WrongArity("dqclock")
	case isKeyword(args[1], "accept"):
		return &Clock{Accept: true}, nil
	}
	return nil, syntaxf("%s is no option here: write DQCLOCK or DQCLOCK ACCEPT", quote(args[1]))
}
