package commands

// Config is CONFIG. Args are what follows the sub-command: patterns for get,
// pairs of name and value for set, nothing for the others.
type Config struct {
	Sub  string // get set resetstat rewrite help
	Args [][]byte
}

func (*Config) isRequest() {}

var (
	configKind     = kind{"server", []string{"admin", "noscript", "loading", "stale"}, []string{"@admin", "@slow", "@dangerous"}}
	configHelpKind = kind{"server", []string{"loading", "stale"}, []string{"@slow"}}
)

var config = Command{
	Name: "config", Arity: -2,
	Categories: []string{"@slow"},
	Group:      "server", Since: "1.0.0", Complexity: "O(1)",
	Summary: "Commands about the server's configuration.",
	Subcommands: []*Command{
		configKind.row("config|get", -3, "Shows the settings that match.", parseConfig("get"),
			Arg{Name: "pattern", Type: "string", Multiple: true}),
		configKind.row("config|set", -4, "Refused for now: settings are given when the server starts.", parseConfig("set"),
			Arg{Name: "setting", Type: "block", Multiple: true, Args: []Arg{{Name: "name", Type: "string"}, {Name: "value", Type: "string"}}}),
		configKind.row("config|resetstat", 2, "Sets the statistics of INFO to zero.", parseConfig("resetstat")),
		configKind.row("config|rewrite", 2, "Refused for now: the configuration file is written by its owner.", parseConfig("rewrite")),
		configHelpKind.row("config|help", 2, "Shows these lines.", parseConfig("help")),
	},
}

func parseConfig(sub string) func([][]byte, *Limits) (Request, error) {
	return func(args [][]byte, _ *Limits) (Request, error) {
		if sub == "set" && len(args)%2 != 0 {
			return nil, syntaxf("write CONFIG SET name value [name value ...]")
		}
		return &Config{Sub: sub, Args: args[2:]}, nil
	}
}
