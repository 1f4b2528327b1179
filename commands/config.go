package commands

// Config is CONFIG. Args are what follows the sub-command: patterns for get,
// pairs of name and value for set, nothing for the others.
type Config struct {
	Sub  string // get set resetstat rewrite
	Args [][]byte
}

func (*Config) isRequest() {}

var configKind = kind{"server", []string{"admin", "noscript", "loading", "stale"}, []string{"@admin", "@slow", "@dangerous"}}

var config = Command{
	Name: "config", Arity: -2,
	Categories: []string{"@slow"},
	Group:      "server", Since: "1.0.0", Complexity: "O(1)",
	Summary: "Commands about the server's configuration.",
	Subcommands: []*Command{
		configKind.row("config|get", -3, "Shows the settings that match.", parseConfig("get"),
			Arg{Name: "pattern", Type: "string", Multiple: true}),
		configKind.row("config|set", -4, "Changes settings, all or none, until the server ends. CONFIG GET shows more than can be changed.", parseConfig("set"),
			Arg{Name: "setting", Type: "block", Multiple: true, Args: []Arg{{Name: "name", Type: "string"}, {Name: "value", Type: "string"}}}),
		configKind.row("config|resetstat", 2, "Sets the statistics of INFO and LATENCY HISTOGRAM to zero.", parseConfig("resetstat")),
		configKind.row("config|rewrite", 2, "Refused: the configuration file is written by its owner.", parseConfig("rewrite")),
		helpKind.row("config|help", 2, "Shows these lines.", parseHelp("config")),
	},
}

func parseConfig(sub string) func([][]byte, *Limits) (Request, error) {
	return func(args [][]byte, lim *Limits) (Request, error) {
		if n := len(args) - 2; n > lim.MaxFields {
			return nil, errf("ERR %d arguments, the limit is %d: send several commands", n, lim.MaxFields)
		}
		if sub == "set" && len(args)%2 != 0 {
			return nil, syntaxf("write CONFIG SET name value [name value ...]")
		}
		return &Config{Sub: sub, Args: args[2:]}, nil
	}
}
