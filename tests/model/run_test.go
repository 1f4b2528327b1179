package model

import (
	"flag"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

var (
	seedFlag  = flag.Uint64("model.seed", 0, "run only this seed")
	seedsFlag = flag.Uint64("model.seeds", 60, "run seeds 1 to this")
	stepsFlag = flag.Int("model.steps", 600, "steps of one run")
)

func correct() Subject { return Own(New(DefaultSettings())) }

// A model agrees with itself on every history, although its tokens and made ids differ: whatever Run reports is the subject's doing.
func TestModelAgreesWithItself(t *testing.T) {
	if *seedFlag != 0 {
		Run(t, *seedFlag, *stepsFlag, correct)
		return
	}
	for seed := uint64(1); seed <= *seedsFlag; seed++ {
		Run(t, seed, *stepsFlag, correct)
	}
}

// What a check does not look at, two places of a tape may differ in unnoticed: a setting, which
// only later commands show, too.
func TestCheckSeesSettings(t *testing.T) {
	subject := correct()
	r := newRunner(Options{}.withDefaults(), func() Subject { return subject })
	set := func(lease string) []string { return []string{"DQCONFIG", "SET", "jobs", "lease", lease} }
	r.model.Do(r.model.nowNs, r.model.wallNs(), set("30s")...)
	subject.Do(0, set("30s"))
	if text := r.check(); text != "" {
		t.Fatal(text)
	}
	subject.Do(0, set("28500"))
	if text := r.check(); !strings.Contains(text, "DQCONFIG GET jobs") {
		t.Errorf("another lease is reported as %q", text)
	}
}

// A lease that a transaction gave ends with its connection too, where the queue says so.
func TestTransactionHoldsLeases(t *testing.T) {
	m := New(DefaultSettings())
	m.Do(0, 0, "DQCONFIG", "SET", "q", "on-disconnect", "release")
	m.Do(0, 0, "DQADD", "q", "a", "x")
	m.client = 2
	m.Exec(0, 0, [][]string{{"DQPOP", "q"}})
	if m.Drop(1); len(m.inState("q", "leased")) != 1 {
		t.Error("the end of another client takes it")
	}
	if m.Drop(2); len(m.inState("q", "leased")) != 0 {
		t.Error("it is still leased")
	}
}

// The same seed makes the same history: a failure can be repeated from its seed alone.
func TestSeedRepeats(t *testing.T) {
	one, _ := Try(7, 400, Options{}, correct)
	two, _ := Try(7, 400, Options{}, correct)
	if a, b := show(one), show(two); a != b {
		t.Fatal("the histories of one seed differ")
	}
	other, _ := Try(8, 400, Options{}, correct)
	if show(one) == show(other) {
		t.Fatal("the histories of two seeds are equal")
	}
}

func show(ops []Op) string {
	var b strings.Builder
	for _, op := range ops {
		fmt.Fprintf(&b, "%d %s %d %d", op.N, op.Kind, op.Client, op.Ns)
		for _, a := range op.Args {
			b.WriteString(" " + showArg(a))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func showArg(a Arg) string {
	switch {
	case a.Token != nil:
		return fmt.Sprintf("token %q %s %d", a.Token.Queue, showArg(a.Token.ID), a.Token.N)
	case a.Made != nil:
		return fmt.Sprintf("made %v", *a.Made)
	}
	return fmt.Sprintf("%q", a.Text)
}

// Each fault that a server could have is found within a few seeds: the comparer sees, and the generator reaches the state in which it shows.
func TestFaultsAreFound(t *testing.T) {
	const seeds = 40
	for _, kind := range Faults() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			broken := func() Subject { return Broken(New(DefaultSettings()), kind) }
			for seed := uint64(1); seed <= seeds; seed++ {
				if _, bad := Try(seed, *stepsFlag, Options{}, broken); bad != nil {
					t.Logf("seed %d, step %d: %s", seed, bad.Step, bad.Text)
					return
				}
			}
			t.Fatalf("not found in %d seeds: %s", seeds, faults[kind].why)
		})
	}
}

// A failing history of hundreds of ops shrinks to the few that matter, and they still fail.
func TestShrink(t *testing.T) {
	broken := func() Subject { return Broken(New(DefaultSettings()), "swaps GT and LT") }
	for seed := uint64(1); ; seed++ {
		ops, bad := Try(seed, *stepsFlag, Options{}, broken)
		if bad == nil {
			continue
		}
		short, bad := Shrink(ops, Options{}, broken)
		if bad == nil || len(short) > 5 {
			t.Fatalf("%d of %d ops are left: %v", len(short), len(ops), bad)
		}
		t.Logf("%d of %d ops are left: %v", len(short), len(ops), bad)
		return
	}
}

// A server that reads the contract differently at one of the open points is noticed: no reading is out of the generator's reach by accident.
func TestReadingsMatter(t *testing.T) {
	const seeds = 200
	// Not reached on purpose: the generator keeps waits from ending in the nanosecond of a wake-up.
	avoided := map[string]bool{"TimeoutBeatsJob": true}
	kinds := reflect.TypeFor[Readings]()
	for i := range kinds.NumField() {
		name := kinds.Field(i).Name
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings := DefaultSettings()
			reflect.ValueOf(&settings.Readings).Elem().Field(i).SetBool(true)
			other := func() Subject { return Own(New(settings)) }
			for seed := uint64(1); seed <= seeds && !avoided[name]; seed++ {
				if _, bad := Try(seed, *stepsFlag, Options{}, other); bad != nil {
					t.Logf("seed %d, step %d: %s", seed, bad.Step, bad.Text)
					return
				}
			}
			if !avoided[name] {
				t.Fatalf("no history of %d seeds tells the readings apart", seeds)
			}
		})
	}
}
