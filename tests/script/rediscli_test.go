package script

import (
	"bufio"
	"net"
	"os/exec"
	"strings"
	"testing"
)

// Format prints what the real redis-cli prints for the same bytes.
func TestFormatPrintsAsRedisCli(t *testing.T) {
	cli, err := exec.LookPath("redis-cli")
	if err != nil {
		t.Fatal("redis-cli is missing: install Debian's redis-tools, or run ./test.sh once as root")
	}
	for _, reply := range []string{
		"+OK\r\n",
		"-DUPID order-42 is live\r\n",
		":-3\r\n",
		"$-1\r\n",
		"*-1\r\n",
		"_\r\n",
		"*0\r\n",
		"%0\r\n",
		"#t\r\n",
		",1.5\r\n",
		"$12\r\na\"\\\n\r\t\a\b\x00\x7fé\r\n",
		"*2\r\n*3\r\n:1\r\n$1\r\na\r\n*2\r\n+x\r\n_\r\n*0\r\n",
		"*11\r\n" + strings.Repeat("*2\r\n:1\r\n:2\r\n", 11),
		"%2\r\n$1\r\na\r\n:1\r\n$1\r\nb\r\n*2\r\n:1\r\n%1\r\n$1\r\nc\r\n_\r\n",
		"%10\r\n" + strings.Repeat("$1\r\na\r\n*2\r\n:1\r\n:2\r\n", 10),
		"~2\r\n:1\r\n:2\r\n",
	} {
		v, err := ReadValue(bufio.NewReader(strings.NewReader(reply)))
		if err != nil {
			t.Fatalf("%q: %v", reply, err)
		}
		if got, want := Format(v), askRedisCli(t, cli, reply); got != want {
			t.Errorf("%q is printed as\n%s\nredis-cli prints\n%s", reply, got, want)
		}
	}
}

// askRedisCli lets redis-cli ask a server that gives this reply to everything.
func askRedisCli(t *testing.T, cli, reply string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		in := bufio.NewReader(conn)
		for {
			if _, err := ReadValue(in); err != nil {
				return
			}
			conn.Write([]byte(reply))
		}
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	// Its exit code says whether the reply was an error; only the text counts here.
	out, err := exec.Command(cli, "-p", port, "--no-raw", "GET", "x").Output()
	if len(out) == 0 && err != nil {
		t.Fatalf("redis-cli: %v", err)
	}
	return string(out)
}
