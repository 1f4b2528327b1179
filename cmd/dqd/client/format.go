package client

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// span shows a duration in ms for people, in at most two units.
func span(ms int64) string {
	const second, minute, hour, day = 1000, 60_000, 3_600_000, 86_400_000
	switch {
	case ms < 0:
		return "-" + span(-ms)
	case ms < second:
		return fmt.Sprintf("%dms", ms)
	case ms < minute:
		return fmt.Sprintf("%d.%ds", ms/second, ms%second/100)
	case ms < hour:
		return fmt.Sprintf("%dm%02ds", ms/minute, ms%minute/second)
	case ms < day:
		return fmt.Sprintf("%dh%02dm", ms/hour, ms%hour/minute)
	}
	return fmt.Sprintf("%dd%02dh", ms/day, ms%day/hour)
}

// micros shows a duration in µs.
func micros(us int64) string {
	if us < 100_000 {
		return strconv.FormatFloat(float64(us)/1000, 'f', 2, 64) + "ms"
	}
	return span(us / 1000)
}

// measured shows a duration in µs that is 0 where nothing was measured.
func measured(us int64) string {
	if us == 0 {
		return "-"
	}
	return micros(us)
}

// moment shows a time in Unix ms, and how far it is from now.
func moment(ms, now int64) string {
	at := time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
	if ms > now {
		return at + " (in " + span(ms-now) + ")"
	}
	return at + " (" + span(now-ms) + " ago)"
}

// shown makes a name or a payload fit to be shown: what a terminal might obey, and what
// is no text, is escaped, and then all of it stands in quotes. breaks = lines may be broken.
func shown(s string, breaks bool) string {
	plain := utf8.ValidString(s) && s != "" && !strings.HasPrefix(s, `"`)
	for _, r := range s {
		plain = plain && (unicode.IsPrint(r) || breaks && (r == '\n' || r == '\t'))
	}
	if plain {
		return s
	}
	return strconv.Quote(s)
}

// cut shortens a text to so many characters.
func cut(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + omitted
}

// item is a part of a line.
type item struct {
	text string
	rank int // the higher, the sooner it is left out; 0 = never
}

// omitted stands at the end of a line of which parts were left out.
const omitted = "…"

// fit writes items three blanks apart. Those that matter least are left out where the line
// would be longer than width characters, so that no number is cut; 0 = as long as it is.
func fit(width int, items ...item) string {
	const gap = "   "
	width = cmp.Or(width, math.MaxInt32)
	widths, ranks := make([]int, len(items)), make([]int, len(items))
	for i, it := range items {
		widths[i], ranks[i] = utf8.RuneCountInString(it.text), it.rank
	}
	kept, _ := room(width, len(gap), widths, ranks)
	texts := make([]string, len(kept))
	for at, i := range kept {
		texts[at] = items[i].text
	}
	if len(kept) < len(items) {
		texts = append(texts, omitted)
	}
	return cut(strings.Join(texts, gap), width)
}

// room returns which parts of a line have room in width characters, gap blanks apart, and
// how many characters are free then. Where parts are left out there is room for the mark.
// The one of the highest rank goes first; those of rank 0 stay, even if free is below 0.
func room(width, gap int, widths, ranks []int) (kept []int, free int) {
	free = width + gap
	for i := range widths {
		kept = append(kept, i)
		free -= widths[i] + gap
	}
	for free < 0 {
		last := 0
		for at, i := range kept {
			if ranks[i] > ranks[kept[last]] {
				last = at
			}
		}
		i := kept[last]
		if ranks[i] == 0 {
			break
		}
		if len(kept) == len(widths) {
			free -= gap + utf8.RuneCountInString(omitted)
		}
		free += widths[i] + gap
		kept = slices.Delete(kept, last, last+1)
	}
	return kept, free
}

// column is one of a table.
type column struct {
	head string
	left bool // aligned to the left
	rank int  // the higher, the sooner it is left out; 0 = never
}

// leastName is how far the first column of a table is cut before another one is left out.
const leastName = 16

// table aligns rows under their heads, two blanks between columns. No line is longer than
// width characters: the first column, which is a name, is cut, then those that matter least
// are left out; 0 = as long as it is.
func table(columns []column, rows [][]string, width int) []string {
	const gap = "  "
	width = cmp.Or(width, math.MaxInt32)
	widths, ranks := make([]int, len(columns)), make([]int, len(columns))
	for i, c := range columns {
		widths[i], ranks[i] = utf8.RuneCountInString(c.head), c.rank
		for _, r := range rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(r[i]))
		}
	}
	name := widths[0]
	widths[0] = min(name, leastName)
	kept, free := room(width, len(gap), widths, ranks)
	widths[0] = min(name, max(widths[0]+free, 1))
	line := func(cells func(i int) string) string {
		var b strings.Builder
		for at, i := range kept {
			if at > 0 {
				b.WriteString(gap)
			}
			cell := cells(i)
			if at == 0 {
				cell = cut(cell, widths[i])
			}
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if columns[i].left {
				b.WriteString(cell + pad)
			} else {
				b.WriteString(pad + cell)
			}
		}
		return cut(strings.TrimRight(b.String(), " "), width)
	}
	head := line(func(i int) string { return columns[i].head })
	if len(kept) < len(columns) {
		head = cut(head+gap+omitted, width)
	}
	lines := []string{head}
	for _, r := range rows {
		lines = append(lines, line(func(i int) string { return r[i] }))
	}
	return lines
}

// list aligns names and what belongs to them.
func list(pairs [][2]string) string {
	width := 0
	for _, p := range pairs {
		width = max(width, len(p[0]))
	}
	var b strings.Builder
	for _, p := range pairs {
		fmt.Fprintf(&b, "%-*s  %s\n", width, p[0], p[1])
	}
	return b.String()
}
