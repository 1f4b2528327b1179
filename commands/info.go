package commands

// Info is INFO. No sections = the usual ones.
type Info struct{ Sections []string } // lower case

func (*Info) isRequest() {}

var info = Command{
	Name: "info", Arity: -1, Flags: []string{"loading", "stale"},
	Categories: []string{"@slow", "@dangerous"},
	Group:      "server", Since: "1.0.0", Complexity: "O(1)",
	Summary: "Shows the state of the server.",
	Args:    []Arg{{Name: "section", Type: "string", Optional: true, Multiple: true}},
	Parse: func(args [][]byte, _ *Limits) (Request, error) {
		r := &Info{}
		for _, arg := range args[1:] {
			var buf [keywordMax]byte
			// What is too long for a section becomes "", unknown as well.
			r.Sections = append(r.Sections, string(keyword(&buf, arg)))
		}
		return r, nil
	},
}
