package tests

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"dqd/tests/dqdtest"
	"dqd/tests/script"
)

// Each limit of the framing, with its default: one less and the limit itself are
// taken, one more is refused with Redis's text, and the connection closed.
func TestWireLimits(t *testing.T) {
	server := dqdtest.Start(t, dqdtest.Options{Password: password})
	bulk := func(n int) string { return fmt.Sprintf("$%d\r\n%s\r\n", n, strings.Repeat("x", n)) }
	for _, limit := range []struct {
		name   string
		before bool // AUTH
		at     int
		packet func(n int) string
		beyond string
	}{
		{"arguments", false, 65536, func(n int) string { return fmt.Sprintf("*%d\r\n", n) + strings.Repeat("$1\r\nx\r\n", n) }, "invalid multibulk length"},
		{"bytes of an argument", false, 16 << 20, func(n int) string { return "*2\r\n$5\r\nDQLEN\r\n" + bulk(n) }, "invalid bulk length"},
		{"bytes of a command", false, 18 << 20, func(n int) string {
			begin := "*3\r\n$5\r\nDQLEN\r\n" + bulk(16<<20)
			return begin + bulk(n-len(begin)-len("$0000000\r\n\r\n"))
		}, "command exceeds the query buffer limit"},
		{"bytes of an inline command", false, 64 << 10, func(n int) string { return "NOSUCH " + strings.Repeat("x", n-len("NOSUCH ")) + "\r\n" }, "too big inline request"},
		{"arguments before AUTH", true, 10, func(n int) string { return fmt.Sprintf("*%d\r\n", n) + strings.Repeat("$1\r\nx\r\n", n) }, "unauthenticated multibulk length"},
		{"bytes of an argument before AUTH", true, 16 << 10, func(n int) string { return "*2\r\n$4\r\nAUTH\r\n" + bulk(n) }, "unauthenticated bulk length"},
	} {
		t.Run(limit.name, func(t *testing.T) {
			for n := limit.at - 1; n <= limit.at+1; n++ {
				c, err := dqdtest.Dial(server.Addr)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				if !limit.before {
					if _, err := c.Must("AUTH", password); err != nil {
						t.Fatal(err)
					}
				}
				sent := c.Raw([]byte(limit.packet(n)))
				v, err := c.Receive(dqdtest.Deadline)
				if err != nil || v.Kind != script.KindError {
					t.Fatalf("%d: %.100v %v, sent: %v", n, v, err, sent)
				}
				if n <= limit.at {
					if strings.Contains(v.Text, "Protocol error") {
						t.Errorf("%d: %s", n, v.Text)
					}
					if v, err := c.Do("HELLO"); err != nil || strings.Contains(v.Text, "Protocol error") {
						t.Errorf("after %d: HELLO: %v %v", n, v, err)
					}
					continue
				}
				if got, closed := readAll(c); v.Text != "ERR Protocol error: "+limit.beyond || got != "" || !closed {
					t.Errorf("%d: %q, then %q, closed %v; want %s", n, v.Text, got, closed, limit.beyond)
				}
			}
		})
	}
}

// max-payload as configured, up to the most that it can be.
func TestConfiguredPayloadLimit(t *testing.T) {
	for _, limit := range []struct {
		setting string
		at      int
		beyond  string
	}{{"1000", 1000, "TOOBIG "}, {"16mb", 16 << 20, "ERR Protocol error: invalid bulk length"}} {
		server := dqdtest.Start(t, dqdtest.Options{Args: []string{"--max-payload", limit.setting}})
		for n := limit.at - 1; n <= limit.at+1; n++ {
			v, err := server.Dial().Do("DQADD", "q", fmt.Sprint(n), strings.Repeat("x", n))
			switch {
			case n <= limit.at && (err != nil || v.Text != fmt.Sprint(n)):
				t.Errorf("max-payload %s, %d bytes: %v %v", limit.setting, n, v, err)
			case n > limit.at && v.Kind == script.KindError && !strings.HasPrefix(v.Text, limit.beyond), n > limit.at && err == nil && v.Kind != script.KindError:
				t.Errorf("max-payload %s, %d bytes: %v %v, want %s", limit.setting, n, v, err, limit.beyond)
			}
		}
		if v, err := server.Dial().Must("DQLEN", "q"); err != nil || v.Int() != 2 {
			t.Errorf("max-payload %s: %v jobs, %v", limit.setting, v, err)
		}
	}
}

// A storm of retries: fifty clients send one request, IDEM, all at once and again
// and again; then each acks what it was told, twice. There is one job, delivered
// once, acked once (F19).
func TestRetryStorm(t *testing.T) {
	server := dqdtest.Start(t, dqdtest.Options{})
	storm := func(do func(c *dqdtest.Client) error) {
		t.Helper()
		var clients sync.WaitGroup
		for range 50 {
			c := server.Dial()
			clients.Go(func() {
				for range 10 {
					if err := do(c); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		clients.Wait()
	}
	storm(func(c *dqdtest.Client) error {
		v, err := c.Must("DQADD", "q", "a", "x", "DELAY", "1ms", "IDEM")
		if err == nil && v.Text != "a" {
			err = fmt.Errorf("DQADD answers %v", v)
		}
		return err
	})
	var mu sync.Mutex
	var tokens []string
	storm(func(c *dqdtest.Client) error {
		v, err := c.Must("DQPOP", "q", "BLOCK", "1ms")
		mu.Lock()
		defer mu.Unlock()
		for _, job := range v.Items {
			tokens = append(tokens, job.Items[3].Text)
		}
		return err
	})
	if len(tokens) != 1 {
		t.Fatalf("the job was delivered with the tokens %q", tokens)
	}
	acked := int64(0)
	storm(func(c *dqdtest.Client) error {
		v, err := c.Must("DQACK", "q", "a", tokens[0])
		mu.Lock()
		defer mu.Unlock()
		acked += v.Int()
		return err
	})
	if acked != 1 {
		t.Errorf("the job was acked %d times", acked)
	}
	k, err := readCounters(server.Dial(), "q")
	if err != nil || k.Added != 1 || k.Acked != 1 || k.Ready+k.Leased+k.Delayed+k.Dead != 0 {
		t.Errorf("%+v, %v", k, err)
	}
}
