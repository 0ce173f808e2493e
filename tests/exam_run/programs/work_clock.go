// SPDX-License-Identifier: Apache-2.0

// work_clock.go - the clock of an exam's program: how long its work took, told on stderr in one line.
package main

import (
	"fmt"
	"os"
	"syscall"
	"time"
)

var begun time.Time

// Begin begins the work; whether the program shall do it the slow way.
func Begin() bool {
	begun = time.Now()
	return len(os.Args) > 1 && os.Args[1] == "with"
}

// End tells the seconds of the work; CPU time and context switches of the process.
func End() {
	var u syscall.Rusage
	work := time.Since(begun)
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return
	}
	cpu := time.Duration(u.Utime.Nano() + u.Stime.Nano())
	fmt.Fprintf(os.Stderr, "work %.6f cpu %.6f switches %d\n", work.Seconds(), cpu.Seconds(), u.Nvcsw+u.Nivcsw)
}

// Mix is arithmetic that no compiler removes.
func Mix(x uint64, rounds int) uint64 {
	for i := 0; i < rounds; i++ {
		x ^= x >> 29
		x *= 0xbf58476d1ce4e5b9
	}
	return x
}
