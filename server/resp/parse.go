package resp

import (
	"errors"

	"github.com/tidwall/redcon"
)

// errUnframed would mean that Framer accepted what redcon does not; a fuzz test
// says that this cannot be.
var errUnframed = errors.New("resp: framed command does not parse")

// Parse cuts a frame's bytes into arguments, appended to args[:0]. The arguments
// of a RESP command alias cmd; those of an inline command are copies.
func Parse(frame Frame, cmd []byte, args [][]byte) ([][]byte, error) {
	if frame.Inline {
		return splitWords(cmd, args[:0])
	}
	if frame.Args == 0 {
		return args[:0], nil
	}
	complete, args, _, rest, err := redcon.ReadNextCommand(cmd, args)
	switch {
	case err != nil:
		return nil, err
	case !complete || len(rest) != 0 || len(args) != frame.Args:
		return nil, errUnframed
	}
	return args, nil
}

// splitWords parses an inline command: words between blanks, where "…" may hold
// the escapes \n \r \t \b \a \\ \" \xHH, '…' only \', and a closing quote must be
// followed by a blank.
func splitWords(line []byte, args [][]byte) ([][]byte, error) {
	i := 0
	at := func(k int) byte { // 0 ends the line, as in Redis
		if k < len(line) {
			return line[k]
		}
		return 0
	}
	for {
		for i < len(line) && blank(line[i]) {
			i++
		}
		if at(i) == 0 {
			return args, nil
		}
		word := []byte{}
		for quote, done := byte(0), false; !done; i++ {
			c := at(i)
			switch {
			case i >= len(line) && quote != 0:
				return nil, errQuotes
			case quote == '"' && c == '\\' && at(i+1) == 'x' && hex(at(i+2)) >= 0 && hex(at(i+3)) >= 0:
				word = append(word, byte(hex(at(i+2))<<4|hex(at(i+3))))
				i += 3
			case quote == '"' && c == '\\' && i+1 < len(line):
				i++
				word = append(word, unescape(line[i]))
			case quote == '\'' && c == '\\' && at(i+1) == '\'':
				i++
				word = append(word, '\'')
			case quote != 0 && c == quote:
				if next := at(i + 1); next != 0 && !blank(next) {
					return nil, errQuotes
				}
				done = true
			case quote != 0:
				word = append(word, c)
			case c == 0 || blank(c):
				done = true
				if c == 0 {
					i-- // leave the end in sight
				}
			case c == '"' || c == '\'':
				quote = c
			default:
				word = append(word, c)
			}
		}
		args = append(args, word)
	}
}

func blank(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func hex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

func unescape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'b':
		return '\b'
	case 'a':
		return '\a'
	}
	return c
}
