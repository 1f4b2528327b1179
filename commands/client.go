package commands

import "math"

// Client is CLIENT: one of the simple sub-commands, checked.
//
//	id getname info             nothing more
//	setname                     Name, may be empty: no name
//	setinfo                     Info lib-name or lib-ver, Name its value
//	no-evict no-touch tracking  On
//	reply                       Info on, off or skip
//	unblock                     ID, and Error to end the block with an error
//	list kill                   Filter
type Client struct {
	Sub    string // lower case
	Info   string // lower case
	Name   []byte
	On     bool
	ID     int64
	Error  bool
	Filter ClientFilter
}

func (*Client) isRequest() {}

// ClientFilter says which clients CLIENT LIST and CLIENT KILL mean: those that
// all given conditions fit.
type ClientFilter struct {
	IDs    []int64
	Type   string // normal master replica pubsub; "" = not given
	User   []byte // nil = not given
	Addr   []byte // ip:port of the client; nil = not given
	LAddr  []byte // ip:port that it connected to; nil = not given
	MaxAge int64  // seconds: connected at least so long; 0 = not given
	// SkipMe spares the connection that asks.
	SkipMe bool
	// Old is the form CLIENT KILL ip:port, which answers OK or an error instead of a count.
	Old bool
}

var (
	clientKind      = kind{"connection", []string{"noscript", "loading", "stale"}, []string{"@slow", "@connection"}}
	clientAdminKind = kind{"connection", []string{"admin", "noscript", "loading", "stale"}, []string{"@admin", "@slow", "@dangerous", "@connection"}}

	onOff = Arg{Name: "switch", Type: "oneof", Args: []Arg{word("ON"), word("OFF")}}
)

var client = Command{
	Name: "client", Arity: -2,
	Categories: []string{"@slow", "@connection"},
	Group:      "connection", Since: "1.0.0", Complexity: "O(1)",
	Summary: "Commands about client connections.",
	Subcommands: []*Command{
		clientKind.row("client|id", 2, "Answers the id of the connection.", parseClient("id")),
		clientKind.row("client|getname", 2, "Answers the name of the connection.", parseClient("getname")),
		clientKind.row("client|setname", 3, "Names the connection.", parseClientSetName,
			Arg{Name: "connection-name", Type: "string"}),
		clientKind.row("client|setinfo", 4, "Notes which library the client uses.", parseClientSetInfo,
			Arg{Name: "attr", Type: "oneof", Args: []Arg{{Name: "libname", Type: "string", Token: "LIB-NAME"}, {Name: "libver", Type: "string", Token: "LIB-VER"}}}),
		clientKind.row("client|info", 2, "Shows the connection.", parseClient("info")),
		clientAdminKind.row("client|list", -2, "Shows the connections.", parseClientList,
			Arg{Name: "which", Type: "oneof", Optional: true, Args: []Arg{{Name: "client-type", Show: "type", Type: "string", Token: "TYPE"}, {Name: "client-id", Type: "integer", Token: "ID", Multiple: true}}}),
		clientAdminKind.row("client|kill", -3, "Closes the connections that fit: by ID, TYPE, USER, ADDR, LADDR, MAXAGE, SKIPME.", parseClientKill,
			Arg{Name: "which", Type: "oneof", Args: []Arg{
				{Name: "old-format", Show: "ip:port", Type: "string"},
				{Name: "filters", Type: "block", Multiple: true, Args: []Arg{{Name: "filter", Type: "string"}, {Name: "value", Type: "string"}}},
			}}),
		clientAdminKind.row("client|unblock", -3, "Ends the wait of a client.", parseClientUnblock,
			Arg{Name: "client-id", Type: "integer"},
			Arg{Name: "unblock-type", Type: "oneof", Optional: true, Args: []Arg{word("TIMEOUT"), word("ERROR")}}),
		clientAdminKind.row("client|no-evict", 3, "Accepted, without effect.", parseClientOn("no-evict"),
			onOff),
		clientKind.row("client|no-touch", 3, "Accepted, without effect.", parseClientOn("no-touch"),
			onOff),
		clientKind.row("client|reply", 3, "Says whether the server answers. A pop that would not be answered is refused: nobody would see its jobs.", parseClientReply,
			Arg{Name: "mode", Type: "oneof", Args: []Arg{word("ON"), word("OFF"), word("SKIP")}}),
		clientKind.row("client|tracking", -3, "Accepted, without effect: nothing is ever cached.", parseClientOn("tracking"),
			onOff,
			Arg{Name: "option", Type: "string", Optional: true, Multiple: true}),
		clientKind.row("client|help", 2, "Shows these lines.", parseHelp("client")),
	},
}

func parseClient(sub string) func([][]byte, *Limits) (Request, error) {
	return func([][]byte, *Limits) (Request, error) { return &Client{Sub: sub}, nil }
}

func parseClientSetName(args [][]byte, _ *Limits) (Request, error) {
	if err := checkClientName(args[2]); err != nil {
		return nil, err
	}
	return &Client{Sub: "setname", Name: args[2]}, nil
}

