// Package resp is the wire format: a framing guard for what comes in and a
// writer of RESP2 and RESP3 for what goes out.
//
// Nothing unvalidated reaches a parser. The Framer walks over headers, checks
// every announced length against the limits and finds the end of a command;
// only then is the command, complete and known to be well formed, cut into
// arguments by redcon. (redcon alone believes announced lengths: one packet
// overflows its index arithmetic and ends the process.)
//
// The package does no I/O and keeps no buffers of its own.
package resp
