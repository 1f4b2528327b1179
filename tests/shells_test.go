package tests

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dqd/tests/dqdtest"
)

// needs ends the test if a program is missing that test.sh installs.
func needs(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Fatalf("%s is missing: run ./test.sh once as root", program)
	}
}

// What fish offers when its user presses Tab.
func TestFishCompletes(t *testing.T) {
	needs(t, "fish")
	home := t.TempDir()
	script := filepath.Join(home, ".config/fish/completions/dqd.fish")
	if err := os.MkdirAll(filepath.Dir(script), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(script, []byte(mustTool(t, "completion", "fish")), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(home, "data/of-orders"), 0o700); err != nil {
		t.Fatal(err)
	}
	// fish reads the completions of programs that there are.
	bin := filepath.Join(home, "bin")
	if err := errors.Join(os.Mkdir(bin, 0o700), os.Symlink(dqdtest.Binary(t), filepath.Join(bin, "dqd"))); err != nil {
		t.Fatal(err)
	}
	lines := []struct{ typed, want string }{
		{"dqd qu", "queue"},
		{"dqd queue ", "ls show"},
		{"dqd help comp", "completion"},
		{"dqd completion ", "bash fish zsh"},
		{"dqd top --", "--host --once --password-file --port"},
		{"dqd job show q j --p", "--password-file --port"},
		{"dqd serve --http", "--http-bind --http-port"},
		{"dqd --http", "--http-bind --http-port"},
		{"dqd serve --loglevel ", "debug error info warn"},
		{"dqd serve --requirepass", "--requirepass-file"},
		{"dqd serve --dir data/", "data/of-orders/"},
		{"dqd backup data/of", "data/of-orders/"},
		{"dqd restore data/of", "data/of-orders/"},
		{"dqd top --once --loglevel", ""},
	}
	var all strings.Builder
	for _, l := range lines {
		all.WriteString("echo '> " + l.typed + "'; complete --do-complete '" + l.typed + "'\n")
	}
	cmd := exec.Command("fish", "--command", all.String())
	cmd.Dir, cmd.Env = home, append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home+"/.config", "XDG_DATA_HOME="+home+"/.local", "PATH="+bin+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	offered := strings.Split("\n"+string(out), "\n> ")[1:]
	if len(offered) != len(lines) {
		t.Fatalf("%s", out)
	}
	for i, l := range lines {
		var got []string
		for _, row := range strings.Split(strings.TrimSpace(offered[i]), "\n")[1:] {
			word, _, _ := strings.Cut(row, "\t") // a description follows
			got = append(got, word)
		}
		slices.Sort(got)
		if strings.Join(got, " ") != l.want {
			t.Errorf("%s: fish offers %q, want %s", l.typed, got, l.want)
		}
	}
}

// What zsh makes of a line, or offers, when its user presses Tab.
func TestZshCompletes(t *testing.T) {
	needs(t, "zsh")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "_dqd"), []byte(mustTool(t, "completion", "zsh")), 0o600); err != nil {
		t.Fatal(err)
	}
	rc := "fpath=(" + dir + " $fpath)\nautoload -Uz compinit && compinit -u -D\nunset zle_bracketed_paste\nsetopt no_beep\nzle_highlight=(default:none suffix:none)\nPS1='ready> '\ncd " + dir + "\n"
	if err := os.WriteFile(filepath.Join(dir, ".zshrc"), []byte(rc), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "data/of-orders"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("ZDOTDIR", dir)
	const discard = "\x15" // Ctrl-U
	zsh := openTerminal(t, "zsh", "-d", "-i")
	zsh.shows("ready> ")
	for _, c := range []struct {
		typed string
		shown []string // in this order
	}{
		{"dqd qu\t", []string{"dqd queue "}},
		{"dqd comp\tzs\t", []string{"dqd completion ", "zsh "}},
		{"dqd queue sh\t", []string{"show "}},
		{"dqd help comp\t", []string{"completion "}},
		{"dqd top --on\t", []string{"--once "}},
		{"dqd top --p\t\t", []string{"--password-file", "-- FILE whose only line is the password", "--port"}},
		{"dqd serve --http-b\t", []string{"--http-bind "}},
		{"dqd serve --loglevel de\t", []string{"debug "}},
		{"dqd --http-b\t", []string{"--http-bind "}},
		{"dqd serve --dir da\t", []string{"data/"}},
		{"dqd backup da\tof\t", []string{"data/", "of-orders/"}},
	} {
		zsh.enter(c.typed)
		for _, text := range c.shown {
			zsh.shows(text)
		}
		zsh.enter(discard)
	}
	zsh.enter("exit\r")
	zsh.wait()
}

// The manual is a page that both programs for manuals take without a complaint.
func TestManPageIsClean(t *testing.T) {
	page := mustTool(t, "man")
	for _, args := range [][]string{{"mandoc", "-Tlint"}, {"groff", "-man", "-ww", "-Tutf8", "-z"}} {
		needs(t, args[0])
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Stdin = strings.NewReader(page)
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", args[0], err, out)
		}
	}
	// The proof that they complain.
	cmd := exec.Command("mandoc", "-Tlint")
	cmd.Stdin = strings.NewReader(strings.Replace(page, ".SH NAME\n", ".SX NAME\n", 1))
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Errorf("mandoc takes a request that there is not: %s", out)
	}
}
