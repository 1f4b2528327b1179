package commands

// Shutdown is SHUTDOWN. What was answered is on disk, so SAVE and NOSAVE are the
// same, and there is nobody to wait for, so NOW and FORCE add nothing.
type Shutdown struct{ Abort bool }

func (*Shutdown) isRequest() {}

// errDebug is the answer to DEBUG. Redis goes on with the setting that allows it.
const errDebug = Error("ERR DEBUG command not allowed. dqd has none of its sub-commands, and no setting that brings them.")

var shutdown = Command{
	Name: "shutdown", Arity: -1, Flags: []string{"admin", "noscript", "loading", "stale", "no_multi", "allow_busy"},
	Categories: []string{"@admin", "@slow", "@dangerous"},
	Group:      "server", Since: "1.0.0", Complexity: "O(1)",
	Summary: "Ends the server as SIGTERM does: clients are served to the end, waiting pops get null. No reply: the connection closes. All jobs are kept, whatever the option.",
	Args: []Arg{
		{Name: "save-selector", Type: "oneof", Optional: true, Args: []Arg{word("NOSAVE"), word("SAVE")}},
		{Name: "now", Type: "pure-token", Token: "NOW", Optional: true},
		{Name: "force", Type: "pure-token", Token: "FORCE", Optional: true},
		{Name: "abort", Type: "pure-token", Token: "ABORT", Optional: true},
	},
	Parse: parseShutdown,
}

func parseShutdown(args [][]byte, _ *Limits) (Request, error) {
	r := &Shutdown{}
	save := ""
	for _, arg := range args[1:] {
		var buf [keywordMax]byte
		switch word := string(keyword(&buf, arg)); word {
		case "save", "nosave":
			if save != "" && save != word {
				return nil, syntaxf("SAVE and NOSAVE exclude each other: give one of them")
			}
			save = word
		case "now", "force":
		case "abort":
			r.Abort = true
		default:
			return nil, syntaxf("%s is none of NOSAVE, SAVE, NOW, FORCE, ABORT", quote(arg))
		}
	}
	if r.Abort && len(args) > 2 {
		return nil, syntaxf("ABORT stands alone")
	}
	return r, nil
}

// debug is refused, always: nothing in it is for a server in use.
var debug = Command{
	Name: "debug", Arity: -2, Flags: []string{"admin", "noscript", "loading", "stale"},
	Categories: []string{"@admin", "@slow", "@dangerous"},
	Group:      "server", Since: "1.0.0", Complexity: "O(1)",
	Summary: "Refused.",
	Args:    []Arg{{Name: "subcommand", Type: "string"}, {Name: "arg", Type: "string", Optional: true, Multiple: true}},
	Parse:   func([][]byte, *Limits) (Request, error) { return nil, errDebug },
}
