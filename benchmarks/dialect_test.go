package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/redcon"
)

// words shows requests as a server reads them; payloads, which are random, as P.
func words(t *testing.T, raw []byte) string {
	t.Helper()
	var out []string
	for len(raw) > 0 {
		complete, args, _, rest, err := redcon.ReadNextCommand(raw, nil)
		if err != nil || !complete {
			t.Fatalf("complete %v, %v: %q", complete, err, raw)
		}
		var line []string
		for _, a := range args {
			switch len(a) {
			case payloadLen:
				line = append(line, "P")
			case memberLen:
				line = append(line, string(a[:idLen])+"P")
			default:
				line = append(line, string(a))
			}
		}
		out = append(out, strings.Join(line, " "))
		raw = rest
	}
	return strings.Join(out, "\n")
}

// What goes over the wire, word for word, is what the contract of each server asks.
func TestRequests(t *testing.T) {
	const due = 1_800_000_000_123
	seq := firstSeq(1) + 0xab
	p := new(payloads)
	in := &inbox{}
	in.reset(idLen)
	for i := range uint64(2) {
		if err := in.add(appendID(nil, seq+i), p.of(seq+i, due), int64(40+i)); err != nil {
			t.Fatal(err)
		}
	}
	members := &inbox{}
	members.reset(memberLen)
	if err := members.add(append(appendID(nil, seq), p.of(seq, due)...), p.of(seq, due), 0); err != nil {
		t.Fatal(err)
	}
	d, r := dqdDialect{}, &redisDialect{sha: "SHA"}
	for _, c := range []struct {
		got  []byte
		want string
	}{
		{d.addFar(nil, p, seq, due), "DQADD bench 00010000000000ab P DELAY 1h"},
		{d.addAt(nil, p, seq, due), "DQADD bench 00010000000000ab P AT 1800000000123000000ns"},
		{d.addAt(d.addFar(nil, p, seq, due), p, seq+1, due), "DQADD bench 00010000000000ab P DELAY 1h\nDQADD bench 00010000000000ac P AT 1800000000123000000ns"},
		{d.addMany(nil, p, seq, []int64{due, due + 1}), "DQMADD bench JOBS 2 00010000000000ab P 1800000000123 00010000000000ac P 1800000000124"},
		{d.pop(nil, due, 100), "DQPOP bench COUNT 100 BLOCK 5000"},
		{d.ack(nil, in, false), "DQACK bench 00010000000000ab 40 00010000000000ac 41"},
		{d.ack(nil, in, true), "DQMACK bench JOBS 2 00010000000000ab 40 00010000000000ac 41"},
		{d.cancel(nil, p, seq, due), "DQCANCEL bench 00010000000000ab"},
		{d.extend(nil, in, 0, 2, due), "DQMEXTEND bench 1h JOBS 2 00010000000000ab 40 00010000000000ac 41"},
		{d.extend(nil, in, 1, 2, due), "DQMEXTEND bench 1h JOBS 1 00010000000000ac 41"},
		{r.addFar(nil, p, seq, due), "ZADD bench 1800000000123 00010000000000abP"},
		{r.addAt(nil, p, seq, due), "ZADD bench 1800000000123 00010000000000abP"},
		{r.addMany(nil, p, seq, []int64{due, due + 1}), "ZADD bench 1800000000123 00010000000000abP 1800000000124 00010000000000acP"},
		{r.pop(nil, due, 100), "EVALSHA SHA 2 bench bench:processing 1800000000123 1800000030123 100"},
		{r.cancel(nil, p, seq, due), "ZREM bench 00010000000000abP"},
		{r.extend(nil, members, 0, 1, due), "ZADD bench:processing XX CH 1800003600123 00010000000000abP"},
		{r.ack(nil, members, false), "ZREM bench:processing 00010000000000abP"},
	} {
		if got := words(t, c.got); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// A job tuple, and a ZSet member, give back the due, the sequence and the token
// that were put in.
func TestPopped(t *testing.T) {
	const due = 1_800_000_000_123
	seq := firstSeq(3) + 9
	payload := string(new(payloads).of(seq, due))
	id := string(appendID(nil, seq))
	tuple := fmt.Sprintf("*6\r\n$5\r\nbench\r\n$16\r\n%s\r\n$100\r\n%s\r\n:77\r\n:1\r\n:%d\r\n", id, payload, due)
	var in inbox
	for range 2 { // the inbox is used again
		if err := (dqdDialect{}).popped(scripted(t, "*2\r\n"+tuple+tuple), &in); err != nil {
			t.Fatal(err)
		}
	}
	if len(in.jobs) != 2 || in.jobs[1] != (delivery{seq, due, 77}) || string(in.name(1)) != id {
		t.Errorf("jobs %v, name %q", in.jobs, in.name(1))
	}
	if err := (&redisDialect{}).popped(scripted(t, "*1\r\n$116\r\n"+id+payload+"\r\n"), &in); err != nil {
		t.Fatal(err)
	}
	if len(in.jobs) != 1 || in.jobs[0] != (delivery{seq, due, 0}) || string(in.name(0)) != id+payload {
		t.Errorf("jobs %v, name %q", in.jobs, in.name(0))
	}
	for _, null := range []string{"*-1\r\n", "$-1\r\n", "*0\r\n"} {
		if err := (dqdDialect{}).popped(scripted(t, null), &in); err != nil || len(in.jobs) != 0 {
			t.Errorf("%q: %d jobs, %v", null, len(in.jobs), err)
		}
	}
	wrongDue := strings.Replace(tuple, fmt.Sprint(":", due), fmt.Sprint(":", due+1), 1)
	if err := (dqdDialect{}).popped(scripted(t, "*1\r\n"+wrongDue), &in); err == nil {
		t.Error("a job with another due than it was given passed")
	}
}

func TestAcked(t *testing.T) {
	in := &inbox{jobs: make([]delivery, 3)}
	if n, err := (dqdDialect{}).acked(scripted(t, "*3\r\n:1\r\n:-1\r\n:1\r\n"), in, true); n != 2 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := (dqdDialect{}).acked(scripted(t, "*2\r\n:1\r\n:1\r\n"), in, true); err == nil {
		t.Error("two codes for three jobs passed")
	}
}

// No two payloads are alike, or a server that compresses would look good; and a
// job has the same bytes again, or Redis could not cancel it.
func TestPayloadsDiffer(t *testing.T) {
	p := new(payloads)
	seen := map[string]bool{}
	for i := range uint64(1000) {
		b := p.of(i, 5)
		if len(b) != payloadLen || binary.BigEndian.Uint64(b[8:]) != i {
			t.Fatalf("payload %x", b)
		}
		seen[string(b[16:])] = true
	}
	if len(seen) != 1000 {
		t.Errorf("%d different payloads of 1000", len(seen))
	}
	if again := new(payloads).of(999, 5); !bytes.Equal(again, p.of(999, 5)) || bytes.Equal(again, p.of(999, 6)) {
		t.Error("a payload is not that of its job")
	}
}
