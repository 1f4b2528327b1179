package script

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// SplitArgs splits a command line into arguments as redis-cli does: blanks
// separate, "…" knows escapes (\n \r \t \a \b \xHH), '…' knows only \'.
func SplitArgs(line string) ([]string, error) {
	var args []string
	i := 0
	for {
		for i < len(line) && isBlank(line[i]) {
			i++
		}
		if i == len(line) {
			return args, nil
		}
		arg, next, err := splitArg(line, i)
		if err != nil {
			return nil, fmt.Errorf("split %q: %w", abbreviate(line), err)
		}
		args = append(args, arg)
		i = next
	}
}

func splitArg(line string, i int) (arg string, next int, err error) {
	var b strings.Builder
	for i < len(line) && !isBlank(line[i]) {
		switch line[i] {
		case '"':
			end := i + 1
			for end < len(line) && line[end] != '"' {
				if line[end] == '\\' {
					end++
				}
				end++
			}
			if end >= len(line) {
				return "", 0, fmt.Errorf("unbalanced double quotes")
			}
			b.WriteString(unescape(line[i+1 : end]))
			i = end + 1
			if i < len(line) && !isBlank(line[i]) {
				return "", 0, fmt.Errorf("a closing quote must be followed by a blank")
			}
		case '\'':
			i++
			for i < len(line) && line[i] != '\'' {
				if line[i] == '\\' && i+1 < len(line) && line[i+1] == '\'' {
					i++
				}
				b.WriteByte(line[i])
				i++
			}
			if i == len(line) {
				return "", 0, fmt.Errorf("unbalanced single quotes")
			}
			i++
			if i < len(line) && !isBlank(line[i]) {
				return "", 0, fmt.Errorf("a closing quote must be followed by a blank")
			}
		default:
			b.WriteByte(line[i])
			i++
		}
	}
	return b.String(), i, nil
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch s[i] {
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 't':
			b.WriteByte('\t')
		case 'a':
			b.WriteByte('\a')
		case 'b':
			b.WriteByte('\b')
		case 'x':
			if i+2 < len(s) {
				if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
					b.WriteByte(byte(n))
					i += 2
					continue
				}
			}
			b.WriteByte('x')
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

var macroPattern = regexp.MustCompile(`\{\{(repeat|seq) "((?:[^"\\]|\\.)*)"((?: -?\d+)+)\}\}`)

// expandMacros replaces {{repeat …}} and {{seq …}} in a line.
func expandMacros(line string) (string, error) {
	var bad error
	out := macroPattern.ReplaceAllStringFunc(line, func(m string) string {
		parts := macroPattern.FindStringSubmatch(m)
		text := parts[2]
		var n []int
		for _, f := range strings.Fields(parts[3]) {
			v, err := strconv.Atoi(f)
			if err != nil {
				bad = err
			}
			n = append(n, v)
		}
		switch {
		case parts[1] == "repeat" && len(n) == 1:
			return strings.Repeat(text, n[0])
		case parts[1] == "seq" && len(n) == 2:
			words := make([]string, 0, max(0, n[1]-n[0]+1))
			for i := n[0]; i <= n[1]; i++ {
				words = append(words, strings.ReplaceAll(text, "%d", strconv.Itoa(i)))
			}
			return strings.Join(words, " ")
		}
		bad = fmt.Errorf("macro %s: wrong number of arguments", m)
		return m
	})
	if bad == nil && strings.Contains(out, "{{") {
		bad = fmt.Errorf("unknown macro in %q", abbreviate(line))
	}
	return out, bad
}

// abbreviate cuts a line for an error message.
func abbreviate(s string) string {
	if len(s) <= 200 {
		return s
	}
	return fmt.Sprintf("%s… (%d bytes)", s[:200], len(s))
}
