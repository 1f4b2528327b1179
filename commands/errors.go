package commands

import (
	"fmt"
	"strings"
)

// Every refusal starts with a code, says what was wrong with which value, and
// what to do instead. Where Redis has a text of its own it stands first and
// unchanged, because clients compare it.

func errf(format string, args ...any) Error { return Error(fmt.Sprintf(format, args...)) }

// syntaxf is Redis's syntax error and, behind it, the reason.
func syntaxf(format string, args ...any) Error {
	return Error("ERR syntax error: " + fmt.Sprintf(format, args...))
}

// notInteger is Redis's text for a number that is none, or out of its range.
func notInteger(what string, arg []byte, min, max int64) Error {
	return errf("ERR value is not an integer or out of range: %s %s, use %d to %d", what, quote(arg), min, max)
}

// WrongArity is Redis's answer to a wrong number of arguments; name is the
// row's name, "client|setname" for a sub-command.
func WrongArity(name string) Error {
	return Error("ERR wrong number of arguments for '" + name + "' command")
}

// UnknownCommand is Redis's answer to a name that no row has. Clients look for
// "unknown command" in it to find out what a server can do.
func UnknownCommand(args [][]byte) Error {
	const cut = 128
	var rest strings.Builder
	for _, arg := range args[1:] {
		if rest.Len() >= cut {
			break
		}
		rest.WriteString("'" + oneLine(arg, cut-rest.Len()) + "' ")
	}
	return Error("ERR unknown command '" + oneLine(args[0], cut) + "', with args beginning with: " + rest.String())
}

// UnknownSubcommand is Redis's answer to a sub-command that the row c does not have.
func UnknownSubcommand(c *Command, sub []byte) Error {
	return Error("ERR unknown subcommand '" + oneLine(sub, 128) + "'. Try " + strings.ToUpper(c.Name) + " HELP.")
}

// UnknownSetting is Redis's answer to a CONFIG SET of a name that is no setting.
func UnknownSetting(name []byte) Error {
	return Error("ERR Unknown option or number of arguments for CONFIG SET - '" + oneLine(name, 128) + "'")
}

// oneLine shows b as Redis does in such texts: cut to max bytes and at the
// first zero byte, with line breaks as spaces.
func oneLine(b []byte, max int) string {
	b = b[:min(len(b), max)]
	line := make([]byte, 0, len(b))
	for _, c := range b {
		switch c {
		case 0:
			return string(line)
		case '\r', '\n':
			c = ' '
		}
		line = append(line, c)
	}
	return string(line)
}

// quoteMax is the number of bytes of a value that an error text shows.
const quoteMax = 64

// quote shows a value in an error text: quoted, printable ASCII, cut.
func quote(b []byte) string {
	const hex = "0123456789abcdef"
	cut := len(b) > quoteMax
	if cut {
		b = b[:quoteMax]
	}
	q := make([]byte, 0, len(b)+8)
	q = append(q, '\'')
	for _, c := range b {
		switch {
		case c == '\'' || c == '\\':
			q = append(q, '\\', c)
		case c < ' ' || c > '~':
			q = append(q, '\\', 'x', hex[c>>4], hex[c&15])
		default:
			q = append(q, c)
		}
	}
	if cut {
		q = append(q, "..."...)
	}
	return string(append(q, '\''))
}
