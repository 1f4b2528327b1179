package clients

import (
	"bufio"
	"context"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dqd/tests/dqdtest"
)

// What redis-cli and redis-benchmark do beside commands, with what they print.
// A tool that goes on for ever is ended as soon as it has printed that.
var tools = []struct {
	name    string
	command string // $PORT and $AUTH stand for the servers' ports
	stdin   string
	want    string // a regular expression
}{
	{name: "help", command: "redis-cli -p $PORT", stdin: "help DQADD\n", want: `(?s)DQADD.*queue id payload.*summary:.*Adds a job.*since:.*group:.*delay`},
	{name: "help of a group", command: "redis-cli -p $PORT", stdin: "help @delay\n", want: `(?s)DQADD.*DQPOP`},
	{name: "latency", command: "redis-cli -p $PORT --latency -i 0.2", want: `^\d+ \d+ \d+\.\d+ \d+\n`},
	{name: "latency-history", command: "stdbuf -oL redis-cli -p $PORT --latency-history -i 0.2", want: `^\d+ \d+ \d+\.\d+ \d+\n`},
	{name: "stat", command: "stdbuf -oL redis-cli -p $PORT --stat -i 0.1", want: `(?s)keys.*\n\d+ .*\d+(\.\d+)?[BKMG] .*\d+`},
	{name: "scan", command: "redis-cli -p $PORT --scan", want: `(?m)^orders$`},
	{name: "bigkeys", command: "redis-cli -p $PORT --bigkeys", want: `Sampled [1-9]\d* keys`},
	{name: "password", command: "redis-cli -p $AUTH --no-auth-warning -a $PASSWORD DQLEN q", want: `^\d+\n$`},
	{name: "user and password", command: "redis-cli -p $AUTH -3 --no-auth-warning --user default --pass $PASSWORD DQLEN q", want: `^\d+\n$`},
	{name: "benchmark", command: "redis-benchmark -p $PORT -n 2000 -c 20 -P 16 -q DQADD bench * x", want: `DQADD bench \* x: \d+\.\d+ requests per second`},
	{name: "benchmark RESP3", command: "redis-benchmark -p $PORT -3 -n 500 -q DQADD bench * x", want: `DQADD bench \* x: \d+\.\d+ requests per second`},
	{name: "benchmark ping", command: "redis-benchmark -p $PORT -n 1000 -q -t ping", want: `(?s)PING_INLINE: \d+.*PING_MBULK: \d+`},
	{name: "benchmark with a password", command: "redis-benchmark -p $AUTH -a $PASSWORD -n 500 -q DQADD bench * x", want: `DQADD bench \* x: \d+\.\d+ requests per second`},
}

func TestRedisTools(t *testing.T) {
	server := dqdtest.Start(t, dqdtest.Options{})
	other := dqdtest.Start(t, dqdtest.Options{Password: password})
	if _, err := server.Dial().Must("DQADD", "orders", "order-42", "x"); err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		t.Run(tool.name, func(t *testing.T) {
			words := strings.Fields(tool.command)
			for i, word := range words {
				switch word {
				case "$PORT":
					words[i] = port(server.Addr)
				case "$AUTH":
					words[i] = port(other.Addr)
				case "$PASSWORD":
					words[i] = password
				}
			}
			printed := printsUntil(t, regexp.MustCompile(tool.want), tool.stdin, words)
			if strings.Contains(strings.ToLower(printed), "error") || strings.Contains(printed, "WARNING") {
				t.Errorf("it complains:\n%s", printed)
			}
			noWarnings(t, server)
			noWarnings(t, other)
		})
	}
}

// printsUntil runs a tool until it has printed what is wanted, or ends.
func printsUntil(t *testing.T, want *regexp.Regexp, stdin string, command []string) string {
	t.Helper()
	path, err := exec.LookPath(command[0])
	if err != nil {
		t.Fatalf("%v: ./test.sh installs what the tests need", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), dqdtest.Deadline)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, command[1:]...)
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Env = slices.DeleteFunc(cmd.Environ(), func(e string) bool { return strings.HasPrefix(e, "REDISCLI_AUTH=") })
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cancel()
	var printed strings.Builder
	for in := bufio.NewReader(out); !want.MatchString(printed.String()); {
		text, err := in.ReadString('\n')
		printed.WriteString(text)
		if err != nil && !want.MatchString(printed.String()) {
			t.Fatalf("it prints\n%s\nwant %s", &printed, want)
		}
	}
	return printed.String()
}
