package machine

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"dqd/tests/dqdtest"
)

// documented returns the blocks marked "sh machine" of README.md and docs/*.md, by the
// heading that they stand under.
func documented(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := map[string]string{}
	for _, path := range append(paths, "../../README.md") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		heading := ""
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "#") {
				heading = filepath.Base(path) + ": " + strings.Trim(line, "# \n")
			}
			blocks[heading] += line
		}
	}
	for heading, section := range blocks {
		if blocks[heading] = dqdtest.Blocks(section, "sh machine"); blocks[heading] == "" {
			delete(blocks, heading)
		}
	}
	return blocks
}

// What operations.md says about systemd and Docker is done, word for word, on a machine
// that has both; then the server is treated as such machines treat it.
func TestDocumentedMachine(t *testing.T) {
	if os.Getuid() != 0 || exec.Command("unshare", "--mount", "--net", "true").Run() != nil {
		t.Skip("only root may boot a machine, and not in a container: ./test.sh says so too")
	}
	blocks := documented(t)
	m := boot(t)
	for _, wrong := range []string{"false; true", "false | true", "systemctl start nonsense", "docker run nonsense"} {
		if out, err := m.run(wrong); err == nil {
			t.Errorf("%s is taken for right:\n%s", wrong, out)
		}
	}
	for _, section := range []struct {
		heading string
		then    func(t *testing.T, m *machine)
	}{
		{"operations.md: Under systemd", underSystemd},
		{"operations.md: In a container", inAContainer},
	} {
		block := blocks[section.heading]
		delete(blocks, section.heading)
		if block == "" {
			t.Errorf("%s has no commands", section.heading)
			continue
		}
		if strings.Contains(block, "docker build") {
			baseImage(m)
		}
		t.Log(m.sh(block))
		section.then(t, m)
	}
	for heading := range blocks {
		t.Errorf("%s: nobody runs this:\n%s", heading, blocks[heading])
	}
}

func underSystemd(t *testing.T, m *machine) {
	// systemctl has returned, so it serves.
	m.sh("curl -fsS http://127.0.0.1:7712/readyz; redis-cli -e -p 7711 DQADD orders o-1 x DELAY 1d")
	const pid = "systemctl show -P MainPID dqd"
	if uid := m.value("stat -c %u /proc/$(" + pid + ")"); uid == "0" {
		t.Error("it runs as root")
	}
	if mode := m.value("stat -L -c %a /var/lib/dqd"); mode != "700" {
		t.Errorf("others may read the data: mode %s", mode)
	}

	// What ends by a fault is started again, with its jobs.
	m.sh("systemctl kill --signal=KILL dqd")
	m.becomes("systemctl show -P NRestarts dqd", "1")
	m.becomes("systemctl is-active dqd || true", "active")
	m.sh("redis-cli -e -p 7711 DQGET orders o-1 | grep delayed")

	// So is what stands still.
	m.sh(`mkdir -p /run/systemd/system/dqd.service.d
printf '[Service]\nWatchdogSec=2s\nTimeoutAbortSec=1s\n' > /run/systemd/system/dqd.service.d/soon.conf
systemctl daemon-reload
systemctl restart dqd
systemctl kill --signal=STOP dqd`)
	m.becomes("systemctl show -P NRestarts dqd", "1")
	m.becomes("systemctl is-active dqd || true", "active")
	m.sh("journalctl --no-pager -u dqd | grep 'Watchdog timeout'")

	// The password is in the file for it, and in nothing that others can read.
	m.sh(`echo DQD_REQUIREPASS=open-sesame > /etc/dqd/environment
systemctl restart dqd
redis-cli -p 7711 PING | grep NOAUTH
REDISCLI_AUTH=open-sesame redis-cli -e -p 7711 PING
stat -c %a /etc/dqd/environment | grep 600
if { systemctl show dqd; journalctl --no-pager; } | grep open-sesame; then exit 1; fi`)

	// A wrong setting keeps it from starting, which systemctl says, and the journal why.
	m.sh(`echo prot 7711 >> /etc/dqd/dqd.conf
if systemctl restart dqd; then exit 1; fi
journalctl --no-pager -u dqd | grep 'did you mean "port"'
sed -i '$d' /etc/dqd/dqd.conf
systemctl reset-failed dqd
systemctl restart dqd`)

	// Asked to end it does so as it says, and its jobs are there the next time.
	m.sh("systemctl stop dqd; systemctl show -P Result dqd | grep success")
	m.sh("systemctl start dqd; REDISCLI_AUTH=open-sesame redis-cli -e -p 7711 DQGET orders o-1 | grep delayed; systemctl disable --now dqd")
}

// baseImage makes what the image is built from of the machine itself: Debian, a C compiler
// and Go, as in the image that a registry has under this name, and the modules.
func baseImage(m *machine) {
	m.t.Helper()
	modules := m.goEnv["GOMODCACHE"] + "/cache/download"
	m.sh(`tar --directory=/ --create bin lib lib64 sbin usr etc '` + modules[1:] + `' --no-recursion tmp |
docker import --change 'ENV PATH=/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin GOTOOLCHAIN=local GOPROXY=file://` + modules + `' - golang:1.26-bookworm`)
}

func inAContainer(t *testing.T, m *machine) {
	const (
		ready = "curl -fsS --retry 30 --retry-delay 1 --retry-all-errors http://127.0.0.1:7712/readyz\n"
		as    = "REDISCLI_AUTH=secret redis-cli -e -p 7711 "
	)
	m.sh(ready + as + "DQADD orders o-1 x DELAY 1d; redis-cli -p 7711 PING | grep NOAUTH")
	if pid := "$(docker inspect --format '{{.State.Pid}}' dqd)"; m.value("stat -c %u:%g /proc/"+pid) != "65532:65532" {
		t.Error("it runs as another user")
	}
	if list := m.value("docker exec dqd /dqd queue ls"); !strings.Contains(list, "orders") {
		t.Errorf("docker exec sees the queues\n%s", list)
	}
	m.sh("docker kill dqd; docker start dqd\n" + ready + as + "DQGET orders o-1 | grep delayed")
	m.sh("docker stop dqd")
	if code := m.value("docker inspect --format '{{.State.ExitCode}}' dqd"); code != "0" {
		t.Errorf("docker stop: exit code %s", code)
	}
	m.sh("docker run --rm --volume dqd-data:/data dqd check /data")

	// Nothing is in it but the program and the folder for the data.
	if files := m.value("docker save dqd | tar -xO --wildcards '*/layer.tar' -i | tar -ti | sort"); files != "data/\ndqd" {
		t.Errorf("the image has\n%s", files)
	}
	// Built without cgo, the stores' caches would be in Go's heap.
	m.sh("docker cp dqd:/dqd from-image; go version -m from-image | grep CGO_ENABLED=1")

	// The container's memory is what it reckons with, not the machine's.
	m.sh("docker run -d --name small --memory 1g -e DQD_PROTECTED_MODE=no -p 127.0.0.1:7713:7711 -p 127.0.0.1:7714:7712 dqd\n" + strings.Replace(ready, "7712", "7714", 1) +
		"redis-cli -p 7713 INFO memory | tr -d '\\r' | grep -x maxmemory_human:819.20M; docker rm -f small")

	// Without a password clients are refused, and told why.
	m.sh("docker run -d --name open -p 7713:7711 -p 127.0.0.1:7714:7712 dqd\n" + strings.Replace(ready, "7712", "7714", 1) + "redis-cli -p 7713 PING | grep DENIED; docker rm -f open")
}
