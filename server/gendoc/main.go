// Command gendoc writes the reference of the metrics from their table. Run it at
// the root of the repository:
//
//	go run ./server/gendoc
package main

import (
	"fmt"
	"os"

	"dqd/server"
)

func main() {
	if err := os.WriteFile("docs/metrics.md", server.MetricsReference(), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "gendoc:", err)
		os.Exit(1)
	}
}
