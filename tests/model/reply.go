package model

import (
	"fmt"
	"strconv"
	"strings"
)

// Kind says what a Reply is. A server's answers use Null to Map; the rest appear only in what the model expects.
type Kind int

const (
	Null   Kind = iota
	Status      // Str
	Error       // Str, first word is the code; the model may list several: "DUPID|QUEUEFULL why"
	Int         // Num
	Bulk        // Str
	Array       // Items
	Map         // Items: key, value, key, value …

	Any    // anything at all
	None   // nothing to say: a missing key, null, 0, "", or an empty array or map
	OneOf  // one of Items
	Bag    // Items in any order
	Lease  // a token: Num is the model's, Str the job's key
	MadeID // an id that the server made: Str is the model's
)

// Reply is an answer as a tree of plain values.
type Reply struct {
	Kind  Kind
	Str   string
	Num   int64
	Items []Reply
}

func null() Reply                  { return Reply{Kind: Null} }
func any_() Reply                  { return Reply{Kind: Any} }
func none() Reply                  { return Reply{Kind: None} }
func number(n int64) Reply         { return Reply{Kind: Int, Num: n} }
func bulk(s string) Reply          { return Reply{Kind: Bulk, Str: s} }
func status(s string) Reply        { return Reply{Kind: Status, Str: s} }
func array(items ...Reply) Reply   { return Reply{Kind: Array, Items: items} }
func oneOf(items ...Reply) Reply   { return Reply{Kind: OneOf, Items: items} }
func decimal(n int64) Reply        { return bulk(strconv.FormatInt(n, 10)) }
func fail(words, why string) Reply { return Reply{Kind: Error, Str: words + " " + why} }

var (
	errSyntax = fail("ERR", "syntax error")
	errNumber = fail("ERR", "value is not an integer or out of range")
)

func badTime(what string) Reply { return fail("BADTIME", "cannot read "+strconv.Quote(what)) }

func bulkOrNone(s string) Reply {
	if s == "" {
		return none()
	}
	return bulk(s)
}

// Field is the value of a key in a map, or of a flat array of pairs, which is how RESP2 shows a map.
func (r Reply) Field(name string) (Reply, bool) {
	for i := 0; i+1 < len(r.Items); i += 2 {
		if r.Items[i].Str == name {
			return r.Items[i+1], true
		}
	}
	return Reply{}, false
}

// Word is the first word of an error, "" for anything else.
func (r Reply) Word() string {
	if r.Kind != Error {
		return ""
	}
	word, _, _ := strings.Cut(r.Str, " ")
	return word
}

// Plain turns what the model expects into one answer that a server could give.
func (r Reply) Plain() Reply {
	switch r.Kind {
	case Any:
		return number(0)
	case None:
		return null()
	case OneOf:
		return r.Items[0].Plain()
	case Lease:
		return number(r.Num)
	case MadeID:
		return bulk(r.Str)
	case Error:
		words, why, _ := strings.Cut(r.Str, " ")
		word, _, _ := strings.Cut(words, "|")
		return fail(word, why)
	}
	kind := r.Kind
	if kind == Bag {
		kind = Array
	}
	items := make([]Reply, len(r.Items))
	for i, item := range r.Items {
		items[i] = item.Plain()
	}
	return Reply{Kind: kind, Str: r.Str, Num: r.Num, Items: items}
}

// String shows an answer on one line, long strings cut.
func (r Reply) String() string {
	switch r.Kind {
	case Null:
		return "(nil)"
	case Status:
		return r.Str
	case Error:
		return "(error) " + r.Str
	case Int:
		return strconv.FormatInt(r.Num, 10)
	case Bulk:
		return quote(r.Str)
	case Any:
		return "(anything)"
	case None:
		return "(none)"
	case Lease:
		return fmt.Sprintf("t%d", r.Num)
	case MadeID:
		return "made:" + r.Str
	}
	parts := make([]string, len(r.Items))
	for i, item := range r.Items {
		parts[i] = item.String()
	}
	text := strings.Join(parts, " ")
	switch r.Kind {
	case Map:
		return "{" + text + "}"
	case OneOf:
		return "(one of " + text + ")"
	case Bag:
		return "(in any order " + text + ")"
	}
	return "[" + text + "]"
}

const shownBytes = 120

// quote writes a string the way redis-cli reads it. Strings too long to read are cut and say so.
func quote(s string) string {
	if len(s) > shownBytes {
		return fmt.Sprintf("%s…(%d bytes)", quote(s[:24]), len(s))
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
