# Waits for a job for up to 25 s and prints how that ends, with the default options
# or, if -worker is given, with those for a worker.
require "redis"

options = ARGV.include?("-worker") ? { read_timeout: 40, reconnect_attempts: 0 } : {}
begin
  jobs = Redis.new(port: ENV.fetch("DQD_PORT"), **options).call("DQPOP", "q", "BLOCK", "25s")
  puts "popped: #{jobs.first[1]}"
rescue Redis::BaseError => e
  puts "error: #{e.class} #{e.message}"
end
