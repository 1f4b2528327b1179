package commands

import (
	"bytes"
	"slices"
	"strings"
)

// CommandQuery is COMMAND, which asks about the table; its answer is CommandReply.
type CommandQuery struct {
	Sub  string // "" count list info docs getkeys
	Args [][]byte
}

func (*CommandQuery) isRequest() {}

var commandKind = kind{"server", []string{"loading", "stale"}, []string{"@slow", "@connection"}}

var command = Command{
	Name: "command", Arity: -1, Flags: commandKind.flags, Parse: parseCommand(""),
	Categories: commandKind.categories,
	Group:      "server", Since: "1.0.0", Complexity: "O(N) with N commands",
	Summary: "Shows all commands, for clients.",
	Subcommands: []*Command{
		commandKind.row("command|count", 2, "Answers how many commands there are.", parseCommand("count")),
		commandKind.row("command|list", -2, "Lists the names of the commands.", parseCommand("list"),
			Arg{Name: "filterby", Type: "oneof", Token: "FILTERBY", Optional: true, Args: []Arg{{Name: "module-name", Type: "string", Token: "MODULE"}, {Name: "category", Type: "string", Token: "ACLCAT"}, {Name: "pattern", Type: "string", Token: "PATTERN"}}}),
		commandKind.row("command|info", -2, "Shows some commands, for clients.", parseCommand("info"),
			Arg{Name: "command-name", Type: "string", Optional: true, Multiple: true}),
		commandKind.row("command|docs", -2, "Describes commands, for people.", parseCommand("docs"),
			Arg{Name: "command-name", Type: "string", Optional: true, Multiple: true}),
		commandKind.row("command|getkeys", -3, "Answers the queues that a command names.", parseCommand("getkeys"),
			Arg{Name: "command", Type: "string"},
			Arg{Name: "arg", Type: "string", Optional: true, Multiple: true}),
		commandKind.row("command|help", 2, "Shows these lines.", parseHelp("command")),
	},
}

func parseCommand(sub string) func([][]byte, *Limits) (Request, error) {
	return func(args [][]byte, _ *Limits) (Request, error) {
		return &CommandQuery{Sub: sub, Args: args[min(2, len(args)):]}, nil
	}
}

// CommandReply answers COMMAND from the table.
func CommandReply(q *CommandQuery) Reply {
	switch q.Sub {
	case "":
		return commandInfos(table)
	case "count":
		return Int(len(table))
	case "list":
		return listCommands(q.Args)
	case "info":
		if len(q.Args) == 0 {
			return commandInfos(table)
		}
		rows := make(commandInfos, len(q.Args))
		for i, name := range q.Args {
			rows[i] = lookupFull(name)
		}
		return rows
	case "docs":
		if len(q.Args) == 0 {
			return commandDocs(table)
		}
		var rows commandDocs
		for _, name := range q.Args {
			if c := lookupFull(name); c != nil {
				rows = append(rows, c)
			}
		}
		return rows
	case "getkeys":
		return getKeys(q.Args)
	}
	panic("commands: COMMAND " + q.Sub + " has no answer")
}

// lookupFull finds a row by its full name, "client|setname" for a sub-command.
func lookupFull(name []byte) *Command {
	container, sub, ok := bytes.Cut(name, []byte("|"))
	c := Lookup(container)
	if c != nil && ok {
		return c.subcommand(sub)
	}
	return c
}

// listCommands answers COMMAND LIST [FILTERBY MODULE name | ACLCAT category | PATTERN glob].
func listCommands(args [][]byte) Reply {
	keep := func(*Command) bool { return true }
	switch {
	case len(args) == 0:
	case len(args) != 3 || !isKeyword(args[0], "filterby"):
		return Error("ERR syntax error")
	case isKeyword(args[1], "module"):
		keep = func(*Command) bool { return false }
	case isKeyword(args[1], "aclcat"):
		keep = func(c *Command) bool {
			return slices.ContainsFunc(c.Categories, func(category string) bool { return isKeyword(args[2], category[1:]) })
		}
	case isKeyword(args[1], "pattern"):
		pattern := bytes.ToLower(args[2])
		keep = func(c *Command) bool { return MatchGlob(pattern, []byte(c.Name)) }
	default:
		return Error("ERR syntax error")
	}
	names := Array{}
	var list func(rows []*Command)
	list = func(rows []*Command) {
		for _, c := range rows {
			if keep(c) {
				names = append(names, Bulk(c.Name))
			}
			list(c.Subcommands)
		}
	}
	list(table)
	return names
}

// getKeys answers COMMAND GETKEYS: the keys of the command that args would be.
func getKeys(args [][]byte) Reply {
	c, err := Find(args)
	switch {
	case c == nil:
		return Error("ERR Invalid command specified")
	case err != nil:
		return Error("ERR Invalid number of arguments specified for command")
	}
	first, last, step := c.FirstKey, c.LastKey, c.Step
	if last < 0 {
		last += len(args)
	}
	if c.NumKeys > 0 {
		n, err := parseRange("numkeys", args[c.NumKeys], 1, int64(len(args)-c.NumKeys-1))
		if err != nil {
			return Error("ERR Invalid arguments specified for command")
		}
		first, last, step = c.NumKeys+1, c.NumKeys+int(n), 1
	}
	if first == 0 || first >= len(args) {
		return Error("ERR The command has no key arguments")
	}
	keys := Array{}
	for i := first; i <= last && i < len(args); i += step {
		keys = append(keys, Bulk(args[i]))
	}
	return keys
}

