// Package model is the dumbest correct delay queue, and a random test that holds a server against it.
//
// Read in this order:
//
//	settings.go   what a queue is set to, and the readings of the contract where it is silent
//	reply.go      an answer as a small tree, and what the model may leave open in it
//	parse.go      durations, times and options as the contract writes them
//	model.go      the state: one slice of jobs, two clocks, wake-ups in time order
//	clock.go      steps of the wall clock, and restarts
//	produce.go    DQADD DQMADD DQCANCEL DQMCANCEL DQRESCHEDULE DQCONFIG SET
//	consume.go    DQPOP DQMPOP DQACK DQMACK DQNACK DQEXTEND DQMEXTEND
//	look.go       DQGET DQLEN DQPEEK DQSTATS
//	range.go      DQRANGE DQCOUNT
//	pages.go      DQSCAN DQDEAD DQQUEUES SCAN DBSIZE TYPE EXISTS
//	compare.go    the comparer; it pairs the server's tokens and made ids with the model's
//	generator.go  random sequences, chosen by looking at the model's state
//	words.go      how they spell times, options and names
//	sends.go      their commands, and invalid.go those that must be refused
//	scenes.go     commands in an order that rarely comes by chance
//	run.go        Subject, Run, the shrinker
//	walk.go       walks by cursor, with other commands between their parts
//	bulk.go       commands on many jobs, slice by slice
//	slices.go     histories in which others send commands between those slices
//	tape.go       histories with several commands in flight, to compare what a crash left with
//	broken.go     a model as a Subject, with faults put in to prove that Run sees them
//
// The package never shares code with the server: everything here is written from the contract alone, scans linearly, and prefers a plain loop to
// anything clever. READINGS.md lists what the contract leaves open and how it is read here.
package model
