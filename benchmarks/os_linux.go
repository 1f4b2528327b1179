package main

import (
	"os"
	"syscall"
)

// childAttributes puts a server into a process group of its own, so that Ctrl-C
// reaches this process first, and has the kernel kill it when this process dies.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// killGroup kills a server and what it forked (redis forks to rewrite its log).
func killGroup(p *os.Process) {
	syscall.Kill(-p.Pid, syscall.SIGKILL)
	p.Kill()
}

func dataSync(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }
