package main

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"dqd/server"
)

// What "dqd config" prints says where each value comes from, shows no secret, and
// is itself a file that gives the same settings.
func TestShowConfig(t *testing.T) {
	path := writeConfig(t, "bind 127.0.0.1 ::1\nrequirepass canary\n")
	t.Setenv("DQD_MAXCLIENTS", "7")
	t.Setenv("DQD_BINARY", "") // which is for the tests; empty counts as none
	show := func(args ...string) string {
		t.Helper()
		var out, bad bytes.Buffer
		if code := run(append([]string{"config"}, args...), &out, &bad); code != 0 || bad.Len() > 0 {
			t.Fatal(code, bad.String())
		}
		return out.String()
	}
	args := []string{"--config", path, "--dir", `a "folder" # here`, "--http-port", "off"}
	text := show(args...)
	for _, want := range []string{
		"# configuration file: " + path + "\n",
		"bind 127.0.0.1 ::1 # " + path + ":1\n",
		"# requirepass (set) # " + path + ":2; CONFIG SET changes it\n",
		"# requirepass-file (not set) # default\n",
		"maxclients 7 # DQD_MAXCLIENTS; CONFIG SET changes it\n",
		`dir "a \"folder\" # here" # --dir` + "\n",
		"http-port off # --http-port\n",
		"maxmemory 80% # default\n",
	} {
		if !strings.Contains(regexp.MustCompile(` +`).ReplaceAllString(text, " "), want) {
			t.Errorf("lacks %s in\n%s", want, text)
		}
	}
	for _, s := range settings() {
		if strings.Count(text, s.Name+" ") == 0 {
			t.Error("lacks", s.Name)
		}
	}
	if strings.Contains(text, "canary") {
		t.Error("shows the password:\n", text)
	}
	first, err := readConfig(args, []string{"DQD_MAXCLIENTS=7"})
	if err != nil {
		t.Fatal(err)
	}
	again, err := readConfig([]string{"--config", writeConfig(t, text)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	again.Password, again.ConfigFile = first.Password, first.ConfigFile
	if !reflect.DeepEqual(first.Options, again.Options) {
		t.Errorf("%+v\n%+v", first.Options, again.Options)
	}
	secret := writeConfig(t, "canary")
	text = show("--requirepass-file", secret)
	if !strings.Contains(text, "# requirepass (set)") || strings.Contains(text, "canary") {
		t.Error(text)
	}
	if text = show(); !strings.Contains(text, "# requirepass (not set)") {
		t.Error(text)
	}
	// What the README shows of it is true.
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	const command = "    $ DQD_MAXCLIENTS=500 dqd config --port 7000\n"
	t.Setenv("DQD_MAXCLIENTS", "500")
	_, example, ok := strings.Cut(string(readme), command)
	example, _, more := strings.Cut(example, "    ...\n")
	text = show("--port", "7000")
	for line := range strings.Lines(example) {
		if !ok || !more || !strings.Contains(text, strings.TrimPrefix(line, "    ")) {
			t.Errorf("the README's example has %q, which is not in\n%s", line, text)
		}
	}
	var out, bad bytes.Buffer
	if code := run([]string{"config", "--prot", "1"}, &out, &bad); code != exitUsage || out.Len() > 0 || !strings.Contains(bad.String(), "did you mean --port?") {
		t.Error(code, out.String(), bad.String())
	}
}

// An address opens its own protocol and no other; * opens all there are.
func TestListen(t *testing.T) {
	six := true // where there is IPv6
	if l, err := net.Listen("tcp6", "[::1]:0"); err != nil {
		six = false
	} else {
		l.Close()
	}
	for _, c := range []struct {
		addresses []string
		four, six bool
	}{
		{[]string{"0.0.0.0"}, true, false},
		{[]string{"::"}, false, true},
		{[]string{"::ffff:127.0.0.1"}, true, false},
		{[]string{"0.0.0.0", "::"}, true, true},
		{[]string{"127.0.0.1", "::1"}, true, true},
		{[]string{"*"}, true, true},
		{[]string{"localhost"}, true, false},
	} {
		if !six && slices.ContainsFunc(c.addresses, func(a string) bool { return a == "::" || a == "::1" }) {
			t.Log("no IPv6 here:", c.addresses)
			continue
		}
		list, err := listen(c.addresses, 0)
		if err != nil {
			t.Errorf("%v: %v", c.addresses, err)
			continue
		}
		_, port, _ := net.SplitHostPort(list[0].Addr().String())
		for host, want := range map[string]bool{"127.0.0.1": c.four, "::1": c.six && six} {
			conn, err := net.Dial("tcp", net.JoinHostPort(host, port))
			if err == nil {
				conn.Close()
			}
			if (err == nil) != want {
				t.Errorf("%v: %s answers: %v, want %v", c.addresses, host, err, want)
			}
		}
		closeAll(list)
	}
}

func printed(t *testing.T, args ...string) string {
	t.Helper()
	var out, bad bytes.Buffer
	if code := run(args, &out, &bad); code != 0 || bad.Len() > 0 {
		t.Fatalf("%v: %d, %s", args, code, bad.String())
	}
	return out.String()
}

// bash itself completes sub-commands, settings and their values.
func TestBashCompletion(t *testing.T) {
	script := printed(t, "completion", "bash")
	dir := t.TempDir()
	if err := exec.Command("mkdir", "-p", dir+"/data one", dir+"/data two").Run(); err != nil {
		t.Fatal(err)
	}
	complete := func(words ...string) []string {
		t.Helper()
		cmd := exec.Command("bash", "-c", script+`
COMP_WORDS=(dqd "$@") COMP_CWORD=$#
"$(complete -p dqd | sed 's/.*-F \([^ ]*\) .*/\1/')"
printf '%s\n' "${COMPREPLY[@]}"`, "bash")
		cmd.Args = append(cmd.Args, words...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%q: %v\n%s", words, err, out)
		}
		list := strings.Split(strings.TrimRight(string(out), "\n"), "\n")
		slices.Sort(list)
		return list
	}
	for _, c := range []struct{ words, want []string }{
		{[]string{"se"}, []string{"serve"}},
		{[]string{"co"}, []string{"completion", "config"}},
		{[]string{"--por"}, []string{"--port"}},
		{[]string{"serve", "--http-"}, []string{"--http-bind", "--http-port"}},
		{[]string{"config", "--protected-mode", ""}, []string{"no", "yes"}},
		{[]string{"serve", "--loglevel", "w"}, []string{"warn"}},
		{[]string{"serve", "--port", "7"}, []string{""}},
		{[]string{"serve", "--dir", "da"}, []string{"data one", "data two"}},
		{[]string{"check", "da"}, []string{"data one", "data two"}},
		{[]string{"check", "--"}, []string{"--help"}},
		{[]string{"backup", "--p"}, []string{"--password-file", "--port"}},
		{[]string{"backup", "--password-file", "dat"}, []string{"data one", "data two"}},
		{[]string{"restore", "dat"}, []string{"data one", "data two"}},
		{[]string{"top", ""}, []string{"--help", "--host", "--once", "--password-file", "--port"}},
		{[]string{"top", "--once", "--ho"}, []string{"--host"}},
		{[]string{"queue", ""}, []string{"--help", "--host", "--password-file", "--port", "ls", "show"}},
		{[]string{"job", "s"}, []string{"show"}},
		{[]string{"completion", ""}, []string{"--help", "bash", "fish", "zsh"}},
		{[]string{"help", "ver"}, []string{"version"}},
	} {
		if got := complete(c.words...); !slices.Equal(got, c.want) {
			t.Errorf("dqd %q: %q, want %q", c.words, got, c.want)
		}
	}
	if got := complete(""); len(got) != len(subcommands) {
		t.Errorf("dqd: %q", got)
	}
	// Secrets are no flags; everything else is there.
	flags := complete("serve", "--")
	for _, s := range settings() {
		if slices.Contains(flags, "--"+s.Name) == s.Secret {
			t.Error(s.Name, flags)
		}
	}
}

// The scripts for zsh and fish have every sub-command and every setting but
// secrets, and the quotes of each line are whole.
func TestOtherCompletions(t *testing.T) {
	for shell, flag := range map[string]string{"zsh": "'--%s[", "fish": " -l %s "} {
		script := printed(t, "completion", shell)
		for n, line := range strings.Split(script, "\n") {
			if strings.Count(strings.NewReplacer(`\\`, "", `\'`, "", `'\''`, "").Replace(line), "'")%2 != 0 {
				t.Errorf("%s, line %d: %s", shell, n+1, line)
			}
		}
		for _, c := range subcommands {
			if !strings.Contains(script, c.name) {
				t.Error(shell, "lacks", c.name)
			}
			for _, o := range c.options() {
				if !strings.Contains(script, strings.ReplaceAll(flag, "%s", o.name)) {
					t.Errorf("%s lacks --%s of %s", shell, o.name, c.name)
				}
			}
		}
		for _, s := range settings() {
			if strings.Contains(script, strings.ReplaceAll(flag, "%s", s.Name)) == s.Secret {
				t.Error(shell, s.Name)
			}
		}
	}
}

// The man page has its sections in the order of man-pages(7), everything that dqd
// takes, and nothing in a line that man would take for a request or an escape.
func TestManPage(t *testing.T) {
	page := printed(t, "man")
	known := regexp.MustCompile(`^\.(\\"|TH|SH|SS|TP|PP|RS|RE|nh|ad|br|B|BI)( |$)`)
	escapes := regexp.MustCompile(`\\(e|-|&|f[BR]|\((->|aq|dq|ha|ti))`)
	var sections []string
	for n, line := range strings.Split(strings.TrimSuffix(page, "\n"), "\n") {
		if len(line) > 80 && line[0] != '.' || line == "" || line[0] == '.' && !known.MatchString(line) || line[0] == '\'' {
			t.Errorf("line %d: %q is no line of a man page", n+1, line)
		}
		if strings.HasPrefix(line, ".TP") && line != ".TP 4" || strings.HasPrefix(line, `.\"`) {
			continue
		}
		if rest := escapes.ReplaceAllString(line, ""); strings.Contains(rest, `\`) {
			t.Errorf("line %d: an unknown escape in %q", n+1, line)
		}
		for _, r := range line {
			if r > 126 {
				t.Errorf("line %d: %q is not ASCII", n+1, line)
			}
		}
		if name, ok := strings.CutPrefix(line, ".SH "); ok {
			sections = append(sections, name)
		}
	}
	if want := []string{"NAME", "SYNOPSIS", "DESCRIPTION", "SUB-COMMANDS", "SETTINGS", "EXIT STATUS"}; !slices.Equal(sections, want) {
		t.Errorf("%q", sections)
	}
	for _, c := range subcommands {
		if !strings.Contains(page, ".TP 4\n.BI \""+roff("dqd "+c.name)+"\" \""+roff(strings.TrimPrefix(c.synopsis(), "dqd "+c.name))+"\"\n") {
			t.Error("lacks", c.name)
		}
		for _, o := range c.options() {
			if o.usage == "" || !strings.Contains(page, ".TP 4\n.BI \""+roff("--"+o.name)+"\" \""+roff(strings.TrimPrefix(o.written(), "--"+o.name))+"\"\n") {
				t.Errorf("lacks %s of %s", o.written(), c.name)
			}
		}
	}
	for _, group := range server.AllSettings() {
		for _, s := range group.Settings {
			if !strings.Contains(page, ".BI \""+roff("--"+s.Name)+"\" \" value\"\n") && !(s.Secret && strings.Contains(page, ".BI \""+s.Variable()+"\" \"=value\"\n")) {
				t.Error("lacks", s.Name)
			}
		}
	}
	for text, want := range map[string]string{
		".SH": `\&.SH`, "'a'": `\(aqa\(aq`, `a\b-c "d"`: `a\eb\-c \(dqd\(dq`, "a `b-c` d": `a \fBb\-c\fR d`,
		strings.Repeat("a", 77) + " .b": strings.Repeat("a", 77) + "\n\\&.b",
	} {
		var got strings.Builder
		if paragraph(&got, text); got.String() != want+"\n" {
			t.Errorf("%s: %s, want %s", text, got.String(), want)
		}
	}
}

// The man page is of the day of the latest release.
func TestManDate(t *testing.T) {
	if _, err := time.Parse(time.DateOnly, manDate); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	if m := regexp.MustCompile(`(?m)^## \[\d.*\] - (\d{4}-\d\d-\d\d)$`).FindSubmatch(text); m != nil && string(m[1]) != manDate {
		t.Errorf("the latest release is of %s, and manDate is %s", m[1], manDate)
	}
}

// Help, man page and README say the same of the exit codes, and docs/operations.md has the
// same ones.
func TestExitCodes(t *testing.T) {
	page, shown := printed(t, "man"), strings.Join(strings.Fields(printed(t, "help")), " ")
	table := func(path, head string) []string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, rows, _ := strings.Cut(string(text), "\n"+head+"\n")
		_, rows, _ = strings.Cut(rows, "\n") // the line below the head
		rows, _, _ = strings.Cut(rows, "\n\n")
		return strings.Split(strings.TrimSuffix(rows, "\n"), "\n")
	}
	readme, operations := table("../../README.md", "| exit code | |"), table("../../docs/operations.md", "| exit code | | start it again? |")
	if len(readme) != len(exitCodes) || len(operations) != len(exitCodes) {
		t.Fatalf("%q\n%q", readme, operations)
	}
	for i, e := range exitCodes {
		if want := "| " + e.code + " | " + e.meaning + " |"; readme[i] != want {
			t.Errorf("README.md has %s, want %s", readme[i], want)
		}
		if !strings.HasPrefix(operations[i], "| "+e.code+" | ") {
			t.Errorf("docs/operations.md has %s for %s", operations[i], e.code)
		}
		if !strings.Contains(shown, " "+e.code+" "+plain(e.meaning)) {
			t.Errorf("help lacks %s", e.code)
		}
		var entryText strings.Builder
		entry(&entryText, e.code, "", e.meaning+".")
		if !strings.Contains(page, entryText.String()) {
			t.Errorf("the man page lacks %s", e.code)
		}
	}
}
