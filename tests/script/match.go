package script

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// moment is a time known to lie between two readings of the clock; under
// virtual time the two are equal.
type moment struct{ from, to time.Time }

// bindings are what a script's names stand for.
type bindings struct {
	texts map[string]string
	marks map[string]moment
	// slack widens the moments of a real process, whose clock may be corrected
	// by itself, and catches only a wrong unit or a wrong sum. 0 under virtual time.
	slack time.Duration
	// patterns keeps what was compiled: one line may be tried against thousands.
	patterns map[string]*regexp.Regexp
}

func newBindings(slack time.Duration) *bindings {
	return &bindings{texts: map[string]string{}, marks: map[string]moment{}, slack: slack, patterns: map[string]*regexp.Regexp{}}
}

func (b *bindings) compile(pattern string) *regexp.Regexp {
	re, ok := b.patterns[pattern]
	if !ok {
		re = regexp.MustCompile(pattern)
		b.patterns[pattern] = re
	}
	return re
}

// A name: <name>, <mark+10s>, <mark-1h:ns>.
var namePattern = regexp.MustCompile(`<([a-z][a-z0-9-]*?)(?:([+-])((?:\d+(?:ns|us|ms|s|m|h))+))?(:ns)?>`)

// substitute replaces the <name>s of a command line.
func (b *bindings) substitute(line string) string {
	return namePattern.ReplaceAllStringFunc(line, func(m string) string {
		p := namePattern.FindStringSubmatch(m)
		if text, ok := b.texts[p[1]]; ok && p[2] == "" && p[4] == "" {
			return text
		}
		if mark, ok := b.marks[p[1]]; ok {
			at := mark.to.Add(offset(p[2], p[3])).UnixNano()
			if p[4] == "" {
				at = ceilMs(at)
			}
			return strconv.FormatInt(at, 10)
		}
		return m
	})
}

// match compares expected with actual output. It returns "" when they agree,
// else what is wrong first.
func (b *bindings) match(expected, actual []string) string {
	if len(expected) == 0 {
		if len(actual) == 0 {
			return ""
		}
		return fmt.Sprintf("unexpected line %q", abbreviate(actual[0]))
	}
	if strings.TrimSpace(expected[0]) == "…" {
		if len(expected) == 1 {
			return ""
		}
		// Captures behind an open-ended … are tried at each line in turn.
		for i := range actual {
			try := b.clone()
			if try.match(expected[1:], actual[i:]) == "" {
				*b = *try
				return ""
			}
		}
		return fmt.Sprintf("no line like %q", abbreviate(expected[1]))
	}
	if len(actual) == 0 {
		return fmt.Sprintf("missing line %q", abbreviate(expected[0]))
	}
	if bad := b.matchLine(expected[0], actual[0]); bad != "" {
		return bad
	}
	return b.match(expected[1:], actual[1:])
}

func (b *bindings) matchLine(expected, actual string) string {
	if expected == actual {
		return ""
	}
	differ := fmt.Sprintf("expected %q, got %q", abbreviate(expected), abbreviate(actual))
	if !strings.ContainsAny(expected, "…<") {
		return differ
	}
	var pattern strings.Builder
	pattern.WriteString(`^`)
	var names [][]string // submatches of namePattern, one for each group
	rest := expected
	for rest != "" {
		loc := namePattern.FindStringSubmatchIndex(rest)
		end := len(rest)
		if loc != nil {
			end = loc[0]
		}
		pattern.WriteString(strings.ReplaceAll(regexp.QuoteMeta(rest[:end]), "…", ".*"))
		if loc == nil {
			break
		}
		name := namePattern.FindStringSubmatch(rest[loc[0]:loc[1]])
		if text, known := b.texts[name[1]]; known && name[2] == "" && name[4] == "" {
			pattern.WriteString(regexp.QuoteMeta(text))
		} else {
			names = append(names, name)
			if _, mark := b.marks[name[1]]; mark {
				pattern.WriteString(`(-?\d+)`)
			} else {
				pattern.WriteString(`(.+?)`)
			}
		}
		rest = rest[loc[1]:]
	}
	pattern.WriteString(`$`)
	found := b.compile(pattern.String()).FindStringSubmatch(actual)
	if found == nil {
		return differ
	}
	for i, name := range names {
		if mark, ok := b.marks[name[1]]; ok {
			if bad := b.matchMoment(mark, name, found[i+1]); bad != "" {
				return bad
			}
			continue
		}
		if name[2] != "" || name[4] != "" {
			return fmt.Sprintf("no @mark %s before %s", name[1], name[0])
		}
		if earlier, ok := b.texts[name[1]]; ok && earlier != found[i+1] {
			return fmt.Sprintf("<%s> is %q and %q in one line", name[1], earlier, found[i+1])
		}
		b.texts[name[1]] = found[i+1]
	}
	return ""
}

func (b *bindings) matchMoment(mark moment, name []string, got string) string {
	n, err := strconv.ParseInt(got, 10, 64)
	if err != nil {
		return fmt.Sprintf("%s: %v", name[0], err)
	}
	from := mark.from.Add(offset(name[2], name[3]) - b.slack).UnixNano()
	to := mark.to.Add(offset(name[2], name[3]) + b.slack).UnixNano()
	if name[4] == "" {
		from, to = ceilMs(from), ceilMs(to)
	}
	if n < from || n > to {
		return fmt.Sprintf("%s is %d, expected %d to %d", name[0], n, from, to)
	}
	return ""
}

func (b *bindings) clone() *bindings {
	c := newBindings(b.slack)
	c.patterns = b.patterns
	for k, v := range b.texts {
		c.texts[k] = v
	}
	for k, v := range b.marks {
		c.marks[k] = v
	}
	return c
}

func offset(sign, text string) time.Duration {
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		panic(err) // namePattern lets nothing else through
	}
	if sign == "-" {
		return -d
	}
	return d
}

// ceilMs converts nanoseconds to milliseconds, rounded up.
func ceilMs(ns int64) int64 {
	ms := ns / 1e6
	if ns%1e6 > 0 {
		ms++
	}
	return ms
}
