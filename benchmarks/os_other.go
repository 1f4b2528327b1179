//go:build !linux

package main

import (
	"os"
	"syscall"
)

// Figures need /proc; elsewhere this program only compiles.

func childAttributes() *syscall.SysProcAttr { return nil }

func killGroup(p *os.Process) { p.Kill() }

func dataSync(f *os.File) error { return f.Sync() }

func allowFiles(uint64) error { return notMeasured{"needs Linux"} }
