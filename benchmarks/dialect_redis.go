package main

import "fmt"

// redisDialect is the usual delay queue on Redis: a ZSet of members scored with
// their due time in ms, a Lua script that moves what is due to a second ZSet
// scored with the end of the lease, ZREM as the ack. The member is id + payload,
// the same bytes that dqd is given.
type redisDialect struct {
	sha string // of popScript, known after prepare
}

const (
	processing = queue + ":processing"
	memberLen  = idLen + payloadLen
)

const popScript = `local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, ARGV[3])
if #due == 0 then return due end
local lease = {}
for i = 1, #due do lease[2*i-1] = ARGV[2]; lease[2*i] = due[i] end
redis.call('ZREM', KEYS[1], unpack(due))
redis.call('ZADD', KEYS[2], unpack(lease))
return due`

func (d *redisDialect) prepare(c *conn) error {
	sha, err := c.do("SCRIPT", "LOAD", popScript)
	if err != nil {
		return fmt.Errorf("SCRIPT LOAD: %w", err)
	}
	d.sha = sha
	return nil
}

func (*redisDialect) polls() bool { return true }

func (*redisDialect) addFar(b []byte, p *payloads, seq uint64, dueMs int64) []byte {
	b = append(b, "*4\r\n$4\r\nZADD\r\n$5\r\n"+queue+"\r\n"...)
	return appendMember(b, p, seq, dueMs)
}

func (d *redisDialect) addAt(b []byte, p *payloads, seq uint64, dueMs int64) []byte {
	return d.addFar(b, p, seq, dueMs)
}

// appendMember appends the pair score, member.
func appendMember(b []byte, p *payloads, seq uint64, dueMs int64) []byte {
	b = appendBulkInt(b, dueMs, "")
	return appendName(b, p, seq, dueMs)
}

func appendName(b []byte, p *payloads, seq uint64, dueMs int64) []byte {
	b = appendBulkLen(b, memberLen)
	b = appendID(b, seq)
	b = append(b, p.of(seq, dueMs)...)
	return append(b, '\r', '\n')
}

func (*redisDialect) added(c *conn) (bool, error) {
	n, err := c.integer()
	return n == 1, err
}

func (*redisDialect) addMany(b []byte, p *payloads, seq uint64, duesMs []int64) []byte {
	b = appendArray(b, 2+2*len(duesMs))
	b = append(b, "$4\r\nZADD\r\n$5\r\n"+queue+"\r\n"...)
	for i, due := range duesMs {
		b = appendMember(b, p, seq+uint64(i), due)
	}
	return b
}

func (*redisDialect) addedMany(c *conn, _ int) (int, error) {
	n, err := c.integer()
	return int(n), err
}

func (*redisDialect) cancel(b []byte, p *payloads, seq uint64, dueMs int64) []byte {
	b = append(b, "*3\r\n$4\r\nZREM\r\n$5\r\n"+queue+"\r\n"...)
	return appendName(b, p, seq, dueMs)
}

func (d *redisDialect) pop(b []byte, nowMs int64, count int) []byte {
	b = append(b, "*8\r\n$7\r\nEVALSHA\r\n"...)
	b = appendBulk(b, d.sha)
	b = append(b, "$1\r\n2\r\n$5\r\n"+queue+"\r\n"...)
	b = appendBulk(b, processing)
	b = appendBulkInt(b, nowMs, "")
	b = appendBulkInt(b, nowMs+leaseMs, "")
	return appendBulkInt(b, int64(count), "")
}

func (*redisDialect) popped(c *conn, in *inbox) error {
	in.reset(memberLen)
	n, err := c.array()
	if err != nil {
		return err
	}
	for range max(n, 0) {
		member, err := c.bulk()
		if err != nil {
			return err
		}
		if len(member) != memberLen {
			return errForeign
		}
		if err := in.add(member, member[idLen:], 0); err != nil {
			return err
		}
	}
	return nil
}

func (*redisDialect) ack(b []byte, in *inbox, _ bool) []byte {
	b = appendArray(b, 2+len(in.jobs))
	b = append(b, "$4\r\nZREM\r\n"...)
	b = appendBulk(b, processing)
	for i := range in.jobs {
		b = appendBulk(b, in.name(i))
	}
	return b
}

func (*redisDialect) acked(c *conn, _ *inbox, _ bool) (int, error) {
	n, err := c.integer()
	return int(n), err
}

func (*redisDialect) extend(b []byte, in *inbox, from, to int, nowMs int64) []byte {
	b = appendArray(b, 4+2*(to-from))
	b = append(b, "$4\r\nZADD\r\n"...)
	b = appendBulk(b, processing)
	b = append(b, "$2\r\nXX\r\n$2\r\nCH\r\n"...)
	for i := from; i < to; i++ {
		b = appendBulkInt(b, nowMs+leaseFarMs, "")
		b = appendBulk(b, in.name(i))
	}
	return b
}

func (*redisDialect) extended(c *conn, _ int) (int, error) {
	n, err := c.integer()
	return int(n), err
}
