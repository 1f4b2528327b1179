// Command gendoc writes the command reference from the command table. Run it at
// the root of the repository:
//
//	go run ./commands/gendoc
package main

import (
	"fmt"
	"os"

	"dqd/commands"
)

func main() {
	if err := os.WriteFile("docs/commands.md", commands.Reference(), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "gendoc:", err)
		os.Exit(1)
	}
}
