package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"dqd/cmd/dqd/client"
	"dqd/persist"
	"dqd/raftfsm"
)

// check is the sub-command: it verifies the folder of a server that is not
// running, or a backup, and prints one line per problem.
func check(args []string, stdout, stderr io.Writer) int {
	if len(args) == 1 && args[0] == client.Standard {
		return checkBackup(args[0], stdout, stderr)
	}
	if len(args) != 1 || strings.HasPrefix(args[0], "-") {
		return usageError(stderr, errors.New("write dqd check DIR, the folder of the data, or dqd check FILE, a backup"))
	}
	dir := args[0]
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return checkBackup(dir, stdout, stderr)
	}
	c, err := raftfsm.Check(raftfsm.Options{Dir: dir, FS: persist.PlainFS(), NodeID: nodeName})
	switch {
	case errors.Is(err, persist.ErrLocked):
		err = fmt.Errorf("the folder %s is in use by a dqd: stop it first, a folder that changes cannot be checked", dir)
	case errors.Is(err, os.ErrNotExist):
		fmt.Fprintf(stderr, "dqd: there is no folder and no backup %s\n", dir)
		return exitNone
	case errors.Is(err, raftfsm.ErrForeign):
		err = fmt.Errorf("%s is no folder of dqd: write the one that the setting dir names", dir)
	case errors.Is(err, os.ErrPermission):
		err = fmt.Errorf("%w: check as the user that the server runs as", err)
	}
	if err != nil {
		fmt.Fprintf(stderr, "dqd: %v\n", err)
		return exitFail
	}
	for _, p := range c.Problems {
		fmt.Fprintf(stdout, "problem: %v\n", p)
	}
	if n := len(c.Problems); n > 0 {
		fmt.Fprintf(stdout, "%s: damaged, problems found: %d; nothing was changed\n", dir, n)
		return exitFail
	}
	if c.Empty {
		fmt.Fprintf(stdout, "%s: there is no data in it, nothing was ever stored; a server that starts on it begins with no jobs\n", dir)
		return exitNone
	}
	behind := ""
	if c.Behind > 0 { // as after kill -9
		behind = fmt.Sprintf(" and in %d log entries with commands that the next start adds to it; the jobs of all of them are counted", c.Behind)
	}
	fmt.Fprintf(stdout, "%s: ok, %d live and %d dead jobs in %d queues, in the state at log index %d%s; %d log entries, those of Raft itself (configurations, terms), which have no jobs, among them, and %d tables verified\n",
		dir, c.Live, c.Dead, c.Queues, c.Applied, behind, c.Entries, c.Tables)
	return exitOK
}
