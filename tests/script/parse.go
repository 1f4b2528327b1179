package script

import (
	"fmt"
	"os"
	"strings"
)

// Script is a parsed script file.
type Script struct {
	Path string
	// Config are the settings that the server starts with.
	Config map[string]string
	// VirtualOnly and RealOnly give the reason why one of the two backends cannot run it.
	VirtualOnly, RealOnly string

	steps []*step
}

// step is one thing that happens, and what must come out of it.
type step struct {
	line     int      // of the file, from 1
	verb     string   // "command", or a directive's name
	text     []string // command lines of a pipeline, or the directive's argument
	expected []string // lines
	// first and last lines of the expected output in the file, from 0, last
	// excluded; for rewriting.
	from, to int
}

// expectsOutput tells the directives that are followed by output.
func (s *step) expectsOutput() bool {
	return s.verb == "command" || s.verb == "wait" || s.verb == "raw"
}

// Load parses a script file.
func Load(path string) (*Script, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, string(text))
}

// Parse parses a script's text; path is for messages.
func Parse(path, text string) (*Script, error) {
	s := &Script{Path: path, Config: map[string]string{}}
	var current *step
	for i, line := range strings.Split(text, "\n") {
		fail := func(format string, args ...any) (*Script, error) {
			return nil, fmt.Errorf("%s:%d: %s", path, i+1, fmt.Sprintf(format, args...))
		}
		line = strings.TrimRight(line, " \t\r")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
			current = nil
		case strings.HasPrefix(line, "> "):
			command := strings.TrimSpace(line[2:])
			if current != nil && current.verb == "command" && len(current.expected) == 0 {
				current.text = append(current.text, command)
				current.from, current.to = i+1, i+1
				continue
			}
			current = &step{line: i + 1, verb: "command", text: []string{command}, from: i + 1, to: i + 1}
			s.steps = append(s.steps, current)
		case strings.HasPrefix(line, "@"):
			verb, argument, _ := strings.Cut(line[1:], " ")
			argument = strings.TrimSpace(argument)
			current = nil
			known, err := s.header(verb, argument)
			if err != nil {
				return fail("%v", err)
			}
			if known {
				if len(s.steps) > 0 {
					return fail("@%s must stand before the first command", verb)
				}
				continue
			}
			next := &step{line: i + 1, verb: verb, text: []string{argument}, from: i + 1, to: i + 1}
			switch verb {
			case "client", "clock", "mark", "closed", "close", "resp", "restart":
			case "wait", "raw":
				current = next
			default:
				return fail("unknown directive @%s", verb)
			}
			s.steps = append(s.steps, next)
		default:
			if current == nil {
				return fail("output %q belongs to no command", abbreviate(line))
			}
			current.expected = append(current.expected, line)
			current.to = i + 1
		}
	}
	if s.VirtualOnly != "" && s.RealOnly != "" {
		return nil, fmt.Errorf("%s: @virtual and @real exclude each other", path)
	}
	return s, nil
}

// header takes the directives that concern the whole script.
func (s *Script) header(verb, argument string) (known bool, err error) {
	switch verb {
	case "config":
		name, value, ok := strings.Cut(argument, " ")
		if !ok {
			return true, fmt.Errorf("@config needs a name and a value")
		}
		s.Config[name] = strings.TrimSpace(value)
	case "virtual":
		s.VirtualOnly = argument
	case "real":
		s.RealOnly = argument
	default:
		return false, nil
	}
	if argument == "" {
		return true, fmt.Errorf("@%s needs a reason", verb)
	}
	return true, nil
}

// rewrite returns the file's text with new outputs at the given steps.
func rewrite(text string, outputs map[*step][]string) string {
	lines := strings.Split(text, "\n")
	at := map[int]*step{}
	for s := range outputs {
		at[s.from] = s
	}
	var out []string
	for i := 0; i <= len(lines); i++ {
		if s, ok := at[i]; ok {
			out = append(out, outputs[s]...)
			i = s.to
			if i > len(lines) {
				break
			}
		}
		if i < len(lines) {
			out = append(out, lines[i])
		}
	}
	return strings.Join(out, "\n")
}

// Check reports what can be known to be wrong in a script without running it:
// macros and arguments.
func (s *Script) Check() error {
	for _, st := range s.steps {
		texts := st.expected
		if st.verb == "command" || st.verb == "raw" {
			texts = append(texts[:len(texts):len(texts)], st.text...)
		}
		for i, text := range texts {
			line, err := expandMacros(text)
			if err == nil && i >= len(st.expected) {
				command, _ := cutPick(line)
				_, err = SplitArgs(command)
			}
			if err != nil {
				return fmt.Errorf("%s:%d: %w", s.Path, st.line, err)
			}
		}
		if st.expectsOutput() && len(st.expected) == 0 {
			return fmt.Errorf("%s:%d: no expected output", s.Path, st.line)
		}
	}
	return nil
}
