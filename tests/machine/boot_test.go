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

	"dqd/tests/dqdtest"
)

// packages are Debian's that the machine has: systemd, what builds dqd with Go's help, an
// engine for its image, and clients.
const packages = "systemd,systemd-sysv,dbus,gcc,libc6-dev,ca-certificates,docker.io,iptables,curl,redis-tools"

// machine is one that has booted. It ends with the test.
type machine struct {
	t        *testing.T
	init     string // pid of its systemd, as seen from here
	repo     string // the repository; what is written there stays in the machine
	goEnv    map[string]string
	nspawn   *exec.Cmd
	messages strings.Builder // of nspawn; complete when it has ended
}

// boot installs the system and starts it.
func boot(t *testing.T) *machine {
	t.Helper()
	dir := t.TempDir()
	root, written := filepath.Join(dir, "root"), filepath.Join(dir, "written")
	repo, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, repo: repo, goEnv: map[string]string{}}
	for _, name := range []string{"GOROOT", "GOCACHE", "GOMODCACHE"} {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal("go env: ", err)
		}
		m.goEnv[name] = strings.TrimSpace(string(out))
	}
	if out, err := exec.Command("mmdebstrap", "--variant=minbase", "--include="+packages, "bookworm", root).CombinedOutput(); err != nil {
		t.Fatalf("mmdebstrap: %v\n%s", err, out)
	}
	// The machine has no network, and the build of the image asks for all modules.
	download := exec.Command("go", "mod", "download")
	download.Dir = repo
	if out, err := download.CombinedOutput(); err != nil {
		t.Fatalf("go mod download: %v\n%s", err, out)
	}
	if err := errors.Join(os.Mkdir(written, 0o755), os.MkdirAll(filepath.Join(root, repo), 0o755)); err != nil {
		t.Fatal(err)
	}
	// Go's caches and the repository are where they are here, so what was compiled is found.
	m.nspawn = exec.Command("systemd-nspawn", "--directory="+root, "--boot", "--machine=dqd-test",
		"--private-network", "--register=no", "--keep-unit", "--console=pipe",
		// What a Docker engine needs.
		"--capability=all", "--system-call-filter=@keyring bpf",
		"--bind-ro="+m.goEnv["GOROOT"]+":/usr/local/go", "--bind="+m.goEnv["GOCACHE"], "--bind-ro="+m.goEnv["GOMODCACHE"],
		"--overlay="+repo+":"+written+":"+repo)
	m.nspawn.Env = append(os.Environ(), "SYSTEMD_NSPAWN_TMPFS_TMP=0") // these folders may be in /tmp
	m.nspawn.Stdout, m.nspawn.Stderr = &m.messages, &m.messages
	if err := dqdtest.StartOnKeptThread(m.nspawn); err != nil {
		t.Fatal("systemd-nspawn: ", err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			out, _ := m.run("journalctl --no-pager --unit=dqd --lines=100")
			t.Log(out)
		}
		m.run("systemctl --no-block poweroff")
		m.nspawn.Wait()
		t.Log(m.messages.String())
	})
	pid := m.nspawn.Process.Pid
	err = dqdtest.WaitFor(dqdtest.Deadline, func() error {
		children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pid))
		if err != nil {
			return err
		}
		if m.init = strings.TrimSpace(string(children)); m.init == "" {
			return errors.New("the machine has not started")
		}
		out, err := m.run("systemctl is-system-running --wait || systemctl list-units --failed")
		if err != nil {
			return fmt.Errorf("the machine does not boot: %w\n%s", err, out)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// Groups of processes belong to this machine; nspawn shows them read-only.
	m.sh("for g in /sys/fs/cgroup/*/; do mount -o remount,bind,rw $g; done; systemctl restart docker")
	return m
}

// run runs a script in the repository on the machine, as root, and returns what it prints.
func (m *machine) run(script string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*dqdtest.Deadline)
	defer cancel()
	cmd := exec.CommandContext(ctx, "nsenter", "--target="+m.init, "--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup", "--root",
		"env", "-i", "--chdir="+m.repo, "HOME=/root", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/go/bin",
		"GOCACHE="+m.goEnv["GOCACHE"], "GOMODCACHE="+m.goEnv["GOMODCACHE"], "GOTOOLCHAIN=local", "GOFLAGS=-buildvcs=false",
		"bash", "-euxo", "pipefail", "-c", script)
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
