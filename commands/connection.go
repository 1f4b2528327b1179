package commands

// The connection commands that say one thing each.
type (
	// Auth is AUTH; a nil User is the default one.
	Auth struct{ User, Password []byte }
	// Ping is PING; a nil Message is answered with PONG.
	Ping struct{ Message []byte }
	// Echo is ECHO.
	Echo struct{ Message []byte }
	// Quit is QUIT: OK, then the connection ends.
	Quit struct{}
	// Reset is RESET: the connection becomes as it was when new.
	Reset struct{}
	// Select is SELECT 0; there is one database.
	Select struct{}
	// Time is TIME.
	Time struct{}
)

func (*Auth) isRequest()   {}
func (*Ping) isRequest()   {}
func (*Echo) isRequest()   {}
func (*Quit) isRequest()   {}
func (*Reset) isRequest()  {}
func (*Select) isRequest() {}
func (*Time) isRequest()   {}

var auth = Command{
	Name: "auth", Arity: -2, Flags: []string{"noscript", "loading", "stale", "fast", "no_auth", "allow_busy"},
	Categories: []string{"@fast", "@connection"},
	Group:      "connection", Since: "1.0.0", Complexity: "O(1)",
	Summary: "Authenticates the connection.",
	Args:    []Arg{{Name: "username", Type: "string", Optional: true}, {Name: "password", Type: "string"}},
	Parse: func(args [][]byte, _ *Limits) (Request, error) {
		switch len(args) {
		case 2:
			return &Auth{Password: args[1]}, nil
		case 3:
			return &Auth{User: args[1], Password: args[2]}, nil
		}
		return nil, syntaxf("write AUTH [user] password")
	},
}

var ping = Command{
	Name: "ping", Arity: -1, Flags: []string{"fast"},
	Categories: []string{"@fast", "@connection"},
	Group:      "connection", Since: "1.0.0", Complexity: "O(1)",
	Summary: "Answers PONG, or the message.",
	Args:    []Arg{{Name: "message", Type: "string", Optional: true}},
	Parse: func(args [][]byte, _ *Limits) (Request, error) {
		switch len(args) {
		case 1:
			return &Ping{}, nil
		case 2:
			return &Ping{Message: notNil(args[1])}, nil
		}
		return nil, WrongArity("ping")
	},
}

var echo = Command{
	Name: "echo", Arity: 2, Flags: []string{"fast"},
	Categories: []string{"@fast", "@connection"},
	Group:      "connection", Since: "1.0.0", Complexity: "O(1)",
	Summary: "Answers the message.",
	Args:    []Arg{{Name: "message", Type: "string"}},
	Parse:   func(args [][]byte, _ *Limits) (Request, error) { return &Echo{Message: args[1]}, nil },
}

var quit = Command{
	Name: "quit", Arity: -1, Flags: []string{"noscript", "loading", "stale", "fast", "no_auth", "allow_busy"},
	Categories: []string{"@fast", "@connection"},
	Group:      "connection", Since: "1.0.0", Complexity: "O(1)",
	Summary: "Closes the connection.",
	Parse:   func([][]byte, *Limits) (Request, error) { return &Quit{}, nil },
}

var reset = Command{
	Name: "reset", Arity: 1, Flags: []string{"noscript", "loading", "stale", "fast", "no_auth", "allow_busy"},
	Categories: []string{"@fast", "@connection"},
	Group:      "connection", Since: "1.0.0", Complexity: "O(1)",
	Summary: "Makes the connection as it was when new.",
	Parse:   func([][]byte, *Limits) (Request, error) { return &Reset{}, nil },
}

var selectDB = Command{
	Name: "select", Arity: 2, Flags: []string{"loading", "stale", "fast"},
	Categories: []string{"@fast", "@connection"},
	Group:      "connection", Since: "1.0.0", Complexity: "O(1)",
	Summary: "Selects the database; there is only 0.",
	Args:    []Arg{{Name: "index", Type: "integer"}},
	Parse: func(args [][]byte, _ *Limits) (Request, error) {
		n, ok := parseInt(args[1])
		switch {
		case !ok:
			return nil, Error("ERR value is not an integer or out of range")
		case n != 0:
			return nil, Error("ERR DB index is out of range")
		}
		return &Select{}, nil
	},
}

var timeNow = Command{
	Name: "time", Arity: 1, Flags: []string{"loading", "stale", "fast"},
	Categories: []string{"@fast"},
	Group:      "server", Since: "1.0.0", Complexity: "O(1)",
	Summary: "Answers the server's time as seconds and microseconds.",
	Parse:   func([][]byte, *Limits) (Request, error) { return &Time{}, nil },
}

// notNil tells an empty argument from one that was not given.
func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
