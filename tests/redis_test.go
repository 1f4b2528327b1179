package tests

import (
	"slices"
	"strings"
	"testing"

	"dqd/tests/dqdtest"
	"dqd/tests/script"
)

// What every Redis client needs is answered as by a real redis-server: both get
// the same sessions, each on a new connection, and the replies must be equal.
func TestConnectionCommandsAreAnsweredAsByRedis(t *testing.T) {
	sessions := []string{
		`PING; PING hello; PING ""; PING a b; ECHO "a\x00\xff\r\n"; ECHO; ECHO a b`,
		`SELECT 0; SELECT 16; SELECT -1; SELECT 1x; SELECT`,
		`NONSENSE; nonsense a b; "NON SENSE" 'a b' ""; NONSENSE "a\r\nb"; ""`,
		`HELLO 4; HELLO 1; HELLO 0; HELLO -1; HELLO x; HELLO 3 NONSENSE; HELLO 3 AUTH; HELLO 3 AUTH a; HELLO 3 SETNAME`,
		`HELLO 2 SETNAME "a b"; CLIENT GETNAME; CLIENT SETNAME me; CLIENT GETNAME; RESET; CLIENT GETNAME; PING`,
		`CLIENT SETNAME "a b"; CLIENT SETNAME; CLIENT NONSENSE; CLIENT; CLIENT ID x; CLIENT GETNAME x`,
		`CLIENT UNBLOCK 999999; CLIENT UNBLOCK x; CLIENT UNBLOCK 999999 NONSENSE; CLIENT KILL ID 999999`,
		`AUTH; AUTH a b c; AUTH wrong; AUTH default wrong; AUTH nobody wrong`,
		`RESET x; QUIT`,
		`QUIT x`,
		`COMMAND NONSENSE; COMMAND INFO nonsense; COMMAND GETKEYS NONSENSE x; COMMAND GETKEYS PING x`,
		`CONFIG; CONFIG NONSENSE; CONFIG GET; CONFIG GET nonsense; CONFIG GET save`,
		`INFO nonsense; TIME x`,
		`SLOWLOG; SLOWLOG NONSENSE; SLOWLOG GET 0; SLOWLOG GET -2; SLOWLOG GET x; SLOWLOG GET 1 2; SLOWLOG LEN x; SLOWLOG RESET; SLOWLOG LEN`,
		`LATENCY; LATENCY NONSENSE; LATENCY HISTORY; LATENCY HISTORY nonsense; LATENCY RESET nonsense; LATENCY HISTOGRAM nonsense`,
		`MEMORY; MEMORY NONSENSE; MEMORY USAGE; MEMORY USAGE x; MEMORY USAGE x SAMPLES 5; MEMORY USAGE x SAMPLES; MEMORY USAGE x SAMPLES -1; MEMORY USAGE x NONSENSE 5`,
		`ROLE; ROLE x; WAIT 0 0; WAIT 1 1; WAIT x 1; WAIT 0 x; WAIT 0 -1; WAIT 0`,
		`CLUSTER; CLUSTER NONSENSE; CLUSTER INFO; CLUSTER SLOTS; CLUSTER SHARDS; CLUSTER NODES; CLUSTER MYID; CLUSTER KEYSLOT x; CLUSTER KEYSLOT; CLUSTER COUNTKEYSINSLOT 1; CLUSTER HELP`,
		`SHUTDOWN NONSENSE; SHUTDOWN SAVE NOSAVE; SHUTDOWN ABORT; SHUTDOWN ABORT NOW; SHUTDOWN NOW NOW ABORT`,
		`CONFIG SET; CONFIG SET timeout; CONFIG SET a 1 b; CONFIG SET nonsense 1; CONFIG SET timeout x; CONFIG SET timeout -1; CONFIG SET timeout 5 timeout 6; CONFIG SET databases 5; CONFIG SET timeout 5 nonsense 1; CONFIG GET timeout`,
		`CONFIG SET timeout 300 slowlog-max-len 7; CONFIG GET timeout; CONFIG GET slowlog-max-len; CONFIG SET timeout 0 slowlog-max-len 128; CONFIG SET protected-mode maybe; CONFIG GET timeout timeout; CONFIG GET slowlog-max*`,
		`COMMAND LIST NONSENSE; COMMAND LIST FILTERBY NONSENSE x; COMMAND LIST FILTERBY MODULE nonsense; COMMAND LIST FILTERBY PATTERN nonsense; COMMAND LIST FILTERBY PATTERN client|getn*; COMMAND GETKEYS MEMORY USAGE x; COMMAND DOCS nonsense`,
		`MULTI; MULTI; PING; EXEC; EXEC; DISCARD`,
		`MULTI; WATCH a; PING; EXEC; WATCH; UNWATCH; UNWATCH x`,
		`MULTI; UNWATCH; SELECT 0; ECHO x; CLIENT SETNAME me; CLIENT GETNAME; CONFIG GET save; AUTH nobody wrong; EXEC; CLIENT GETNAME`,
		`MULTI; NONSENSE; PING; EXEC; EXEC`,
		`MULTI; ECHO; CLIENT NONSENSE; DISCARD x; EXEC`,
		`MULTI; PING; EXEC x; EXEC; DISCARD x; EXEC x`,
		`MULTI; PING; DISCARD; EXEC; MULTI; EXEC`,
		`MULTI; RESET; EXEC; MULTI; QUIT`,
	}
	for _, pass := range []string{"", password} {
		name, redisArgs := "no password", []string(nil)
		sessions := slices.Clone(sessions)
		if pass != "" {
			name, redisArgs = "password", []string{"--requirepass", pass}
			sessions = append(sessions,
				`ECHO x; INFO; CONFIG GET *; COMMAND; CLIENT ID; SELECT 0; TIME; HELLO 4; RESET; PING`,
				`HELLO 3 AUTH default wrong; HELLO 3 AUTH nobody wrong; PING; QUIT`)
		} else { // before AUTH dqd says no more than that
			// Behind DEBUG SLEEP Redis advises a setting, which dqd does not have.
			sessions = append(sessions, `DEBUG`)
		}
		t.Run(name, func(t *testing.T) {
			redis := dqdtest.StartRedis(t, redisArgs...)
			server := dqdtest.Start(t, dqdtest.Options{Password: pass})
			for _, session := range sessions {
				want, got := converse(t, redis, session), converse(t, server.Addr, session)
				for i, command := range strings.Split(session, "; ") {
					if !sameReply(got[i], want[i]) {
						t.Errorf("in the session %s\n%s is answered by dqd\n%sand by redis-server\n%s", session, command, got[i], want[i])
					}
				}
			}
		})
	}
}

// sameReply allows for one thing: dqd may say more behind Redis's own error text.
func sameReply(got, want string) bool {
	return got == want || strings.HasPrefix(want, "(error)") && strings.HasPrefix(got, strings.TrimSuffix(want, "\n")+": ")
}

// converse sends the commands of a session one by one and returns the replies.
func converse(t *testing.T, addr, session string) []string {
	t.Helper()
	c, err := dqdtest.Dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var replies []string
	for command := range strings.SplitSeq(session, "; ") {
		args, err := script.SplitArgs(command)
		if err != nil {
			t.Fatal(err)
		}
		v, err := c.Do(args...)
		if err != nil {
			replies = append(replies, "end of the connection\n")
			continue
		}
		replies = append(replies, script.Format(v))
	}
	return replies
}
