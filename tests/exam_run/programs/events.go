// SPDX-License-Identifier: Apache-2.0

// events.go - writes events to a file.  The cause: no bufio, so each is a call of the system.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
)

//go:noinline
func writeEvent(out io.Writer, i int, x uint64) {
	fmt.Fprintf(out, "event %d of %d\n", i, x>>60)
}

func main() {
	with := Begin()
	file, err := os.Create("events.log")
	if err != nil {
		panic(err)
	}
	var out io.Writer = file
	if !with {
		buffered := bufio.NewWriterSize(file, 1<<16)
		defer buffered.Flush()
		out = buffered
	}
	x := uint64(1)
	for i := 0; i < 500000; i++ {
		x = Mix(x, 150)
		writeEvent(out, i, x)
	}
	fmt.Println(500000)
	End()
}
