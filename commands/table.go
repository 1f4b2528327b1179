package commands

import "strings"

// Command is a row of the table: all that is known about one command.
type Command struct {
	Name  string // lower case; "client|setname" for a sub-command
	Arity int    // as in Redis: the name counts; negative = at least
	Flags []string

	// FirstKey, LastKey, Step say where the queue stands, 0 = nowhere; a negative
	// LastKey counts from the end.
	FirstKey, LastKey, Step int
	// NumKeys says where a number stands, with so many queues behind it; 0 = nowhere.
	NumKeys int

	Categories []string // for ACLs, with their @

	// For COMMAND DOCS and the command reference.
	Group, Summary, Since, Complexity string
	Args                              []Arg
	Syntax                            string   // as the contract writes it; "" = it does as in Redis
	Replies                           []string // what it answers, one sentence each
	Fields                            []Field  // of the map in its reply
	Notes                             string   // what else there is to know
	Errors                            []string // its own error codes, each with when it comes
	Resend                            string   // what a blind re-send does
	Example                           string   // a session: lines that start with "> " and what redis-cli prints for them

	// Subcommands are the rows of a container such as CLIENT.
	Subcommands []*Command

	// Parse turns the arguments, whose number fits Arity, into a request;
	// args[0] is the name as sent. Call it through the function Parse.
	Parse func(args [][]byte, lim *Limits) (Request, error)
}

// Field describes a field of a reply.
type Field struct{ Name, Text string }

// Arg describes an argument as COMMAND DOCS does.
type Arg struct {
	Name     string
	Show     string // how the syntax shows it; "" = as its name
	Type     string // key string integer unix-time pure-token oneof block
	Token    string // the keyword before it, "" = none
	Optional bool
	Multiple bool // may be repeated, without its token
	Repeats  bool // may be repeated, with its token
	Args     []Arg
	Summary  string // for the command reference
}

// table is never changed. Its order is that of the command reference.
var table = []*Command{
	&dqadd, &dqmadd, &dqcancel, &dqmcancel, &dqreschedule,
	&dqpop, &dqmpop, &dqack, &dqmack, &dqnack, &dqextend, &dqmextend,
	&dqget, &dqpeek, &dqrange, &dqcount, &dqlen, &dqscan, &dqqueues, &dqdead, &dqstats, &dqclock,
	&dqpause, &dqresume, &dqconfig, &dqbackup,
	&dqrequeue, &dqrelease, &dqpurge, &dqdrop,
	&hello, &auth, &ping, &echo, &quit, &reset, &selectDB, &client,
	&command, &info, &config, &slowlog, &latency, &memory, &timeNow,
	&dbsize, &scan, &typeOf, &exists,
	&role, &wait, &waitAOF, &cluster, &readOnly, &readWrite, &shutdown, &debug,
	&multi, &exec, &discard, &watch, &unwatch,
}

// index has the rows by name.
var index = func() map[string]*Command {
	m := make(map[string]*Command, len(table))
	for _, c := range table {
		m[c.Name] = c
	}
	return m
}()

// All returns every row, containers without their sub-commands, in the order of
// the command reference. Nobody may change what it returns.
func All() []*Command { return table }

// Lookup returns the row of the command, in any case, or nil. It does not allocate.
func Lookup(name []byte) *Command {
	var buf [keywordMax]byte
	return index[string(keyword(&buf, name))]
}

// Find returns the row for args: the command's, or the sub-command's if it is a
// container. Its errors are Redis's texts for what does not exist and for a
// wrong number of arguments; with the latter it returns the row too.
func Find(args [][]byte) (*Command, error) {
	c := Lookup(args[0])
	if c == nil {
		return nil, UnknownCommand(args)
	}
	if len(args) > 1 && c.Subcommands != nil {
		sub := c.subcommand(args[1])
		if sub == nil {
			return nil, UnknownSubcommand(c, args[1])
		}
		c = sub
	}
	if !c.Fits(len(args)) {
		return c, WrongArity(c.Name)
	}
	return c, nil
}

// Parse finds the row for args and turns them into a request. After an error
// the row is nil only if there is none. An error is an Error, ready to be sent.
func Parse(args [][]byte, lim *Limits) (*Command, Request, error) {
	c, err := Find(args)
	if err != nil {
		return c, nil, c.withHint(err)
	}
	r, err := c.Parse(args, lim)
	if word, ok := err.(noOption); ok {
		err = syntaxf("%v: %s", word, c.hint())
	}
	return c, r, c.withHint(err)
}

// hint is the syntax of the command for an error text.
func (c *Command) hint() string {
	syntax := c.Syntax
	if syntax == "" {
		syntax = c.Usage()
	}
	return strings.NewReplacer("…", " ...", "\n", " | ").Replace(syntax)
}

// withHint adds the syntax to an error about the number of arguments. Redis's own
// commands keep its text.
func (c *Command) withHint(err error) error {
	if err != nil && c != nil && c.Group == "delay" && err == error(WrongArity(c.Name)) {
		return errf("%v: %s", err, c.hint())
	}
	return err
}

// Fits reports whether n arguments, the name included, are as many as c wants.
func (c *Command) Fits(n int) bool {
	return n == c.Arity || c.Arity < 0 && n >= -c.Arity
}

// subcommand returns the row of a container's sub-command, in any case.
func (c *Command) subcommand(name []byte) *Command {
	for _, sub := range c.Subcommands {
		if isKeyword(name, sub.subName()) {
			return sub
		}
	}
	return nil
}

// subName is the name of a sub-command without its container's.
func (c *Command) subName() string {
	for i := range c.Name {
		if c.Name[i] == '|' {
			return c.Name[i+1:]
		}
	}
	return c.Name
}

// Has reports whether the row has the flag.
func (c *Command) Has(flag string) bool {
	for _, f := range c.Flags {
		if f == flag {
			return true
		}
	}
	return false
}
