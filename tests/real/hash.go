// SPDX-License-Identifier: Apache-2.0
// Two goroutines hash, the main one waits for both.
package main

import (
	"crypto/sha256"
	"fmt"
	"sync"
)

func hashAll(seed byte, out *[32]byte) {
	block := make([]byte, 1<<16)
	for i := 0; i < 1500; i++ {
		block[0] = seed
		*out = sha256.Sum256(block)
		seed = out[0]
	}
}

func main() {
	var sums [2][32]byte
	var all sync.WaitGroup
	for k := range sums {
		all.Add(1)
		go func(k int) { defer all.Done(); hashAll(byte(k), &sums[k]) }(k)
	}
	all.Wait()
	fmt.Printf("%x %x\n", sums[0][:4], sums[1][:4])
}
