// Package machine runs what the documents say to do as root, on a machine of its own: a
// Debian system in a folder, that systemd boots in namespaces of its own (systemd-nspawn),
// with a Docker engine. It sees this machine's Go and the repository, and no network.
package machine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dqd/tests/dqdtest"
)

// packages are Debian's that the machine has: systemd, what builds dqd with Go's help, an
// engine for its image, and clients.
const packages = "systemd,systemd-sysv,dbus,gcc,libc6-dev,ca-certificates,docker.io,iptables,curl,redis-tools"

// machine is one that has booted. It ends with the test.
type machine struct {
	t     *testing.T
	init  string // pid of its systemd, as seen from here
	repo  string // the repository; what is written there stays in the machine
	goEnv map[string]string
}

// boot installs the system and starts it.
func boot(t *testing.T) *machine {
	t.Helper()
	// It is large, and /tmp may be memory.
	dir, err := os.MkdirTemp("/var/tmp", "dqd-machine-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	root, written := filepath.Join(dir, "root"), filepath.Join(dir, "written")
	repo, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	command := func(name string, args ...string) string {
		cmd := exec.Command(name, args...)
		cmd.Dir = repo
		out, err := cmd.Output()
		if err != nil {
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				out = append(out, exit.Stderr...)
			}
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	m := &machine{t: t, repo: repo, goEnv: map[string]string{}}
	for _, name := range []string{"GOROOT", "GOCACHE", "GOMODCACHE"} {
		m.goEnv[name] = command("go", "env", name)
	}
	// The machine has no network, and the build of the image asks for all modules.
	command("go", "mod", "download")
	command("mmdebstrap", "--variant=minbase", "--include="+packages, "bookworm", root)
	if err := errors.Join(os.Mkdir(written, 0o755), os.MkdirAll(filepath.Join(root, repo), 0o755)); err != nil {
		t.Fatal(err)
	}
	// When unshare ends, all in its namespace do: nspawn alone would leave its machine behind.
	cmd := exec.Command("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
		"systemd-nspawn", "--directory="+root, "--boot", fmt.Sprintf("--machine=dqd-test-%d", os.Getpid()),
		"--private-network", "--register=no", "--keep-unit", "--console=pipe",
		// What a Docker engine needs.
		"--capability=all", "--system-call-filter=@keyring bpf",
		// Go's caches and the repository are where they are here, so what was compiled is found.
		"--bind-ro="+m.goEnv["GOROOT"]+":/usr/local/go", "--bind="+m.goEnv["GOCACHE"], "--bind-ro="+m.goEnv["GOMODCACHE"],
		"--overlay="+repo+":"+written+":"+repo)
	cmd.Env = append(os.Environ(), "SYSTEMD_NSPAWN_TMPFS_TMP=0") // these folders may be in /tmp
	var messages strings.Builder
	cmd.Stdout, cmd.Stderr = &messages, &messages
	if err := dqdtest.StartOnKeptThread(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() && m.init != "" {
			out, _ := m.run("journalctl --no-pager --unit=dqd --lines=100")
			t.Log(out)
		}
		if m.init != "" {
			m.run("systemctl stop docker.socket docker; rmdir /sys/fs/cgroup/*/docker/* /sys/fs/cgroup/*/docker || true; systemctl --no-block poweroff")
		}
		late := time.AfterFunc(dqdtest.Deadline, func() { cmd.Process.Kill() })
		cmd.Wait()
		late.Stop()
		t.Log(messages.String())
	})
	err = dqdtest.WaitFor(dqdtest.Deadline, func() error {
		init := descendant(fmt.Sprint(cmd.Process.Pid), "systemd")
		if init == "" {
			return errors.New("the machine has not started")
		}
		m.init = init
		out, err := m.run("systemctl is-system-running --wait || systemctl list-units --failed")
		if err != nil {
			return fmt.Errorf("the machine does not boot: %w\n%s", err, out)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// Version 1 of control groups is shown read-only, and the engine makes groups of its own.
	m.sh(`findmnt --raw --noheadings --output TARGET --types cgroup | while read -r group; do mount -o remount,bind,rw "$group"; done
systemctl restart docker`)
	return m
}

// descendant returns the first process below another that has this name.
func descendant(pid, name string) string {
	children, _ := os.ReadFile("/proc/" + pid + "/task/" + pid + "/children")
	for _, child := range strings.Fields(string(children)) {
		if comm, _ := os.ReadFile("/proc/" + child + "/comm"); string(comm) == name+"\n" {
			return child
		}
		if found := descendant(child, name); found != "" {
			return found
		}
	}
	return ""
}

// run runs a script in the repository on the machine, as root, and returns what it prints.
func (m *machine) run(script string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*dqdtest.Deadline)
	defer cancel()
	cmd := exec.CommandContext(ctx, "nsenter", "--target="+m.init, "--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup", "--root",
		"env", "-i", "--chdir="+m.repo, "HOME=/root", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/go/bin",
		"GOCACHE="+m.goEnv["GOCACHE"], "GOMODCACHE="+m.goEnv["GOMODCACHE"], "GOTOOLCHAIN=local", "GOFLAGS=-buildvcs=false",
		"bash", "-euxo", "pipefail", "-c", script)
	cmd.WaitDelay = time.Second // what runs there holds the output, and ends with the machine
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// sh runs a script that must succeed, and returns what it prints, with its commands.
func (m *machine) sh(script string) string {
	m.t.Helper()
	out, err := m.run(script)
	if err != nil {
		m.t.Fatalf("%v\n%s", err, out)
	}
	return out
}

// value runs a command that must succeed, and returns what it prints, without space around it.
func (m *machine) value(command string) string {
	m.t.Helper()
	return strings.TrimSpace(m.sh("{ set +x; } 2>/dev/null; " + command))
}

// becomes waits until a command prints this.
func (m *machine) becomes(command, want string) {
	m.t.Helper()
	err := dqdtest.WaitFor(dqdtest.Deadline, func() error {
		if got := m.value(command); got != want {
			return fmt.Errorf("%s: %q, want %q", command, got, want)
		}
		return nil
	})
	if err != nil {
		m.t.Fatal(err)
	}
}
