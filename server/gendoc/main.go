// Command gendoc writes the references of the metrics and of the settings from
// their tables. Run it at the root of the repository:
//
//	go run ./server/gendoc
package main

import (
	"fmt"
	"os"

	"dqd/server"
)

func main() {
	for path, text := range map[string][]byte{
		"docs/metrics.md":  server.MetricsReference(),
		"docs/settings.md": server.SettingsReference(),
	} {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "gendoc:", err)
			os.Exit(1)
		}
	}
}
