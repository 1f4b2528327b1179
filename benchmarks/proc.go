package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// userHz is the unit of CPU times in /proc: 100 on every Linux port.
const userHz = 100

// cpuTime is the CPU time, user and system, of all threads of a process so far.
func cpuTime(pid int) (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	return parseStat(b)
}

// parseStat reads utime and stime, fields 14 and 15 of /proc/PID/stat. Field 2,
// the name, may hold spaces and brackets: count from the last bracket.
func parseStat(b []byte) (time.Duration, error) {
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return 0, errors.New("/proc/PID/stat: no name")
	}
	fields := strings.Fields(string(b[i+1:]))
	if len(fields) < 13 {
		return 0, errors.New("/proc/PID/stat: too short")
	}
	var ticks int64
	for _, f := range fields[11:13] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/PID/stat: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * (time.Second / userHz), nil
}

// residentMiB is the resident set of a process now (VmRSS) and at its highest (VmHWM).
func residentMiB(pid int) (now, high float64, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	return parseStatus(b)
}

func parseStatus(b []byte) (now, high float64, err error) {
	sc := bufio.NewScanner(bytes.NewReader(b))
	for sc.Scan() {
		name, value, _ := strings.Cut(sc.Text(), ":")
		if name != "VmRSS" && name != "VmHWM" {
			continue
		}
		kib, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64)
		if err != nil {
			return 0, 0, fmt.Errorf("/proc/PID/status: %w", err)
		}
		if name == "VmRSS" {
			now = kib / 1024
		} else {
			high = kib / 1024
		}
	}
	if now == 0 {
		return 0, 0, errors.New("/proc/PID/status: no VmRSS")
	}
	return now, high, nil
}
