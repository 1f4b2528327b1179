// Command gendoc writes the command reference, and the table of docs/guarantees.md,
// from the command table. Run it at the root of the repository:
//
//	go run ./commands/gendoc
package main

import (
	"fmt"
	"os"

	"dqd/commands"
)

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, "gendoc:", err)
		os.Exit(1)
	}
}

func write() error {
	if err := os.WriteFile("docs/commands.md", commands.Reference(), 0o644); err != nil {
		return err
	}
	const path = "docs/guarantees.md"
	document, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if document, err = commands.WithResends(document); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, document, 0o644)
}
