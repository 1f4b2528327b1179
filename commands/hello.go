package commands

// Hello is HELLO: it chooses the protocol, and may authenticate and name the connection.
type Hello struct {
	Proto          int // 2 or 3; 0 = not given, the protocol stays
	HasAuth        bool
	User, Password []byte
	HasName        bool
	Name           []byte // may be empty: no name
}

func (*Hello) isRequest() {}

var hello = Command{
	Name: "hello", Arity: -1, Flags: []string{"noscript", "loading", "stale", "fast", "no_auth", "allow_busy"},
	Categories: []string{"@fast", "@connection"},
	Group:      "connection", Since: "1.0.0", Complexity: "O(1)",
	Summary: "Chooses the protocol, and may authenticate and name the connection.",
	Args: []Arg{{Name: "arguments", Type: "block", Optional: true, Args: []Arg{
		{Name: "protover", Type: "integer", Summary: "2 or 3"},
		{Name: "auth", Type: "block", Token: "AUTH", Optional: true, Args: []Arg{{Name: "username", Type: "string"}, {Name: "password", Type: "string"}}},
		{Name: "clientname", Type: "string", Token: "SETNAME", Optional: true},
	}}},
	Parse: parseHello,
}

func parseHello(args [][]byte, _ *Limits) (Request, error) {
	r := &Hello{}
	if len(args) == 1 {
		return r, nil
	}
	proto, ok := parseInt(args[1])
	if !ok {
		return nil, Error("ERR Protocol version is not an integer or out of range")
	}
	if proto != 2 && proto != 3 {
		return nil, Error("NOPROTO unsupported protocol version")
	}
	r.Proto = int(proto)
	for c := (cursor{args, 2}); c.more(); {
		option := c.next()
		switch left := len(c.rest()); {
		case isKeyword(option, "auth") && left >= 2:
			r.HasAuth, r.User, r.Password = true, c.next(), c.next()
		case isKeyword(option, "setname") && left >= 1:
			r.HasName, r.Name = true, c.next()
			if err := checkClientName(r.Name); err != nil {
				return nil, err
			}
		default:
			return nil, Error("ERR Syntax error in HELLO option '" + oneLine(option, 128) + "'")
		}
	}
	return r, nil
}

// clientTextMax bounds each text that a client says about itself: the server
// keeps it as long as the connection.
const clientTextMax = 255

// checkClientName refuses what would break the lines of CLIENT LIST.
func checkClientName(name []byte) error {
	if !printable(name) {
		return Error("ERR Client names cannot contain spaces, newlines or special characters.")
	}
	return checkClientText("client name", name)
}

func checkClientText(what string, text []byte) error {
	if len(text) > clientTextMax {
		return errf("ERR the %s has %d bytes: use at most %d", what, len(text), clientTextMax)
	}
	return nil
}

func printable(s []byte) bool {
	for _, c := range s {
		if c < '!' || c > '~' {
			return false
		}
	}
	return true
}
