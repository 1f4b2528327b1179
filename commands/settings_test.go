package commands

import (
	"strings"
	"testing"

	"dqd/persist/record"
)

// Beside every setting that takes a duration stands what a bare number means.
func TestDurationSettingsSayTheirUnit(t *testing.T) {
	durations := 0
	for _, s := range settings {
		takes := false
		for _, value := range []string{"250ms", "exp:250ms:1h"} {
			takes = takes || s.parse(new(record.Settings), []byte(value), DefaultLimits()) == nil
		}
		if takes {
			durations++
		}
		if strings.HasSuffix(s.text, bareNumber) != takes {
			t.Errorf("%s takes a duration: %v; its text is %q", s.name, takes, s.text)
		}
	}
	if durations < 7 {
		t.Errorf("%d settings take a duration", durations)
	}
}
