package commands

import (
	"bytes"
	"strconv"
	"strings"

	"dqd/persist/record"
)

// setting is a field of DQCONFIG.
type setting struct {
	name  string
	field record.Fields
	text  string // for the command reference
	parse func(s *record.Settings, arg []byte, lim *Limits) error
	show  func(s *record.Settings) string
}

// maxRate bounds rate and burst, so that a bucket is counted in whole nanoseconds
// without a difference that anybody could measure.
const maxRate = 1_000_000

// settings are all fields, in the order of DQCONFIG GET.
var settings = []setting{
	leaseSetting("lease", record.FieldLease, func(s *record.Settings) *int64 { return &s.Lease },
		"`30s`: how long a worker has a job, where neither the pop nor the job says; 1ms to `lease-max`"),
	leaseSetting("lease-max", record.FieldLeaseMax, func(s *record.Settings) *int64 { return &s.LeaseMax },
		"`12h`: the longest lease, extensions included; up to 12h. A job's own LEASE is cut to it on delivery"),
	numberSetting("attempts", record.FieldAttempts, attemptsMax, func(s *record.Settings) *int64 { return &s.Attempts },
		"`25`: deliveries in all of jobs added without ATTEMPTS; 0 = no limit. It is looked at when an attempt ends"),
	{"backoff", record.FieldBackoff, "`exp:1s:1h`: delay before the next attempt of jobs added without BACKOFF" + bareNumber, parseBackoffSetting,
		func(s *record.Settings) string { return FormatBackoff(&s.Backoff) }},
	durationSetting("ttl", record.FieldTTL, func(s *record.Settings) *int64 { return &s.TTL },
		"`0`: the TTL of jobs added from now on without TTL and EXPIREAT; 0 = none"),
	choiceSetting("expire-to", record.FieldExpireTo, "drop", "dead", func(s *record.Settings) *bool { return &s.ExpireToDead },
		"`drop`: what becomes of a job that nobody took in time: it is gone, or `dead`"),
	durationSetting("id-memory", record.FieldIdemMemory, func(s *record.Settings) *int64 { return &s.IdemMemory },
		"`1m`: how long an id remembers the IDEM adds accepted from now on"),
	numberSetting("max-len", record.FieldMaxLen, maxInteger, func(s *record.Settings) *int64 { return &s.MaxLen },
		"`0`: adds that would make more live jobs are `QUEUEFULL`; 0 = no limit"),
	{"max-payload", record.FieldMaxPayload, "`1048576`: the largest payload in bytes, up to the server's limit", parseMaxPayload,
		func(s *record.Settings) string { return decimal(s.MaxPayload) }},
	durationSetting("max-delay", record.FieldMaxDelay, func(s *record.Settings) *int64 { return &s.MaxDelay },
		"`0`: how far ahead a client may set a due time; 0 = the server's limit, 100 years"),
	numberSetting("max-inflight", record.FieldMaxInflight, maxInteger, func(s *record.Settings) *int64 { return &s.MaxInflight },
		"`0`: with so many jobs leased the queue behaves as empty; 0 = no limit"),
	numberSetting("rate", record.FieldRate, maxRate, func(s *record.Settings) *int64 { return &s.Rate },
		"`0`: deliveries per second, those with NOACK too; beyond it the queue behaves as empty; 0 = no limit"),
	{"burst", record.FieldBurst, "as `rate`: how many deliveries may come at once after a quiet time, 0 to 1000000; 0 = as `rate`. A change of either begins with a full burst", parseBurst,
		func(s *record.Settings) string { return decimal(s.BurstOrRate()) }},
	durationSetting("dead-keep", record.FieldDeadKeep, func(s *record.Settings) *int64 { return &s.DeadKeep },
		"`30d`: how long jobs that die from now on are kept; 0 = for ever"),
	numberSetting("dead-count", record.FieldDeadCount, maxInteger, func(s *record.Settings) *int64 { return &s.DeadCount },
		"`0`: of more dead jobs the oldest are pruned, right behind the entry that made them too many; 0 = no limit"),
	choiceSetting("on-disconnect", record.FieldOnDisconnect, "keep", "release", func(s *record.Settings) *bool { return &s.Release },
		"`keep`: what becomes of a lease when the connection that it was given over ends: nothing, or with `release` it runs out. It is for leases given while it is set; one that another connection extended since is kept. A restart of the server releases none"),
}

