// Package tests holds the black-box tests of dqd: sessions, real clients, kill
// -9, hostile input, and the rules that the source keeps. See README.md.
package tests

import (
	"flag"
	"os"
	"testing"

	"dqd/tests/dqdtest"
)

var (
	update = flag.Bool("update", false, "rewrite the expected output of the scripts that differ")
	seed   = flag.Uint64("seed", 0, "seed of the random tests; 0 = a new one, which is printed")
	rounds = flag.Int("rounds", 4, "rounds of the kill -9 loop")
)

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	dqdtest.RemoveBinary()
	os.Exit(code)
}
