package clients

import (
	"bytes"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"dqd/tests/dqdtest"
)

// most is how often a connection breaks on an add before it gets through.
const most = 6

// How often each client sends an add in all when its connection breaks on it, as
// docs/clients.md says. One that sends it most+1 times goes on until it is answered.
var again = []struct {
	client
	sent int
}{
	{client{"go-redis", []string{built("again"), "goredis"}}, 4},
	{client{"rueidis", []string{built("again"), "rueidis"}}, 1},
	{client{"redigo", []string{built("again"), "redigo"}}, 1},
	{client{"ioredis-5", []string{"node/node_modules/.bin/node", "-e", ioredisAdd, "./node/node_modules/ioredis5"}}, most + 1},
	{client{"ioredis-6", []string{"node/node_modules/.bin/node", "-e", ioredisAdd, "./node/node_modules/ioredis6"}}, most + 1},
	{client{"node-redis-4", []string{"node/node_modules/.bin/node", "-e", nodeRedisAdd, "./node/node_modules/redis4"}}, 1},
	{client{"node-redis-5", []string{"node/node_modules/.bin/node", "-e", nodeRedisAdd, "./node/node_modules/redis5"}}, 1},
	{client{"node-redis-6", []string{"node/node_modules/.bin/node", "-e", nodeRedisAdd, "./node/node_modules/redis6"}}, 1},
	{client{"redis-py", []string{"/usr/bin/python3", "-c", `
import os, redis
try:
    print("added:", redis.Redis(port=os.environ["DQD_PORT"], decode_responses=True).execute_command("DQADD", "q", "once", "x"))
except redis.RedisError as err:
    print("error:", err)
`}}, 1},
	{client{"redis-rb", []string{"/usr/bin/ruby", "-e", `
require "redis"
begin
  puts "added: #{Redis.new(port: ENV["DQD_PORT"]).call("DQADD", "q", "once", "x")}"
rescue Redis::BaseError => e
  puts "error: #{e.message}"
end
`}}, 2},
	{client{"phpredis", []string{"/usr/bin/php", "-r", `
$r = new Redis();
$r->connect('127.0.0.1', (int) getenv('DQD_PORT'));
try {
	$id = $r->rawCommand('DQADD', 'q', 'once', 'x');
	echo "added: $id\n";
} catch (RedisException $e) {
	echo 'error: ', $e->getMessage(), "\n";
}
`}}, 1},
	{client{"perl-redis", []string{"/usr/bin/perl", "-MRedis", "-e", `
my $r = Redis->new(server => "127.0.0.1:$ENV{DQD_PORT}", reconnect => 10);
my $id = eval { $r->dqadd("q", "once", "x") };
print defined $id ? "added: $id\n" : "error: " . $@ =~ s/\s+/ /gr . "\n";
`}}, 1},
}

const (
	ioredisAdd = `
const redis = new (require(process.argv[1]))(process.env.DQD_PORT);
redis.on("error", () => {});
redis.call("DQADD", "q", "once", "x")
  .then((id) => console.log("added: " + id), (err) => console.log("error: " + err.message))
  .finally(() => process.exit());
`
	nodeRedisAdd = `
const client = require(process.argv[1]).createClient({ socket: { port: process.env.DQD_PORT } });
client.on("error", () => {});
client.connect()
  .then(() => client.sendCommand(["DQADD", "q", "once", "x"]))
  .then((id) => console.log("added: " + id), (err) => console.log("error: " + err.message))
  .finally(() => process.exit());
`
)

func TestAddsSentAgain(t *testing.T) {
	t.Parallel()
	build(t)
	for _, c := range again {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := dqdtest.Start(t, dqdtest.Options{})
			addr, sent := breaking(t, server.Addr)
			printed := output(t, start(t, c.command, addr, server.Addr))
			want := "error: "
			if c.sent > most {
				want = "added: once"
			}
			if !strings.HasPrefix(printed, want) || int(sent.Load()) != c.sent {
				t.Errorf("the add was sent %d times, want %d; in the end the program prints %q, want %q", sent.Load(), c.sent, printed, want)
			}
		})
	}
}

// breaking returns an address in front of a server, whose connections break when
// an add comes, most times; and counts the adds.
func breaking(t *testing.T, server string) (addr string, sent *atomic.Int32) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	sent = new(atomic.Int32)
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			back, err := net.Dial("tcp", server)
			if err != nil {
				client.Close()
				continue
			}
			go func() {
				io.Copy(client, back)
				client.Close()
			}()
			go func() {
				defer back.Close()
				defer client.Close()
				b := make([]byte, 64<<10)
				for {
					n, err := client.Read(b)
					if bytes.Contains(b[:n], []byte("once")) && sent.Add(1) <= most {
						return
					}
					if _, werr := back.Write(b[:n]); err != nil || werr != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String(), sent
}
