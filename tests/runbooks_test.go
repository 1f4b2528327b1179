package tests

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"dqd/tests/dqdtest"
)

// The commands on jobs and queues in docs/runbooks.md are taken by the server, as they
// stand there, and the one that is to end a pause ends any.
func TestRunbookCommandsWork(t *testing.T) {
	text, err := os.ReadFile("../docs/runbooks.md")
	if err != nil {
		t.Fatal(err)
	}
	c := dqdtest.Start(t, dqdtest.Options{}).Dial()
	show(t, c, "DQADD queue id x DELAY 1h", "DQPAUSE queue ALL")
	resumed := false
	for _, command := range regexp.MustCompile("`(DQ[A-Z]+ [^`]+)`").FindAllStringSubmatch(string(text), -1) {
		reply := show(t, c, command[1])
		if strings.HasPrefix(command[1], "DQRESUME ") {
			resumed = true
			if !strings.Contains(reply, `"none"`) {
				t.Errorf("what was paused as a whole is still after %s", reply)
			}
		}
	}
	if !resumed {
		t.Error("no command that ends a pause was found")
	}
}
