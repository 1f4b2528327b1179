//go:build !linux

package server

func systemMemory() (rss, machine int64) { return 0, 0 }
