package model

import (
	"testing"
)

// A pop takes by priority, then due, then order of acceptance.
func TestPopOrder(t *testing.T) {
	play(t, `
		DQADD q late x -> "late"
		DQADD q early x AT @-1 -> "early"
		DQADD q second x -> "second"
		DQADD q low x AT @-9 PRI 200 -> "low"
		DQADD q high x PRI 0 -> "high"
		DQPEEK q -> [["high" @0 0 "x"] ["early" @-1 0 "x"] ["late" @0 0 "x"] ["second" @0 0 "x"] ["low" @-9 0 "x"]]
		DQPOP q COUNT 9 -> [["q" "high" "x" t1 1 @0] ["q" "early" "x" t2 1 @-1] ["q" "late" "x" t3 1 @0] ["q" "second" "x" t4 1 @0] ["q" "low" "x" t5 1 @-9]]
	`)
}

// FULL adds the facts of the delivery in a map.
func TestPopFull(t *testing.T) {
	play(t, `
		DQADD q a x DELAY 1us META k v ATTEMPTS 3 PRI 9 -> "a"
		+3us
		DQPOP q FULL WORKER w LEASE 5 -> [["q" "a" "x" t1 1 @1 {"due-ns" "1800000000000001000" "late-us" (one of 2 2) "created" @0 "lease-until" @6 "max-attempts" 3 "pri" 9 "meta" {"k" "v"} "reason" (none)}]]
		DQGET q a worker lease-until state -> ["w" @6 "leased"]
	`)
}

// A waiting pop gets the first job that becomes ready, then takes up to COUNT; it ends with null.
func TestPopBlock(t *testing.T) {
	play(t, `
		DQADD q a x DELAY 5 -> "a"
		DQADD q b x DELAY 5 -> "b"
		DQADD q c x DELAY 6 -> "c"
		c1: DQPOP q BLOCK 1s COUNT 5 -> waits
		c2: DQPOP q BLOCK 6 -> waits
		c3: DQPOP q BLOCK 0 -> waits
		+5ms
		c1 <- [["q" "a" "x" t1 1 @5] ["q" "b" "x" t2 1 @5]]
		c2 <- nothing
		+1ms
		c2 <- [["q" "c" "x" t3 1 @6]]
		+29s993ms
		c3 <- nothing
		+1ms
		c3 <- (nil)
	`)
}

// Blocked pops are served in order of arrival, one job each when each wants one.
func TestPopBlockOrder(t *testing.T) {
	play(t, `
		c2: DQPOP q BLOCK 1s -> waits
		c1: DQPOP q BLOCK 1s -> waits
		DQMADD q JOBS 2 a x +0 b x +0 -> ["a" "b"]
		c2 <- [["q" "a" "x" t1 1 @0]]
		c1 <- [["q" "b" "x" t2 1 @0]]
	`)
}

// DQMPOP serves its queues from left to right.
func TestMpop(t *testing.T) {
	play(t, `
		DQADD r a x AT @-5 -> "a"
		DQADD q b x -> "b"
		DQMPOP 2 q r COUNT 5 -> [["q" "b" "x" t1 1 @0] ["r" "a" "x" t2 1 @-5]]
		c1: DQMPOP 2 q r BLOCK 1s -> waits
		DQADD r c x -> "c"
		c1 <- [["r" "c" "x" t3 1 @0]]
	`)
}

// The lease is this call's, else the job's, else the queue's, and never above lease-max.
func TestLeaseLength(t *testing.T) {
	play(t, `
		DQCONFIG SET q lease 10 lease-max 20 -> OK
		DQADD q a x PRI 1 -> "a"
		DQADD q b x PRI 2 LEASE 15 -> "b"
		DQADD q c x PRI 3 LEASE 30 -> "c"
		DQADD q d x PRI 4 LEASE 30 -> "d"
		DQPOP q COUNT 3 -> [["q" "a" "x" t1 1 @0] ["q" "b" "x" t2 1 @0] ["q" "c" "x" t3 1 @0]]
		DQPOP q LEASE 21 -> BADTIME
		DQPOP q LEASE 999us -> BADTIME
		DQMPOP 1 q LEASE 21 -> [["q" "d" "x" t4 1 @0]]
		DQGET q a lease-until -> [@10]
		DQGET q b lease-until -> [@15]
		DQGET q c lease-until -> [@20]
		DQGET q d lease-until -> [@20]
	`)
}

// NOACK: the job is gone on delivery.
func TestNoAck(t *testing.T) {
	play(t, `
		DQADD q a x -> "a"
		DQPOP q NOACK -> [["q" "a" "x" (anything) 1 @0]]
		DQGET q a -> (nil)
		DQSTATS q -> `+stats("added 1 delivered 1 noack 1")+`
	`)
}

// A lease that ends unacked: ready again after the backoff, counted from the lease's end, next attempt, larger token.
func TestLeaseEnds(t *testing.T) {
	play(t, `
		DQADD q a x BACKOFF fixed:3 LEASE 5 -> "a"
		DQPOP q -> [["q" "a" "x" t1 1 @0]]
		+4ms999us999ns
		DQGET q a state -> ["leased"]
		+1ns
		DQGET q a state due -> ["delayed" @8]
		+3ms
		DQPOP q -> [["q" "a" "x" t2 2 @8]]
		DQSTATS q -> `+stats("leased 1 added 1 delivered 2 lease-timeouts 1")+`
	`)
}

