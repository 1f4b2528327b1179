package main

import (
	"fmt"
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

// allowFiles lets this process and the servers it starts have n open files each.
func allowFiles(n uint64) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	if limit.Max < n {
		return notMeasured{fmt.Sprintf("a process may have %d open files here, and this takes %d: raise ulimit -Hn", limit.Max, n)}
	}
	limit.Cur = limit.Max
	return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)
}
