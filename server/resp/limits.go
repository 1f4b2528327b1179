package resp

// Limits bound what a client may send. A connection starts with Unauthenticated
// limits when a password is set and gets the others once it has given it.
type Limits struct {
	// Args is the largest number of arguments of one command.
	Args int
	// Bulk is the largest announced length of one argument.
	Bulk int
	// Inline is the longest inline command, without its line end: what Redis takes however it is cut into packets.
	Inline int
	// Command is the largest size of one command, headers included.
	Command int
	// Unauthenticated selects Redis's texts for clients that gave no password yet.
	Unauthenticated bool
}

// DefaultLimits are those of a client that may run commands.
func DefaultLimits() Limits {
	return Limits{Args: 65536, Bulk: 16 << 20, Inline: 64 << 10, Command: 18 << 20}
}

// BeforeAuth narrows l to what Redis grants a client before AUTH.
func (l Limits) BeforeAuth() Limits {
	l.Args = min(l.Args, 10)
	l.Bulk = min(l.Bulk, 16<<10)
	l.Unauthenticated = true
	return l
}

// ProtocolError is a violation of the framing. Its text is the whole error
// reply, after which the connection is closed.
type ProtocolError string

func (e ProtocolError) Error() string { return string(e) }

// The texts are Redis's own, except the last, where Redis says nothing.
const (
	errMultibulk       = ProtocolError("ERR Protocol error: invalid multibulk length")
	errMultibulkUnauth = ProtocolError("ERR Protocol error: unauthenticated multibulk length")
	errBulk            = ProtocolError("ERR Protocol error: invalid bulk length")
	errBulkUnauth      = ProtocolError("ERR Protocol error: unauthenticated bulk length")
	errInline          = ProtocolError("ERR Protocol error: too big inline request")
	errQuotes          = ProtocolError("ERR Protocol error: unbalanced quotes in request")
	errCommand         = ProtocolError("ERR Protocol error: command exceeds the query buffer limit")
)
