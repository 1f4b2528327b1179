package client

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Flags may stand before the word of a sub-command.
func TestWord(t *testing.T) {
	for args, want := range map[string]string{
		"": "|", "ls": "ls|", "ls mail* --port 1": "ls|mail* --port 1", "--port 1 ls mail*": "ls|--port 1 mail*", "--port=1 --host ls show q": "show|--port=1 --host ls q",
		"--port 1": "|--port 1", "--port": "|--port",
	} {
		got, rest := word(strings.Fields(args))
		if got+"|"+strings.Join(rest, " ") != want {
			t.Errorf("%s: %s, %v", args, got, rest)
		}
	}
}

// The password is that of the flag, or of one of the two variables, and not of both.
func TestPassword(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	a, b := write("a", "from-a\n"), write("b", "from-b\r\n")
	two, large := write("two", "canary\n\n"), write("large", strings.Repeat("canary", 1000))
	for _, c := range []struct {
		flag, variable, file string
		want, err            string
	}{
		{want: ""},
		{variable: "secret", want: "secret"},
		{file: a, want: "from-a"},
		{flag: b, variable: "secret", file: a, want: "from-b"},
		{variable: "canary", file: a, err: "DQD_REQUIREPASS and DQD_REQUIREPASS_FILE are both in the environment: leave one of them out, or name the file by --password-file"},
		{file: two, err: "DQD_REQUIREPASS_FILE " + two + ": write the password into the only line of the file"},
		{flag: large, err: "--password-file " + large + ": it is larger than 4096 bytes"},
		{flag: dir + "/none", err: "--password-file " + dir + "/none: no such file or directory: check the name; a relative one counts from the folder that dqd was started in"},
	} {
		s := server{passwordFile: c.flag, getenv: func(name string) string {
			return map[string]string{"DQD_REQUIREPASS": c.variable, "DQD_REQUIREPASS_FILE": c.file}[name]
		}}
		got, err := s.password()
		if got != c.want || (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
}

// What a server says before it lets somebody in may be why it does not; what it says
// afterwards are answers, of which a read may begin anywhere.
func TestLastError(t *testing.T) {
	var e lastError
	hear := func(read, want string) {
		t.Helper()
		if e.hear([]byte(read)); e.text() != want {
			t.Errorf("after %q: %q, want %q", read, e.text(), want)
		}
	}
	hear("", "")
	hear("\r\n", "")
	hear("-", "")
	hear("-DENIED not you\r\n", "DENIED not you")
	hear("", "DENIED not you")
	hear("+OK\r\n", "")
	hear("-NOAUTH\r\n", "NOAUTH")
	e.letIn()
	if e.text() != "" {
		t.Errorf("let in: %q", e.text())
	}
	hear("-1\r\npayload", "")
}
