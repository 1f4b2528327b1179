package script

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
)

// Kind is the first byte of a RESP value.
type Kind byte

const (
	KindStatus Kind = '+'
	KindError  Kind = '-'
	KindInt    Kind = ':'
	KindBulk   Kind = '$'
	KindArray  Kind = '*'
	KindMap    Kind = '%' // Items holds keys and values in turn
	KindSet    Kind = '~'
	KindPush   Kind = '>'
	KindNull   Kind = '_' // also RESP2's null bulk string and null array
	KindDouble Kind = ','
	KindBool   Kind = '#'
)

// Value is one reply.
type Value struct {
	Kind  Kind
	Text  string // of everything that is not a list
	Items []Value
	// NullKind tells RESP2's "$-1" ('$') and "*-1" ('*') from RESP3's "_" ('_').
	NullKind Kind
}

// Err returns an error reply as an error, else nil.
func (v Value) Err() error {
	if v.Kind == KindError {
		return fmt.Errorf("%s", v.Text)
	}
	return nil
}

// Int returns an integer reply, or a number in a string; 0 for anything else.
func (v Value) Int() int64 {
	n, _ := strconv.ParseInt(v.Text, 10, 64)
	return n
}

// Pick returns the value of a field of a map, whether RESP2 or RESP3.
func (v Value) Pick(field string) (Value, bool) {
	for i := 0; i+1 < len(v.Items); i += 2 {
		if v.Items[i].Text == field {
			return v.Items[i+1], true
		}
	}
	return Value{}, false
}

// The largest reply that a test can mean; more is a server gone wrong.
const maxReplyBytes = 64 << 20

// ReadValue reads one reply, RESP2 or RESP3, strictly: anything that the
// protocol does not allow is an error.
func ReadValue(r *bufio.Reader) (Value, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return Value{}, err
	}
	if len(line) < 3 || line[len(line)-2] != '\r' {
		return Value{}, fmt.Errorf("reply line %q does not end in CR LF", line)
	}
	kind, text := Kind(line[0]), line[1:len(line)-2]
	switch kind {
	case KindStatus, KindError:
		return Value{Kind: kind, Text: text}, nil
	case KindInt:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return Value{}, fmt.Errorf("reply %q: %w", line, err)
		}
		if n >= 1<<53 || n <= -1<<53 {
			return Value{}, fmt.Errorf("integer reply %d is not below 2^53", n)
		}
		return Value{Kind: kind, Text: text}, nil
	case KindDouble, KindBool:
		return Value{Kind: kind, Text: text}, nil
	case KindNull:
		return Value{Kind: KindNull, NullKind: KindNull}, nil
	case KindBulk:
		return readBulk(r, text)
	case KindArray, KindSet, KindPush, KindMap:
		return readList(r, kind, text)
	}
	return Value{}, fmt.Errorf("reply of a type that dqd never sends: %q", abbreviate(line))
}

func readBulk(r *bufio.Reader, length string) (Value, error) {
	n, err := strconv.Atoi(length)
	if err != nil || n < -1 || n > maxReplyBytes {
		return Value{}, fmt.Errorf("bulk string of length %q", length)
	}
	if n == -1 {
		return Value{Kind: KindNull, NullKind: KindBulk}, nil
	}
	b := make([]byte, n+2)
	if _, err := io.ReadFull(r, b); err != nil {
		return Value{}, err
	}
	if b[n] != '\r' || b[n+1] != '\n' {
		return Value{}, fmt.Errorf("bulk string of %d bytes does not end in CR LF", n)
	}
	return Value{Kind: KindBulk, Text: string(b[:n])}, nil
}

func readList(r *bufio.Reader, kind Kind, length string) (Value, error) {
	n, err := strconv.Atoi(length)
	if err != nil || n < -1 || n > maxReplyBytes/4 {
		return Value{}, fmt.Errorf("list of length %q", length)
	}
	if n == -1 {
		if kind != KindArray {
			return Value{}, fmt.Errorf("a null of kind %q", kind)
		}
		return Value{Kind: KindNull, NullKind: KindArray}, nil
	}
	if kind == KindMap {
		n *= 2
	}
	v := Value{Kind: kind}
	for range n {
		item, err := ReadValue(r)
		if err != nil {
			return Value{}, err
		}
		v.Items = append(v.Items, item)
	}
	return v, nil
}

// AppendCommand appends a command in RESP.
func AppendCommand(b []byte, args ...string) []byte {
	b = append(b, '*')
	b = strconv.AppendInt(b, int64(len(args)), 10)
	b = append(b, '\r', '\n')
	for _, a := range args {
		b = append(b, '$')
		b = strconv.AppendInt(b, int64(len(a)), 10)
		b = append(b, '\r', '\n')
		b = append(b, a...)
		b = append(b, '\r', '\n')
	}
	return b
}
