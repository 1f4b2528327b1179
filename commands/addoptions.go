package commands

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"

	"dqd/persist/record"
)

// addParser reads the options that DQADD and DQMADD share.
type addParser struct {
	lim   *Limits
	opt   *AddOptions
	due   *Due // DELAY and AT go here; nil where each job has its due
	given given
}

var addOptions = []option{
	{"delay", groupDue, true},
	{"at", groupDue, true},
	{"nx", groupCond, false},
	{"xx", groupCond, false},
	{"upsert", groupCond, false},
	{"idem", groupCond, false},
	{"gt", groupCompare, false},
	{"lt", groupCompare, false},
	{"ttl", groupExpiry, true},
	{"expireat", groupExpiry, true},
	{"pri", groupPri, true},
	{"attempts", groupAttempts, true},
	{"backoff", groupBackoff, true},
	{"lease", groupLease, true},
	{"maxlen", groupMaxLen, true},
}

func newAddParser(opt *AddOptions, due *Due, lim *Limits) addParser {
	opt.Pri, opt.Attempts = -1, -1
	return addParser{lim: lim, opt: opt, due: due}
}

// option reads the option at the cursor, with its values.
func (p *addParser) option(c *cursor) error {
	if isKeyword(c.args[c.at], "meta") { // the only one that may be repeated
		return p.meta(c)
	}
	word, arg, err := p.given.take(c, addOptions)
	if err != nil {
		return err
	}
	opt := p.opt
	switch word {
	case "delay", "at":
		if p.due == nil {
			return syntaxf("%s is no common option: each job says when it is due, behind its payload", strings.ToUpper(word))
		}
		*p.due, err = parseDue(word, arg, p.lim)
	case "nx":
		opt.Cond = CondNX
	case "xx":
		opt.Cond = CondXX
	case "upsert":
		opt.Cond = CondUpsert
	case "idem":
		opt.Cond = CondIdem
	case "gt":
		opt.Compare = CompareGT
	case "lt":
		opt.Compare = CompareLT
	case "ttl":
		opt.TTL, err = parseDuration("TTL", arg, p.lim)
		if err == nil && opt.TTL == 0 {
			err = errf("BADTIME TTL %s leaves no time to take the job: leave TTL out for no limit", quote(arg))
		}
	case "expireat":
		opt.ExpireAt, err = parseTime("EXPIREAT", arg, p.lim)
		if err == nil && opt.ExpireAt == 0 {
			err = errExpireAt
		}
	case "pri":
		opt.Pri, err = parsePri(arg)
	case "attempts":
		var n int64
		n, err = parseRange("ATTEMPTS", arg, 0, attemptsMax)
		opt.Attempts = int(n)
	case "backoff":
		opt.Backoff, err = ParseBackoff(arg, p.lim)
	case "lease":
		opt.Lease, err = parseLease("LEASE", arg, p.lim, p.lim.LeaseMax)
	case "maxlen":
		opt.MaxLen, err = parseRange("MAXLEN", arg, 1, maxInteger)
	}
	return err
}

// meta reads one pair. Of a field given again the last value wins; it keeps the
// field's place.
func (p *addParser) meta(c *cursor) error {
	c.next()
	if len(c.rest()) < 2 {
		return syntaxf("META needs a field and a value behind it")
	}
	field := record.Field{Name: c.next(), Value: c.next()}
	for i := range p.opt.Meta {
		if bytes.Equal(p.opt.Meta[i].Name, field.Name) {
			p.opt.Meta[i] = field
			return nil
		}
	}
	if len(p.opt.Meta) == p.lim.MaxMetaPairs {
		return errf("TOOBIG META has more than %d fields: put the rest into the payload", p.lim.MaxMetaPairs)
	}
	p.opt.Meta = append(p.opt.Meta, field)
	return nil
}