// HelpReply answers the HELP of a container.
func HelpReply(r *Help) Reply {
	c := index[r.Container]
	lines := Array{Status(strings.ToUpper(c.Name) + " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:")}
	for _, sub := range c.Subcommands {
		lines = append(lines, Status(sub.Usage()), Status("    "+sub.Summary))
	}
	return lines
}

// commandInfos is an array of rows in the form of COMMAND; a nil row is null.
type commandInfos []*Command

func (rows commandInfos) WriteReply(w Writer) {
	w.Array(len(rows))
	for _, c := range rows {
		if c == nil {
			w.Null()
			continue
		}
		c.writeInfo(w)
	}
}

// writeInfo writes the ten elements of Redis 7.
func (c *Command) writeInfo(w Writer) {
	w.Array(10)
	w.BulkString(c.Name)
	w.Int(int64(c.Arity))
	writeStatuses(w, c.Flags)
	w.Int(int64(c.FirstKey))
	w.Int(int64(c.LastKey))
	w.Int(int64(c.Step))
	writeStatuses(w, c.Categories)
	w.Array(0) // tips
	c.writeKeySpecs(w)
	w.Array(len(c.Subcommands))
	for _, sub := range c.Subcommands {
		sub.writeInfo(w)
	}
}

func writeStatuses(w Writer, words []string) {
	w.Array(len(words))
	for _, word := range words {
		w.Simple(word)
	}
}

func (c *Command) writeKeySpecs(w Writer) {
	first := c.FirstKey + c.NumKeys // a row has one of them, or neither
	if first == 0 {
		w.Array(0)
		return
	}
	w.Array(1)
	w.Map(3)
	w.BulkString("flags")
	if c.Has("write") {
		writeStatuses(w, []string{"RW", "access", "update"})
	} else {
		writeStatuses(w, []string{"RO", "access"})
	}
	w.BulkString("begin_search")
	w.Map(2)
	w.BulkString("type")
	w.BulkString("index")
	w.BulkString("spec")
	w.Map(1)
	w.BulkString("index")
	w.Int(int64(first))
	w.BulkString("find_keys")
	w.Map(2)
	if c.NumKeys > 0 {
		w.BulkString("type")
		w.BulkString("keynum")
		w.BulkString("spec")
		w.Map(3)
		w.BulkString("keynumidx")
		w.Int(0)
		w.BulkString("firstkey")
		w.Int(1)
		w.BulkString("keystep")
		w.Int(1)
		return
	}
	last := c.LastKey
	if last > 0 {
		last -= first
	}
	w.BulkString("type")
	w.BulkString("range")
	w.BulkString("spec")
	w.Map(3)
	w.BulkString("lastkey")
	w.Int(int64(last))
	w.BulkString("keystep")
	w.Int(int64(c.Step))
	w.BulkString("limit")
	w.Int(0)
}

// commandDocs is a map of rows in the form of COMMAND DOCS. From it redis-cli
// takes its hints, its help and its completion.
type commandDocs []*Command

func (rows commandDocs) WriteReply(w Writer) {
	w.Map(len(rows))
	for _, c := range rows {
		w.BulkString(c.Name)
		c.writeDocs(w)
	}
}

func (c *Command) writeDocs(w Writer) {
	pairs := 4
	if len(c.Args) > 0 {
		pairs++
	}
	if len(c.Subcommands) > 0 {
		pairs++
	}
	w.Map(pairs)
	w.BulkString("summary")
	w.BulkString(c.Summary)
	w.BulkString("since")
	w.BulkString(c.Since)
	w.BulkString("group")
	w.BulkString(c.Group)
	w.BulkString("complexity")
	w.BulkString(c.Complexity)
	if len(c.Args) > 0 {
		w.BulkString("arguments")
		writeArgs(w, c.Args)
	}
	if len(c.Subcommands) > 0 {
		w.BulkString("subcommands")
		commandDocs(c.Subcommands).WriteReply(w)
	}
}

func writeArgs(w Writer, args []Arg) {
	w.Array(len(args))
	for i := range args {
		args[i].write(w)
	}
}

func (a *Arg) write(w Writer) {
	var flags []string
	if a.Optional {
		flags = append(flags, "optional")
	}
	if a.Multiple || a.Repeats {
		flags = append(flags, "multiple")
	}
	if a.Repeats {
		flags = append(flags, "multiple_token")
	}
	pairs := 2
	for _, has := range [...]bool{len(a.Args) == 0, a.Type == "key", a.Token != "", flags != nil, len(a.Args) > 0} {
		if has {
			pairs++
		}
	}
	w.Map(pairs)
	w.BulkString("name")
	w.BulkString(a.Name)
	w.BulkString("type")
	w.BulkString(a.Type)
	if len(a.Args) == 0 {
		w.BulkString("display_text")
		w.BulkString(a.shown())
	}
	if a.Type == "key" {
		w.BulkString("key_spec_index")
		w.Int(0)
	}
	if a.Token != "" {
		w.BulkString("token")
		w.BulkString(a.Token)
	}
	if flags != nil {
		w.BulkString("flags")
		writeStatuses(w, flags)
	}
	if len(a.Args) > 0 {
		w.BulkString("arguments")
		writeArgs(w, a.Args)
	}
}