// settingFields describes them for the command reference.
func settingFields() []Field {
	fields := make([]Field, len(settings))
	for i := range settings {
		fields[i] = Field{settings[i].name, settings[i].text}
	}
	return fields
}

// findSetting returns the field with the name, in any case.
func findSetting(name []byte) (*setting, error) {
	for i := range settings {
		if isKeyword(name, settings[i].name) {
			return &settings[i], nil
		}
	}
	names := make([]string, len(settings))
	for i := range settings {
		names[i] = settings[i].name
	}
	return nil, errf("ERR no such setting: %s, use %s", quote(name), strings.Join(names, " "))
}

// bareNumber is said beside every setting that is a duration: `DQCONFIG SET q dead-keep 30`
// is not 30 days.
const bareNumber = ". A bare number is milliseconds"

func durationSetting(name string, field record.Fields, at func(*record.Settings) *int64, text string) setting {
	return setting{name, field, text + bareNumber,
		func(s *record.Settings, arg []byte, lim *Limits) (err error) {
			*at(s), err = parseDuration(name, arg, lim)
			return err
		},
		func(s *record.Settings) string { return decimal(MsUp(*at(s))) },
	}
}

func leaseSetting(name string, field record.Fields, at func(*record.Settings) *int64, text string) setting {
	s := durationSetting(name, field, at, text)
	s.parse = func(s *record.Settings, arg []byte, lim *Limits) (err error) {
		*at(s), err = parseLease(name, arg, lim, lim.LeaseMax)
		return err
	}
	return s
}

func numberSetting(name string, field record.Fields, max int64, at func(*record.Settings) *int64, text string) setting {
	return setting{name, field, text,
		func(s *record.Settings, arg []byte, _ *Limits) (err error) {
			*at(s), err = parseRange(name, arg, 0, max)
			return err
		},
		func(s *record.Settings) string { return decimal(*at(s)) },
	}
}

// choiceSetting is one of two words.
func choiceSetting(name string, field record.Fields, no, yes string, at func(*record.Settings) *bool, text string) setting {
	return setting{name, field, text,
		func(s *record.Settings, arg []byte, _ *Limits) error {
			if *at(s) = isKeyword(arg, yes); !*at(s) && !isKeyword(arg, no) {
				return errf("ERR %s %s is neither %s nor %s", name, quote(arg), no, yes)
			}
			return nil
		},
		func(s *record.Settings) string {
			if *at(s) {
				return yes
			}
			return no
		},
	}
}

func parseBackoffSetting(s *record.Settings, arg []byte, lim *Limits) error {
	b, err := ParseBackoff(arg, lim)
	if err == nil {
		s.Backoff = *b
	}
	return err
}

func parseMaxPayload(s *record.Settings, arg []byte, lim *Limits) (err error) {
	s.MaxPayload, err = parseRange("max-payload", arg, 1, int64(lim.MaxPayload))
	return err
}

func parseBurst(s *record.Settings, arg []byte, _ *Limits) (err error) {
	s.Burst, err = parseRange("burst", arg, 0, maxRate)
	return err
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// SettingsReply is the reply of DQCONFIG GET: the fields that match the pattern.
type SettingsReply struct {
	Settings *record.Settings
	Pattern  []byte // nil = all
}

func (r *SettingsReply) WriteReply(w Writer) {
	pattern := bytes.ToLower(r.Pattern)
	var shown []*setting
	for i := range settings {
		if r.Pattern == nil || MatchGlob(pattern, []byte(settings[i].name)) {
			shown = append(shown, &settings[i])
		}
	}
	w.Map(len(shown))
	for _, s := range shown {
		w.BulkString(s.name)
		w.BulkString(s.show(r.Settings))
	}
}
