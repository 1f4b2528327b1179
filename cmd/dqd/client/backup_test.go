package client

import (
	"bufio"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The file of a backup that begins takes the place of one that was left, and of nothing
// that somebody writes, or that has another name too.
func TestCreatePart(t *testing.T) {
	dir := t.TempDir()
	older, part := filepath.Join(dir, "older"), filepath.Join(dir, "new.part")
	if err := os.WriteFile(older, []byte("whole"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(older, part); err != nil {
		t.Fatal(err)
	}
	f, err := createPart(part)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString("half")
	if _, err := createPart(part); err == nil || !strings.Contains(err.Error(), "another dqd backup writes") {
		t.Errorf("a second backup into one file: %v", err)
	}
	for path, want := range map[string]string{older: "whole", part: "half"} {
		if b, err := os.ReadFile(path); err != nil || string(b) != want {
			t.Errorf("%s holds %q (%v), want %q", path, b, err, want)
		}
	}
	f.Close() // as a process that is killed
	if f, err = createPart(part); err != nil {
		t.Fatal(err)
	}
	f.Close()

	path := filepath.Join(dir, "new")
	if err := name(part, older); err == nil || !strings.Contains(err.Error(), "has appeared meanwhile") {
		t.Errorf("named over another: %v", err)
	}
	if b, _ := os.ReadFile(older); string(b) != "whole" {
		t.Errorf("overwritten: %q", b)
	}
	if err := name(part, path); err != nil {
		t.Error(err)
	}
	if names, _ := filepath.Glob(path + "*"); len(names) != 1 || names[0] != path {
		t.Errorf("left are %v", names)
	}
}

// busy answers as a server does that another connection takes a backup of.
func busy(t *testing.T) (flags []string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer nc.Close()
				for lines := bufio.NewScanner(nc); lines.Scan(); {
					n, _ := strconv.Atoi(strings.TrimPrefix(lines.Text(), "*"))
					for i := range 2 * n {
						if lines.Scan(); i != 1 {
							continue
						}
						answer := "+OK\r\n"
						switch strings.ToUpper(lines.Text()) {
						case "HELLO":
							answer = "-ERR unknown command\r\n"
						case "DQBACKUP":
							answer = "-BUSY another connection has a backup at work\r\n"
						}
						io.WriteString(nc, answer)
					}
				}
			}()
		}
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return []string{"--port", port}
}

// A backup that the server refuses touches no file.
func TestRefusedBackup(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new")
	if err := os.WriteFile(path+partSuffix, []byte("another's"), 0o600); err != nil {
		t.Fatal(err)
	}
	var errs strings.Builder
	if code := Backup(append(busy(t), path), io.Discard, &errs); code != exitFail || !strings.Contains(errs.String(), "BUSY another connection") {
		t.Errorf("%d %s", code, errs.String())
	}
	if b, err := os.ReadFile(path + partSuffix); err != nil || string(b) != "another's" {
		t.Errorf("a refused backup leaves %q (%v)", b, err)
	}
}
