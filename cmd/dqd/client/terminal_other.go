//go:build !unix

package client

import "io"

func terminal(io.Writer) (rows, columns int, ok bool) { return 0, 0, false }
