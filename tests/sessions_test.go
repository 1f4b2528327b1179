package tests

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dqd/tests/dqdtest"
	"dqd/tests/script"
)

// TestSessionsInVirtualTime runs every script against a server in this process,
// where an hour passes at once and every moment is exact.
func TestSessionsInVirtualTime(t *testing.T) {
	forEachScript(t, func(s *script.Script) bool { return s.RealOnly == "" }, runInProcess)
}

// TestSessionsWithTheProgram runs every script against the real program.
func TestSessionsWithTheProgram(t *testing.T) {
	forEachScript(t, func(s *script.Script) bool { return s.VirtualOnly == "" }, runProgram)
}

func runInProcess(t *testing.T, s *script.Script) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		// A bubble begins in the year 2000; times below 2001-09-09 look like
		// seconds to dqd and are refused as bare integers.
		time.Sleep(time.Until(time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)))
		script.Run(t, s, *update, func(config map[string]string) (script.Target, error) {
			return openInProcess(t, config)
		})
	})
}

func runProgram(t *testing.T, s *script.Script) {
	t.Helper()
	script.Run(t, s, *update, func(config map[string]string) (script.Target, error) {
		return openProcess(t, config), nil
	})
}

// forEachScript runs those scripts that are meant for a target; none may be meant
// for no target.
func forEachScript(t *testing.T, meant func(*script.Script) bool, run func(*testing.T, *script.Script)) {
	paths, err := filepath.Glob("scripts/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, path := range paths {
		s, err := script.Load(path)
		if err == nil {
			err = s.Check()
		}
		if err == nil && s.RealOnly != "" && s.VirtualOnly != "" {
			err = fmt.Errorf("%s runs nowhere", path)
		}
		if err != nil {
			t.Fatal(err)
		}
		if meant(s) {
			t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) { run(t, s) })
		}
	}
}

// process is the real program as a script's target.
type process struct {
	*dqdtest.Server
	control *dqdtest.Client
}

func openProcess(t *testing.T, config map[string]string) *process {
	o := dqdtest.Options{Config: map[string]string{}}
	for name, value := range config {
		if name == "requirepass" {
			o.Password = value
			continue
		}
		o.Config[name] = value
	}
	p := &process{Server: dqdtest.Start(t, o)}
	p.control = p.Server.Dial()
	return p
}

func (p *process) Dial() (net.Conn, error) {
	return net.DialTimeout("tcp", p.Addr, dqdtest.Deadline)
}

func (p *process) Virtual() bool { return false }

// Advance waits until the server's own clock has moved on by d.
func (p *process) Advance(d time.Duration) error {
	start, err := p.now()
	if err != nil {
		return err
	}
	return dqdtest.WaitFor(d+dqdtest.Deadline, func() error {
		now, err := p.now()
		if err != nil {
			return dqdtest.Stop(err)
		}
		if now < start+int64(d) {
			return fmt.Errorf("the server's clock has moved by %v", time.Duration(now-start))
		}
		return nil
	})
}

func (p *process) now() (int64, error) {
	v, err := p.control.Must("DQCLOCK")
	if err != nil {
		return 0, err
	}
	now, ok := v.Pick("now-ns")
	if !ok {
		return 0, errors.New("DQCLOCK has no now-ns")
	}
	return now.Int(), nil
}

// Parked waits until the server counts n blocked clients.
func (p *process) Parked(n int) error {
	return dqdtest.WaitFor(dqdtest.Deadline, func() error {
		v, err := p.control.Must("INFO", "clients")
		if err != nil {
			return dqdtest.Stop(err)
		}
		want := fmt.Sprintf("blocked_clients:%d\r\n", n)
		if !strings.Contains(v.Text+"\r\n", want) {
			return fmt.Errorf("INFO clients does not say %q", strings.TrimSpace(want))
		}
		return nil
	})
}

func (p *process) Restart() error {
	p.control.Close()
	if err := p.Stop(); err != nil {
		return err
	}
	if err := p.Server.Restart(); err != nil {
		return err
	}
	p.control = p.Server.Dial()
	return nil
}

func (p *process) Close() error {
	p.control.Close()
	p.Kill()
	return nil
}
