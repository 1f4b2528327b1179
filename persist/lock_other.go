//go:build !linux

package persist

import (
	"io"

	"github.com/cockroachdb/pebble/v2/vfs"
)

func lockUntouched(name string) (io.Closer, error) { return vfs.Default.Lock(name) }
