package commands

// Writer encodes one reply for one connection. Its methods append to a buffer
// and never fail; the protocol version decides between RESP2 and RESP3 forms.
type Writer interface {
	// Simple writes a status such as OK. Line breaks in s become spaces.
	Simple(s string)
	// Error writes an error whose first word is its code: "DUPID id is …".
	Error(s string)
	// Int writes an integer; by contract |n| < 2^53.
	Int(n int64)
	// Bulk writes a binary-safe string.
	Bulk(b []byte)
	// BulkString is Bulk for a string.
	BulkString(s string)
	// Null writes a null bulk string in RESP2, _ in RESP3.
	Null()
	// NullArray writes a null array in RESP2, _ in RESP3.
	NullArray()
	// Array announces n elements that follow.
	Array(n int)
	// Map announces n pairs that follow: 2n array elements in RESP2, % in RESP3.
	Map(n int)
}

// Reply is the answer to a request. It is immutable once returned.
type Reply interface {
	// WriteReply appends the reply to w.
	WriteReply(w Writer)
}

// Simple replies, shared by many commands.
type (
	// Status is a simple string.
	Status string
	// Error is an error reply, code first.
	Error string
	// Int is an integer reply.
	Int int64
	// Bulk is one binary-safe string.
	Bulk []byte
	// Null is the null bulk string.
	Null struct{}
	// NullArray is the null array.
	NullArray struct{}
	// Codes is an array of result codes, one per id.
	Codes []Code
	// Array is an array of replies.
	Array []Reply
)

// Code says what a command did to one id.
type Code int8

// The numbers are the wire contract.
const (
	Done       Code = 1  // done
	NotMet     Code = 0  // condition not met
	BadToken   Code = -1 // not the job's latest valid token
	NoSuchJob  Code = -2 // unknown id
	WrongState Code = -3 // dead where live is needed, nothing leased for *, leased
	BeyondMax  Code = -4 // beyond lease-max
)

// OK is the status most commands answer.
const OK = Status("OK")

func (s Status) WriteReply(w Writer)  { w.Simple(string(s)) }
func (e Error) WriteReply(w Writer)   { w.Error(string(e)) }
func (n Int) WriteReply(w Writer)     { w.Int(int64(n)) }
func (b Bulk) WriteReply(w Writer)    { w.Bulk(b) }
func (Null) WriteReply(w Writer)      { w.Null() }
func (NullArray) WriteReply(w Writer) { w.NullArray() }
func (c Code) WriteReply(w Writer)    { w.Int(int64(c)) }

func (c Codes) WriteReply(w Writer) {
	w.Array(len(c))
	for _, code := range c {
		w.Int(int64(code))
	}
}

func (a Array) WriteReply(w Writer) {
	w.Array(len(a))
	for _, r := range a {
		r.WriteReply(w)
	}
}

// Error implements the error interface, so that parsers can return it as one.
func (e Error) Error() string { return string(e) }