func parseClientSetInfo(args [][]byte, _ *Limits) (Request, error) {
	r := &Client{Sub: "setinfo", Name: args[3]}
	switch {
	case isKeyword(args[2], "lib-name"):
		r.Info = "lib-name"
	case isKeyword(args[2], "lib-ver"):
		r.Info = "lib-ver"
	default:
		return nil, Error("ERR Unrecognized option '" + oneLine(args[2], 128) + "'")
	}
	if !printable(r.Name) {
		return nil, Error("ERR " + r.Info + " cannot contain spaces, newlines or special characters.")
	}
	if err := checkClientText(r.Info, r.Name); err != nil {
		return nil, err
	}
	return r, nil
}

// parseClientOn reads ON or OFF. What TRACKING has behind it is about a cache
// that no reply of dqd ever enters.
func parseClientOn(sub string) func([][]byte, *Limits) (Request, error) {
	return func(args [][]byte, _ *Limits) (Request, error) {
		switch {
		case isKeyword(args[2], "on"):
			return &Client{Sub: sub, On: true}, nil
		case isKeyword(args[2], "off"):
			return &Client{Sub: sub}, nil
		}
		return nil, syntaxf("%s is neither ON nor OFF", quote(args[2]))
	}
}

func parseClientReply(args [][]byte, _ *Limits) (Request, error) {
	for _, word := range [...]string{"on", "off", "skip"} {
		if isKeyword(args[2], word) {
			return &Client{Sub: "reply", Info: word}, nil
		}
	}
	return nil, syntaxf("%s is none of ON, OFF, SKIP", quote(args[2]))
}

func parseClientUnblock(args [][]byte, _ *Limits) (Request, error) {
	id, ok := parseInt(args[2])
	if !ok {
		return nil, notInteger("client id", args[2], 1, math.MaxInt64)
	}
	r := &Client{Sub: "unblock", ID: id}
	switch {
	case len(args) == 3 || len(args) == 4 && isKeyword(args[3], "timeout"):
	case len(args) == 4 && isKeyword(args[3], "error"):
		r.Error = true
	default:
		return nil, Error("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR")
	}
	return r, nil
}

func parseClientList(args [][]byte, _ *Limits) (Request, error) {
	r := &Client{Sub: "list"}
	switch {
	case len(args) == 2:
		return r, nil
	case len(args) == 4 && isKeyword(args[2], "type"):
		var err error
		if r.Filter.Type, err = parseClientType(args[3]); err != nil {
			return nil, err
		}
		return r, nil
	case len(args) > 3 && isKeyword(args[2], "id"):
		for _, arg := range args[3:] {
			id, err := parseClientID(arg)
			if err != nil {
				return nil, err
			}
			r.Filter.IDs = append(r.Filter.IDs, id)
		}
		return r, nil
	}
	return nil, syntaxf("write CLIENT LIST [TYPE type | ID id ...]")
}

func parseClientKill(args [][]byte, _ *Limits) (Request, error) {
	r := &Client{Sub: "kill"}
	f := &r.Filter
	if len(args) == 3 {
		f.Addr, f.Old = args[2], true
		return r, nil
	}
	f.SkipMe = true
	for c := (cursor{args, 2}); c.more(); {
		filter := c.next()
		if !c.more() {
			return nil, syntaxf("%s needs a value behind it", quote(filter))
		}
		arg := c.next()
		var err error
		switch {
		case isKeyword(filter, "id"):
			var id int64
			id, err = parseClientID(arg)
			f.IDs = append(f.IDs, id)
		case isKeyword(filter, "type"):
			f.Type, err = parseClientType(arg)
		case isKeyword(filter, "user"):
			f.User = notNil(arg)
		case isKeyword(filter, "addr"):
			f.Addr = notNil(arg)
		case isKeyword(filter, "laddr"):
			f.LAddr = notNil(arg)
		case isKeyword(filter, "maxage"):
			f.MaxAge, err = parseRange("MAXAGE", arg, 1, maxInteger)
		case isKeyword(filter, "skipme") && isKeyword(arg, "yes"):
			f.SkipMe = true
		case isKeyword(filter, "skipme") && isKeyword(arg, "no"):
			f.SkipMe = false
		default:
			err = syntaxf("%s %s is no filter of CLIENT KILL", quote(filter), quote(arg))
		}
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

func parseClientID(arg []byte) (int64, error) {
	id, ok := parseInt(arg)
	if !ok || id < 1 {
		return 0, Error("ERR client-id should be greater than 0")
	}
	return id, nil
}

func parseClientType(arg []byte) (string, error) {
	var buf [keywordMax]byte
	switch t := string(keyword(&buf, arg)); t {
	case "normal", "master", "replica", "pubsub":
		return t, nil
	case "slave":
		return "replica", nil
	}
	return "", Error("ERR Unknown client type '" + oneLine(arg, 128) + "'")
}
