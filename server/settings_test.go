package server

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"dqd/server/guard"
)

// Protects docs/settings.md from being stale: "go run ./server/gendoc" writes it.
func TestSettingsReferenceIsFresh(t *testing.T) {
	file, err := os.ReadFile("../docs/settings.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(file, SettingsReference()) {
		t.Error("docs/settings.md is stale: run go run ./server/gendoc")
	}
}

// Each row is whole, its name is no other's, its default is allowed, and what is
// not allowed is answered with what is.
func TestSettingRows(t *testing.T) {
	o := DefaultOptions()
	seen := map[string]bool{}
	for _, c := range constantSettings {
		seen[c.name] = true
	}
	for _, group := range AllSettings() {
		for _, s := range group.Settings {
			if seen[s.Name] {
				t.Error(s.Name, "is there twice")
			}
			seen[s.Name] = true
			if s.Values == "" || s.Usage == "" || strings.Contains(s.Usage+s.Values, "\n") || strings.HasSuffix(s.Usage, ".") {
				t.Errorf("%s: the texts are not as they should be", s.Name)
			}
			if s.Secret != (s.show == nil) {
				t.Errorf("%s: a secret has no value to show, and everything else has", s.Name)
			}
			for _, word := range s.Words {
				if err := s.Set(&o, word); err != nil || s.show(&o) != word {
					t.Errorf("%s %s: %v", s.Name, word, err)
				}
			}
			if s.Secret || s.Path != "" {
				continue
			}
			if err := s.Set(&o, "\x00"); err == nil || s.Name != "bind" && s.Name != "http-bind" && err.Error() != "write "+s.Values {
				t.Errorf("%s: a wrong value is answered %v", s.Name, err)
			}
		}
	}
}

// An Options whose fields are left zero has the defaults of the table, but for the
// memory, which it cannot ask the machine for.
func TestDefaultsAgree(t *testing.T) {
	left, table := (Options{}).withDefaults(), DefaultOptions()
	left.Memory, left.ClientBuffers = table.Memory, table.ClientBuffers
	left.Bind, left.Port, left.HTTPBind, left.HTTPPort, left.Dir = table.Bind, table.Port, table.HTTPBind, table.HTTPPort, table.Dir
	left.MinDiskFree, left.ClockTrust = table.MinDiskFree, table.ClockTrust
	table = table.withDefaults()
	for _, group := range AllSettings() {
		for _, s := range group.Settings {
			if s.show != nil && s.show(&left) != s.show(&table) {
				t.Errorf("%s: %s by itself, %s by the table", s.Name, s.show(&left), s.show(&table))
			}
		}
	}
}

// A setting that is zero at the start stays zero.
func TestZeroIsAValue(t *testing.T) {
	o := DefaultOptions()
	for _, name := range []string{"slowlog-log-slower-than", "slowlog-max-len", "latency-monitor-threshold", "timeout"} {
		if err := FindSetting(name).Set(&o, "0"); err != nil {
			t.Fatal(err)
		}
		if full := o.withDefaults(); FindSetting(name).show(&full) != "0" {
			t.Errorf("%s became %s", name, FindSetting(name).show(&full))
		}
	}
}

// Shares and sizes are what they say.
func TestSharesAndSizes(t *testing.T) {
	for _, c := range []struct{ name, value, want string }{
		{"maxmemory", "1gb", "1073741824"},
		{"maxmemory-clients", "50%", "536870900"},
		{"maxmemory", "128mb", "134217728"},
		{"maxmemory", "127mb", ""},
		{"maxmemory", "0%", ""},
		{"maxmemory", "101%", ""},
		{"maxmemory", "%", ""},
		{"maxmemory-clients", "129mb", ""},
		{"maxmemory-clients", "1023kb", ""},
		{"min-disk-free", "off", guard.MinFree{}.String()},
		{"min-disk-free", "5% 1gb", "5%,1073741824"},
		{"min-disk-free", "1%,2%", ""},
		{"min-disk-free", "1gb,2gb", ""},
		{"min-disk-free", ",", ""},
		{"max-payload", "16mb", "16777216"},
		{"max-payload", "17mb", ""},
		{"clock-trust", "1d12h", "129600000"},
		{"clock-trust", "-1s", ""},
	} {
		o := DefaultOptions()
		o.Memory = 1 << 30
		if c.name == "maxmemory-clients" && c.value == "129mb" {
			o.Memory = 128 << 20
		}
		s := FindSetting(c.name)
		switch err := s.Set(&o, c.value); {
		case err == nil && c.want == "":
			t.Errorf("%s %s is taken", c.name, c.value)
		case c.want != "" && (err != nil || s.show(&o) != c.want):
			t.Errorf("%s %s: %v, %s", c.name, c.value, err, s.show(&o))
		}
	}
}
