// Package tsc is where a node's time comes from.
//
// There are four sources behind one interface:
//
//   - [OS]: the operating system's clocks.
//   - [TSC]: the processor's time stamp counter, calibrated against OS and
//     watched; at any doubt it is OS again. Four times as fast to read.
//   - [Go]: package time, for tests in testing/synctest bubbles.
//   - [Fake]: stands still until a test moves it.
//
// A node makes one Source and hands it to whoever waits. Whoever only decides is
// given a time instead, and does not import this package.
package tsc
