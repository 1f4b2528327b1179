# redis-rb: ruby scenario.rb
require "redis"

PORT, AUTH_PORT = ENV.fetch("DQD_PORT"), ENV.fetch("DQD_AUTH_PORT")
EVERY_BYTE = (0..255).to_a.pack("C*") * 4096
$stdout.sync = true

# Prints "name: result", or the error if there is one.
def step(name)
  result = begin
    yield
  rescue Redis::BaseError => e
    "error: #{e.message}"
  end
  puts "#{name}: #{result}"
end

# The first word of the error that the block ends with.
def code
  "no error but #{yield.inspect}"
rescue Redis::BaseError => e
  e.message.split.first
end

puts "version: redis-rb #{Redis::VERSION}, ruby #{RUBY_VERSION}"
r = Redis.new(port: PORT)
token = nil

step("connect") { r.ping }
step("add") { r.call("DQADD", "orders", "order-42", '{"total":99}') }
step("pop") do
  queue, id, payload, token, attempt = r.call("DQPOP", "orders").first
  "#{queue} #{id} #{payload} attempt #{attempt}"
end
step("ack") { r.call("DQACK", "orders", "order-42", token) }
step("null") { [r.call("DQPOP", "orders"), r.call("DQGET", "orders", "none")].map { |v| v.nil? ? "null" : v.inspect }.join(" ") }
step("error") { code { r.call("DQADD", "orders", "a", "x", "DELAY", "1.5") } }
step("map") { Hash[*r.call("DQSTATS", "orders")]["added"] }
step("block") do
  r.call("DQADD", "orders", "soon", "x", "DELAY", "200ms")
  r.call("DQPOP", "orders", "BLOCK", "4s").first[1]
end
step("binary") do
  r.call("DQADD", "big", "a", EVERY_BYTE)
  payload = r.call("DQPOP", "big").first[2].b
  "#{payload.bytesize} bytes, #{payload == EVERY_BYTE ? 'equal' : 'changed'}"
end
step("pipeline") do
  ids = r.pipelined { |p| 10_000.times { |i| p.call("DQADD", "bulk", "job-#{i}", i, "DELAY", "1h") } }
  "#{ids.each_with_index.count { |id, i| id == "job-#{i}" }} in order, #{r.call('DQLEN', 'bulk')} there"
end
puts "restart?"
$stdin.gets
step("restart") { "#{r.call('DQLEN', 'bulk')} there" }
step("noauth") { code { Redis.new(port: AUTH_PORT).call("DQLEN", "q") } }
step("auth") { Redis.new(port: AUTH_PORT, password: ENV.fetch("DQD_PASSWORD")).call("DQLEN", "q") }
step("multi") do
  r.multi do |tx|
    tx.call("DQADD", "tx", "one", "1")
    tx.call("DQADD", "tx", "two", "2")
    tx.call("DQLEN", "tx")
  end.join(" ")
end
step("abort") do
  error = code do
    r.multi do |tx|
      tx.call("DQADD", "tx", "three", "3")
      tx.call("DQADD", "tx", "one", "1")
    end
  end
  "#{error}, #{r.call('DQLEN', 'tx')} there"
end
