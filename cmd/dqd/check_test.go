package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"dqd/tests/dqdtest"
)

// files returns the modes and times of all files and folders in a folder, and the files' content.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		all[path] = fmt.Sprint(info.Mode(), info.ModTime().UnixNano())
		if d.IsDir() {
			return nil
		}
		b, err := os.ReadFile(path)
		all[path] += string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// The session of an operator: check a running server's folder, a good one, one
// with a damaged file, none.
func TestCheckCommand(t *testing.T) {
	c := testConfig(t)
	n, err := assemble(c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), dqdtest.Deadline)
	defer cancel()
	client := redis.NewClient(&redis.Options{Addr: n.listeners[0].Addr().String(), ReadTimeout: dqdtest.Deadline})
	defer client.Close()
	for _, id := range []string{"a", "b", "c"} {
		if err := client.Do(ctx, "DQADD", "q", id, "payload").Err(); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(code int, want string, args ...string) {
		t.Helper()
		var out bytes.Buffer
		if got := run(append([]string{"check"}, args...), &out, &out); got != code || !strings.Contains(out.String(), want) {
			t.Errorf("dqd check %v: code %d\n%s\nwant %d and %s", args, got, out.String(), code, want)
		}
	}
	expect(1, "is in use by a dqd: stop it first", c.Dir)
	if err := n.shutdown(); err != nil {
		t.Fatal(err)
	}

	before := files(t, c.Dir)
	expect(0, "ok, 3 live and 0 dead jobs in 1 queues", c.Dir)
	if !reflect.DeepEqual(files(t, c.Dir), before) {
		t.Error("the check changed the folder")
	}
	if err := os.Remove(filepath.Join(c.Dir, "LOCK")); err != nil {
		t.Fatal(err)
	}
	expect(0, "ok, 3 live", c.Dir)
	if _, err := os.Stat(filepath.Join(c.Dir, "LOCK")); err == nil {
		t.Error("the check made a file")
	}

	tables, err := filepath.Glob(filepath.Join(c.Dir, "shard-0/state/*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatalf("%v: %v", tables, err)
	}
	damaged := ""
	for _, path := range tables {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if at := bytes.Index(b, []byte("payload")); at > 0 {
			b[at] ^= 1
			damaged = filepath.Base(path)
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if damaged == "" {
		t.Fatal("no table has a payload")
	}
	before = files(t, c.Dir)
	expect(1, "problem: refusing to start on folder "+filepath.Join(c.Dir, "shard-0/state")+": table "+damaged+": damaged", c.Dir)
	expect(1, "restore the whole folder from a backup", c.Dir)
	if !reflect.DeepEqual(files(t, c.Dir), before) {
		t.Error("the check changed the damaged folder")
	}

	expect(3, "there is no data in it, nothing was ever stored", t.TempDir())
	half := t.TempDir()
	if err := os.WriteFile(filepath.Join(half, "RESTORING"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	expect(1, "dqd: refusing to start on folder "+half+": a restore into it was interrupted; run dqd restore again\n", half)
	foreign := writeConfig(t, "a file that is not of dqd")
	expect(3, "there is no folder and no backup", filepath.Join(t.TempDir(), "none"))
	expect(1, "dqd: "+filepath.Dir(foreign)+" is no folder of dqd: write the one that the setting dir names\n", filepath.Dir(foreign))
	expect(2, "write dqd check DIR, the folder")
	expect(2, "write dqd check DIR, the folder", "--dir")
}
