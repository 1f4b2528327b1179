package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
)

// scripted is a connection whose server says text and hangs up.
func scripted(t *testing.T, text string) *conn {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { ours.Close() })
	go func() {
		io.WriteString(theirs, text)
		theirs.Close()
	}()
	return newConn(ours)
}

// Replies are read to their last byte and no further: the reply behind each one
// is still whole.
func TestSkipReadsOneReply(t *testing.T) {
	for _, reply := range []string{
		"+OK\r\n", ":12\r\n", ":-1\r\n", "$-1\r\n", "$0\r\n\r\n", "$5\r\na\r\nbc\r\n", "*-1\r\n", "*0\r\n",
		"*2\r\n*3\r\n:1\r\n$1\r\nx\r\n+s\r\n$-1\r\n",
		"$40000\r\n" + strings.Repeat("y", 40000) + "\r\n", // larger than the buffer
	} {
		c := scripted(t, reply+":7\r\n")
		if err := c.skip(); err != nil {
			t.Errorf("%.20q: %v", reply, err)
			continue
		}
		if n, err := c.integer(); n != 7 || err != nil {
			t.Errorf("after %.20q: %d, %v", reply, n, err)
		}
	}
}

func TestReaderRefusesWhatIsNotAReply(t *testing.T) {
	for _, text := range []string{"\r\n", "x\r\n", "+OK\n", ":\r\n", ":1x\r\n", "$-2\r\n", "*99999999999999999999\r\n", "$1\r\nab\r\n"} {
		if err := scripted(t, text).skip(); !errors.Is(err, errProtocol) {
			t.Errorf("%q: %v, want errProtocol", text, err)
		}
	}
	if err := scripted(t, "$5\r\nab").skip(); err == nil {
		t.Error("a cut reply was taken")
	}
}

// An error reply is never taken for an answer, wherever it stands.
func TestErrorReplies(t *testing.T) {
	for _, text := range []string{"-ERR no\r\n", "*2\r\n:1\r\n-ERR no\r\n"} {
		var e replyError
		if err := scripted(t, text).skip(); !errors.As(err, &e) || e != "ERR no" {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := scripted(t, "$1\r\n1\r\n").integer(); err == nil {
		t.Error("a bulk string was taken for an integer")
	}
}

func TestBulk(t *testing.T) {
	c := scripted(t, "$3\r\na\r\n\r\n$-1\r\n$0\r\n\r\n")
	for _, want := range []string{`"a\r\n"`, "null", `""`} {
		b, err := c.bulk()
		if err != nil {
			t.Fatal(err)
		}
		got := "null"
		if b != nil {
			got = fmt.Sprintf("%q", b)
		}
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestParseInt(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "-1": -1, "999999999999999999": 999999999999999999} {
		if n, ok := parseInt([]byte(text)); n != want || !ok {
			t.Errorf("%q: %d, %v", text, n, ok)
		}
	}
	for _, text := range []string{"", "-", "+1", "1 ", "1000000000000000000"} {
		if _, ok := parseInt([]byte(text)); ok {
			t.Errorf("%q was taken", text)
		}
	}
}
