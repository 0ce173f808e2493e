// SPDX-License-Identifier: Apache-2.0

// stock.go - eight goroutines answer from a table.  The cause: its mutex is held while the supplier is waited for.
package main

import (
	"fmt"
	"sync"
	"time"
)

var (
	stockLock sync.Mutex
	stock     = map[int]int{}
)

func askSupplier(item int) int {
	time.Sleep(2 * time.Millisecond)
	return item * 3
}

//go:noinline
func refreshStock(item int, held bool) {
	if held {
		stockLock.Lock()
		defer stockLock.Unlock()
		stock[item] = askSupplier(item)
		return
	}
	n := askSupplier(item)
	stockLock.Lock()
	stock[item] = n
	stockLock.Unlock()
}

func main() {
	with := Begin()
	var group sync.WaitGroup
	for g := 0; g < 8; g++ {
		group.Add(1)
		go func(g int) {
			defer group.Done()
			x := uint64(g + 1)
			for i := 0; i < 30; i++ {
				x = Mix(x, 600000)
				refreshStock(int(x%997), with)
			}
		}(g)
	}
	group.Wait()
	fmt.Println(len(stock) > 0)
	End()
}
