package clients

import (
	"slices"
	"testing"
)

// The proof that a program's mistakes are seen.
func TestCompare(t *testing.T) {
	want := []line{{"connect", "PONG"}, {"add", "a: b"}, {"multi", "one"}}
	for _, c := range []struct {
		printed []string
		wrong   []string
	}{
		{[]string{"connect: PONG", "add: a: b", "multi: one"}, nil},
		{[]string{"connect: PONG", "add: a: b", "multi: error"}, []string{"multi: error, want one"}},
		{[]string{"connect: PONG", "multi: one"}, []string{"add: not done"}},
		{[]string{"connect: PONG", "add: a: b", "add: a: b", "multi: one"}, []string{"add: printed twice"}},
		{[]string{"connect: PONG", "add: a: b", "multi: one", "Traceback"}, []string{`no step of the scenario: "Traceback"`}},
	} {
		if wrong := compare(want, c.printed); !slices.Equal(wrong, c.wrong) {
			t.Errorf("of %q is said %q, want %q", c.printed, wrong, c.wrong)
		}
	}
}

func TestWarnings(t *testing.T) {
	log := "ready resp=127.0.0.1:1\ntime=x level=INFO msg=serving\ntime=x level=WARN msg=\"client closed\"\ntime=x level=ERROR msg=y\npanic: z\n"
	want := []string{`time=x level=WARN msg="client closed"`, "time=x level=ERROR msg=y", "panic: z"}
	if got := warnings(log); !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

func TestScenarioIsRead(t *testing.T) {
	steps := scenario()
	if len(steps) != 15 || steps[0] != (line{"connect", "PONG"}) {
		t.Errorf("%d steps, the first %v", len(steps), steps[0])
	}
}
