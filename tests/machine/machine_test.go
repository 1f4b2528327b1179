package machine

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"dqd/tests/dqdtest"
)

// What the documents say about systemd and Docker (the blocks marked "sh machine") is done,
// word for word, on a machine that has both; then the server is treated as such machines
// treat it.
func TestDocumentedMachine(t *testing.T) {
	if os.Getuid() != 0 || exec.Command("unshare", "--mount", "--net", "true").Run() != nil {
		t.Skip("only root may boot a machine, in a container mostly not even root: ./test.sh says so too")
	}
	paths, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	m := boot(t)
	for _, wrong := range []string{"false; true", "false | true", "systemctl start nonsense", "docker run nonsense"} {
		if out, err := m.run(wrong); err == nil {
			t.Errorf("%s is taken for right:\n%s", wrong, out)
		}
	}
	treated := map[string]int{}
	for _, path := range append(paths, "../../README.md") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range dqdtest.Blocks(string(text), "sh machine") {
			switch {
			case strings.Contains(block, "systemctl enable"):
				t.Log(m.sh(block))
				underSystemd(t, m)
				treated["systemd"]++
			case strings.Contains(block, "docker build"):
				baseImage(m)
				t.Log(m.sh(block))
				inAContainer(t, m)
				treated["Docker"]++
			default:
				t.Errorf("%s: nobody looks at what comes of\n%s", path, block)
			}
		}
	}
	if len(treated) != 2 {
		t.Errorf("documented are only %v", treated)
	}
}

func underSystemd(t *testing.T, m *machine) {
	// systemctl has returned, so it serves.
	m.sh("curl -fsS http://127.0.0.1:7712/readyz; redis-cli -e -p 7711 DQADD orders o-1 x DELAY 1d")
	if uid := m.value("stat -c %u /proc/$(systemctl show -P MainPID dqd)"); uid == "0" {
		t.Error("it runs as root")
	}
	if mode := m.value("stat -L -c %a /var/lib/dqd"); mode != "700" {
		t.Errorf("others may read the data: mode %s", mode)
	}
	// Room for all clients; no memory with payloads and password in a file on a crash.
	m.sh(`redis-cli -e -p 7711 CONFIG GET maxclients | grep -x 10000
grep -E 'Max core file size +0 +0' /proc/$(systemctl show -P MainPID dqd)/limits`)
	// Out of 100, which a unit has that protects nothing.
	m.sh("systemd-analyze security --threshold=15 dqd")

	// What ends by a fault is started again, with its jobs.
	m.sh("systemctl kill --signal=KILL dqd")
	m.becomes("systemctl show -P NRestarts dqd", "1")
	m.becomes("systemctl is-active dqd || true", "active")
	m.sh("redis-cli -e -p 7711 DQGET orders o-1 | grep delayed")

	// So is what stands still, and the journal has the stacks.
	m.sh(`mkdir -p /run/systemd/system/dqd.service.d
printf '[Service]\nWatchdogSec=2s\n' > /run/systemd/system/dqd.service.d/soon.conf
systemctl daemon-reload
systemctl restart dqd
systemctl kill --signal=STOP dqd`)
	m.becomes("systemctl show -P NRestarts dqd", "1")
	m.becomes("systemctl is-active dqd || true", "active")
	m.sh("journalctl --no-pager -u dqd > journal; grep 'Watchdog timeout' journal; grep 'goroutine [0-9]' journal")

	// The password is in the file for it, and in nothing that others can read.
	m.sh(`rm -r /run/systemd/system/dqd.service.d
systemctl daemon-reload
echo DQD_REQUIREPASS=open-sesame > /etc/dqd/environment
systemctl restart dqd
redis-cli -p 7711 PING | grep NOAUTH
REDISCLI_AUTH=open-sesame redis-cli -e -p 7711 PING
stat -c %a /etc/dqd/environment | grep 600
if { systemctl show dqd; journalctl --no-pager; } | grep open-sesame; then exit 1; fi`)

	// A wrong setting keeps it from starting, which systemctl says, and the journal why;
	// after a few tries it stays failed.
	m.sh(`echo prot 7711 >> /etc/dqd/dqd.conf
systemctl reset-failed dqd
if systemctl restart dqd; then exit 1; fi
journalctl --no-pager -u dqd | grep 'did you mean "port"'`)
	m.becomes("systemctl is-failed dqd || true", "failed")
	m.sh(`journalctl --no-pager -u dqd | grep 'Start request repeated too quickly'
sed -i '$d' /etc/dqd/dqd.conf
systemctl reset-failed dqd
systemctl restart dqd`)

	// Asked to end it does so as it says, and its jobs are there the next time.
	m.sh(`systemctl stop dqd
systemctl show -P Result dqd | grep success
systemctl start dqd
REDISCLI_AUTH=open-sesame redis-cli -e -p 7711 DQGET orders o-1 | grep delayed
systemctl disable --now dqd`)
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
	ready := func(port string) string {
		return "curl -fsS --retry 30 --retry-delay 1 --retry-all-errors http://127.0.0.1:" + port + "/readyz\n"
	}
	const as = "REDISCLI_AUTH=secret redis-cli -e -p 7711 "
	m.sh(ready("7712") + as + "DQADD orders o-1 x DELAY 1d; redis-cli -p 7711 PING | grep NOAUTH")
	if user := m.value("stat -c %u:%g /proc/$(docker inspect --format '{{.State.Pid}}' dqd)"); user != "65532:65532" {
		t.Errorf("it runs as %s", user)
	}
	if list := m.value("docker exec dqd /dqd queue ls"); !strings.Contains(list, "orders") {
		t.Errorf("docker exec sees the queues\n%s", list)
	}
	m.sh("docker kill dqd; docker start dqd\n" + ready("7712") + as + "DQGET orders o-1 | grep delayed")
	m.sh("docker stop dqd")
	if code := m.value("docker inspect --format '{{.State.ExitCode}}' dqd"); code != "0" {
		t.Errorf("docker stop: exit code %s", code)
	}
	m.sh("docker run --rm --volume dqd-data:/data dqd check /data")

	// Nothing is in it but the program and the folder for the data, a volume if nobody gives one.
	if files := m.value("docker save dqd | tar -xO --wildcards '*/layer.tar' -i | tar -ti | sort"); files != "data/\ndqd" {
		t.Errorf("the image has\n%s", files)
	}
	m.sh("docker image inspect --format '{{.Config.Volumes}} {{.Config.ExposedPorts}}' dqd | grep -F 'map[/data:{}] map[7711/tcp:{} 7712/tcp:{}]'")
	// Built without cgo, the stores' caches would be in Go's heap.
	m.sh("docker cp dqd:/dqd from-image; go version -m from-image | grep CGO_ENABLED=1")

	also := func(flags, check string) {
		t.Helper()
		m.sh("docker run -d --name also " + flags + " -p 7713:7711 -p 127.0.0.1:7714:7712 dqd\n" + ready("7714") + check + "\ndocker rm -f -v also")
	}
	// The container's memory is what it reckons with, not the machine's.
	also("--memory 1g -e DQD_PROTECTED_MODE=no", `redis-cli -p 7713 INFO memory | tr -d '\r' | grep -x maxmemory_human:819.20M`)
	// Without a password clients are refused, and told why.
	also("", "redis-cli -p 7713 PING | grep DENIED")
	m.sh("docker rm -f -v dqd")
}
