// Package clients runs stock Redis clients as programs of their own against dqd:
// one scenario, written down in scenario.txt, and a short program for each client
// that does it as one would with that client. ./test.sh installs the clients.
package clients

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed scenario.txt
var scenarioText string

// line is what a program prints for a step.
type line struct{ step, result string }

// scenario returns the steps with the results that are right.
func scenario() (steps []line) {
	for text := range strings.Lines(scenarioText) {
		if text = strings.TrimSpace(text); text != "" && !strings.HasPrefix(text, "#") {
			steps = append(steps, parseLine(text))
		}
	}
	return steps
}

func parseLine(text string) line {
	step, result, _ := strings.Cut(text, ": ")
	return line{step, result}
}

// compare says what is wrong in the output of a program.
func compare(want []line, printed []string) (wrong []string) {
	got := map[string]string{}
	for _, text := range printed {
		l := parseLine(text)
		if _, twice := got[l.step]; twice {
			wrong = append(wrong, fmt.Sprintf("%s: printed twice", l.step))
		}
		got[l.step] = l.result
	}
	for _, w := range want {
		result, done := got[w.step]
		delete(got, w.step)
		switch {
		case !done:
			wrong = append(wrong, fmt.Sprintf("%s: not done", w.step))
		case result != w.result:
			wrong = append(wrong, fmt.Sprintf("%s: %s, want %s", w.step, result, w.result))
		}
	}
	for _, text := range printed {
		if _, unknown := got[parseLine(text).step]; unknown {
			wrong = append(wrong, fmt.Sprintf("no step of the scenario: %q", text))
		}
	}
	return wrong
}

// warnings returns the lines of a server's log that are more than information.
func warnings(log string) (lines []string) {
	for text := range strings.Lines(log) {
		if strings.Contains(text, "level=WARN") || strings.Contains(text, "level=ERROR") || strings.Contains(text, "panic") {
			lines = append(lines, strings.TrimSpace(text))
		}
	}
	return lines
}