// finish checks what needs all options.
func (p *addParser) finish() error {
	if p.opt.Compare != CompareNone && p.opt.Cond != CondXX && p.opt.Cond != CondUpsert {
		return syntaxf("%s needs XX or UPSERT: it says when to replace a job", strings.ToUpper(p.given[groupCompare]))
	}
	size := 0
	for _, f := range p.opt.Meta {
		size += len(f.Name) + len(f.Value)
	}
	if size > p.lim.MaxMetaBytes {
		return errf("TOOBIG META has %d bytes of names and values, the limit is %d: put the rest into the payload", size, p.lim.MaxMetaBytes)
	}
	return nil
}

// finishJob checks one job against the options, and gives it its digest.
func (p *addParser) finishJob(job *NewJob) error {
	if job.ID == nil && p.opt.Cond != CondNone {
		return syntaxf("%s needs an id chosen by the client, not *", strings.ToUpper(p.given[groupCond]))
	}
	if job.Due.Kind == DueAt && p.opt.ExpireAt != 0 && p.opt.ExpireAt <= job.Due.Ns {
		return errExpireAt
	}
	if p.opt.Cond == CondIdem {
		job.Digest = digest(job, p.opt)
	}
	return nil
}

const errExpireAt = Error("BADTIME EXPIREAT is not after the due time: the job would leave before anybody could take it")

// parseNewID reads the id of an add; nil stands for *.
func parseNewID(id []byte, lim *Limits) ([]byte, error) {
	if isStar(id) {
		return nil, nil
	}
	return id, checkName("id", id, lim.MaxID)
}

func parsePri(arg []byte) (int, error) {
	n, err := parseRange("PRI", arg, 0, 255)
	return int(n), err
}

// digest identifies what the client asked for: SHA-256, cut, of a canonical
// form in which every spelling of one duration or instant is equal, META is in
// order of its names, and an option that was not given differs from its default.
// It is replicated and kept, so the form never changes: a new option goes to
// the end, and only when it was given.
//
//	byte          version, 1
//	byte int64    kind of due, ns
//	int64 int64   TTL, EXPIREAT in ns; 0 = not given
//	int64 int64   PRI, ATTEMPTS; -1 = not given
//	int64 int64   LEASE in ns, MAXLEN; 0 = not given
//	byte …        BACKOFF: kind (0 = not given), jitter, uint32 factor, number of steps, steps
//	uint32 …      META: number of pairs, each as two strings
//	string        payload
//
// A string is its length as a uint32 and its bytes; integers are big-endian.
// Queue and id are left out: the memory is theirs.
func digest(job *NewJob, opt *AddOptions) record.Digest {
	be := binary.BigEndian
	form := make([]byte, 0, 256)
	form = append(form, 1, byte(job.Due.Kind))
	for _, n := range [...]int64{
		job.Due.Ns, opt.TTL, opt.ExpireAt, int64(opt.Pri), int64(opt.Attempts), opt.Lease, opt.MaxLen,
	} {
		form = be.AppendUint64(form, uint64(n))
	}
	if b := opt.Backoff; b == nil {
		form = append(form, 0)
	} else {
		form = append(form, byte(b.Kind), b.Jitter)
		form = be.AppendUint32(form, b.Factor)
		form = be.AppendUint32(form, uint32(len(b.Steps)))
		for _, step := range b.Steps {
			form = be.AppendUint64(form, uint64(step))
		}
	}
	appendString := func(s []byte) {
		form = be.AppendUint32(form, uint32(len(s)))
		form = append(form, s...)
	}
	form = be.AppendUint32(form, uint32(len(opt.Meta)))
	meta := slices.Clone(opt.Meta)
	slices.SortFunc(meta, func(a, b record.Field) int { return bytes.Compare(a.Name, b.Name) })
	for _, f := range meta {
		appendString(f.Name)
		appendString(f.Value)
	}
	form = be.AppendUint32(form, uint32(len(job.Payload)))

	// The payload may be long: it is hashed where it is.
	hash := sha256.New()
	hash.Write(form)
	hash.Write(job.Payload)
	var sum [sha256.Size]byte
	return record.Digest(hash.Sum(sum[:0])[:len(record.Digest{})])
}
