// SPDX-License-Identifier: Apache-2.0

// report.go - makes a report of many lines.  The cause: the text grows by +=, and is copied for each line.
package main

import (
	"fmt"
	"strings"
)

func line(i int) string {
	return fmt.Sprintf("item %d has the price %x and the state %t\n", i, Mix(uint64(i)+1, 20000)>>40, i%2 == 0)
}

//go:noinline
func joinLines(n int) string {
	text := ""
	for i := 0; i < n; i++ {
		text += line(i)
	}
	return text
}

func buildLines(n int) string {
	var text strings.Builder
	for i := 0; i < n; i++ {
		text.WriteString(line(i))
	}
	return text.String()
}

func main() {
	const lines = 11000
	if Begin() {
		fmt.Println(len(joinLines(lines)))
	} else {
		fmt.Println(len(buildLines(lines)))
	}
	End()
}
