// SPDX-License-Identifier: Apache-2.0

// null_workers.go - two goroutines with equal work.  Not a cause: a ticker, and a goroutine that waits for the end.
package main

import (
	"fmt"
	"sync"
	"time"
)

//go:noinline
func forward(x uint64) uint64 { return Mix(x, 3000000) }

//go:noinline
func backward(x uint64) uint64 { return Mix(x+7, 3000000) }

func main() {
	over := make(chan bool)
	if Begin() {
		go func() {
			tick := time.NewTicker(20 * time.Millisecond)
			for {
				select {
				case <-tick.C:
				case <-over:
					return
				}
			}
		}()
	}
	var group sync.WaitGroup
	var sums [2]uint64
	for g := 0; g < 2; g++ {
		group.Add(1)
		go func(g int) {
			defer group.Done()
			for i := 0; i < 70; i++ {
				sums[g] = backward(forward(sums[g] + 1))
			}
		}(g)
	}
	group.Wait()
	close(over)
	fmt.Println(sums[0])
	End()
}
