package script

import (
	"fmt"
	"strings"
)

// Format prints a reply as redis-cli prints it at a terminal.
func Format(v Value) string {
	var b strings.Builder
	format(&b, v, "")
	return b.String()
}

func format(b *strings.Builder, v Value, prefix string) {
	switch v.Kind {
	case KindStatus:
		b.WriteString(v.Text + "\n")
	case KindError:
		b.WriteString("(error) " + v.Text + "\n")
	case KindInt:
		b.WriteString("(integer) " + v.Text + "\n")
	case KindDouble:
		b.WriteString("(double) " + v.Text + "\n")
	case KindBool:
		if v.Text == "t" {
			b.WriteString("(true)\n")
		} else {
			b.WriteString("(false)\n")
		}
	case KindNull:
		b.WriteString("(nil)\n")
	case KindBulk:
		b.WriteString(quote(v.Text) + "\n")
	default:
		formatList(b, v, prefix)
	}
}

func formatList(b *strings.Builder, v Value, prefix string) {
	mark, empty, step := ')', "(empty array)\n", 1
	switch v.Kind {
	case KindMap:
		mark, empty, step = '#', "(empty hash)\n", 2
	case KindSet:
		mark, empty = '~', "(empty set)\n"
	case KindPush:
		empty = "(empty push)\n"
	}
	if len(v.Items) == 0 {
		b.WriteString(empty)
		return
	}
	width := len(fmt.Sprint(len(v.Items) / step))
	inner := prefix + strings.Repeat(" ", width+2)
	for i := 0; i < len(v.Items); i += step {
		if i > 0 {
			b.WriteString(prefix)
		}
		fmt.Fprintf(b, "%*d%c ", width, i/step+1, mark)
		if v.Kind != KindMap {
			format(b, v.Items[i], inner)
			continue
		}
		var key strings.Builder
		format(&key, v.Items[i], inner)
		b.WriteString(strings.TrimSuffix(key.String(), "\n") + " => ")
		if len(v.Items[i+1].Items) > 0 {
			b.WriteString("\n" + inner)
		}
		format(b, v.Items[i+1], inner)
	}
}

// quote escapes a bulk string as redis-cli does.
func quote(s string) string {
	var b strings.Builder
	b.Grow(len(s) + 2)
	b.WriteByte('"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\', '"':
			b.WriteByte('\\')
			b.WriteByte(c)
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		case '\t':
			b.WriteString(`\t`)
		case '\a':
			b.WriteString(`\a`)
		case '\b':
			b.WriteString(`\b`)
		default:
			if c >= ' ' && c <= '~' {
				b.WriteByte(c)
			} else {
				fmt.Fprintf(&b, `\x%02x`, c)
			}
		}
	}
	b.WriteByte('"')
	return b.String()
}

// formatPicked prints the named fields of a map, one a line.
func formatPicked(v Value, fields []string) string {
	if v.Kind == KindError || v.Kind == KindNull {
		return Format(v)
	}
	var b strings.Builder
	for _, f := range fields {
		if field, ok := v.Pick(f); ok {
			b.WriteString(f + ": ")
			format(&b, field, strings.Repeat(" ", len(f)+2))
		} else {
			b.WriteString(f + ": missing\n")
		}
	}
	return b.String()
}
