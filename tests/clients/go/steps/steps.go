// Package steps prints what a client's program does, a line a step.
package steps

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
)

// Version prints the version of a module that the program is built with.
func Version(module string) {
	info, _ := debug.ReadBuildInfo()
	for _, m := range info.Deps {
		if m.Path == module {
			fmt.Printf("version: %s %s, %s\n", module, m.Version, info.GoVersion)
		}
	}
}

// Do prints "name: result", or the error if there is one.
func Do(name string, run func() (any, error)) {
	result, err := run()
	if err != nil {
		result = "error: " + err.Error()
	}
	fmt.Printf("%s: %v\n", name, result)
}

// Code returns the first word of an error.
func Code(err error) string {
	if err == nil {
		return "no error"
	}
	code, _, _ := strings.Cut(err.Error(), " ")
	return code
}

// Restart asks for a restart of the server and waits for it.
func Restart() {
	fmt.Println("restart?")
	bufio.NewReader(os.Stdin).ReadString('\n')
}

// EveryByte returns one MiB.
func EveryByte() string {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return string(bytes.Repeat(b, 4096))
}

// Compare says whether a payload is EveryByte.
func Compare(payload string) string {
	if payload == EveryByte() {
		return fmt.Sprintf("%d bytes, equal", len(payload))
	}
	return fmt.Sprintf("%d bytes, changed", len(payload))
}