// An ack works with the latest token while leased, and after the lease ran out until somebody takes or changes the job.
func TestAck(t *testing.T) {
	play(t, `
		DQADD q a x BACKOFF fixed:3 LEASE 5 -> "a"
		DQPOP q -> [["q" "a" "x" t1 1 @0]]
		+5ms
		+3ms
		DQPOP q -> [["q" "a" "x" t2 2 @8]]
		DQMACK q JOBS 3 a t1 u t1 a 99 -> [-1 -2 -1]
		+5ms
		DQMACK q JOBS 1 a * -> [-3]
		DQACK q a t2 a t2 -> 1
		DQADD q b x -> "b"
		DQPOP q -> [["q" "b" "x" t3 1 @13]]
		DQACK q b * -> 1
		DQLEN q -> 0
	`)
}

// A job that just died by its lease's end can still be acked, and then counts as acked.
func TestAckDead(t *testing.T) {
	play(t, `
		DQADD q a x ATTEMPTS 1 LEASE 5 -> "a"
		DQPOP q -> [["q" "a" "x" t1 1 @0]]
		+5ms
		DQMACK q JOBS 1 a * -> [-3]
		DQACK q a t1 -> 1
		DQSTATS q -> `+stats("added 1 delivered 1 acked 1 lease-timeouts 1")+`
	`)
}

// A nack delays by the backoff, or by the time given; its token stays good for saying the same again, for nothing else.
func TestNack(t *testing.T) {
	play(t, `
		DQADD q a x BACKOFF exp:2:5 -> "a"
		DQPOP q -> [["q" "a" "x" t1 1 @0]]
		DQNACK q a t1 REASON why -> 1
		DQGET q a due state attempt reason -> [@2 "delayed" 1 "why"]
		DQNACK q a t1 DELAY 9 DEAD -> 1
		DQGET q a due state -> [@2 "delayed"]
		DQACK q a t1 -> 0
		DQMACK q JOBS 1 a t1 -> [-1]
		+2ms
		DQNACK q a t1 -> 1
		DQPOP q -> [["q" "a" "x" t2 2 @2]]
		DQNACK q a t1 -> -1
		DQNACK q a t2 -> 1
		DQGET q a due -> [@6]
		DQRESCHEDULE q a NOW -> 1
		DQNACK q a t2 -> -1
		DQPOP q -> [["q" "a" "x" t3 3 @2]]
		DQNACK q a t3 -> 1
		DQGET q a due -> [@7]
		DQNACK q u t3 -> -2
		DQNACK q a * -> -3
		DQSTATS q -> `+stats("delayed 1 added 1 delivered 3 nacked 3")+`
	`)
}

// Attempts used up: a nack makes dead, unless FREE gives the attempt back.
func TestNackFree(t *testing.T) {
	play(t, `
		DQADD q a x ATTEMPTS 1 BACKOFF fixed:0 -> "a"
		DQPOP q -> [["q" "a" "x" t1 1 @0]]
		DQNACK q a t1 FREE -> 1
		DQPOP q -> [["q" "a" "x" t2 1 @0]]
		DQNACK q a t2 -> 1
		DQGET q a state -> ["dead"]
		DQNACK q a t2 FREE -> 1
		DQGET q a state -> ["dead"]
	`)
}

// A nack after the lease ran out works as an ack does; FREE brings back a job that the lease's end just made dead.
func TestNackLate(t *testing.T) {
	play(t, `
		DQADD q a x ATTEMPTS 2 BACKOFF fixed:1 LEASE 5 -> "a"
		DQPOP q -> [["q" "a" "x" t1 1 @0]]
		+5ms
		DQNACK q a t1 DELAY 0 -> 1
		DQPOP q -> [["q" "a" "x" t2 2 @5]]
		+5ms
		DQGET q a state -> ["dead"]
		DQNACK q a t2 FREE DELAY 0 -> 1
		DQGET q a state attempt -> ["ready" 1]
		DQPOP q -> [["q" "a" "x" t3 2 @10]]
		+5ms
		DQNACK q a t3 REASON r -> 1
		DQGET q a state reason -> ["dead" "r"]
		DQACK q a t3 -> 0
	`)
}

// DQEXTEND moves the end of a running lease, up to lease-max since the delivery.
func TestExtend(t *testing.T) {
	play(t, `
		DQCONFIG SET q lease-max 20 lease 5 backoff fixed:1 -> OK
		DQADD q a x -> "a"
		DQPOP q -> [["q" "a" "x" t1 1 @0]]
		+4ms
		DQEXTEND q a t1 16 -> 1
		DQGET q a lease-until -> [@20]
		DQEXTEND q a t1 16000001ns -> -4
		DQEXTEND q a t1 999us -> BADTIME
		DQMEXTEND q 2 JOBS 4 a * a t1 u t1 a 99 -> [1 1 -2 -1]
		+2ms
		DQEXTEND q a t1 5 -> -3
		DQEXTEND q a * 5 -> -3
		DQMEXTEND q 5 JOBS 1 a 99 -> [-1]
	`)
}
