// SPDX-License-Identifier: LGPL-2.1-or-later
// For tests/cli/edges_test.py: goroutines, maps, memory and system calls, all counted.
package main

import (
	"os"
	"strconv"
	"sync"
)

func work(n int) int {
	m := map[int]int{}
	s := 0
	for i := 0; i < n; i++ {
		m[i%100] += i
		s += len(strconv.Itoa(i))
	}
	return s + len(m)
}

func main() {
	jobs := make(chan int)
	var group sync.WaitGroup
	for k := 0; k < 4; k++ {
		group.Add(1)
		go func() {
			for n := range jobs {
				work(n)
			}
			group.Done()
		}()
	}
	for i := 0; i < 6000; i++ {
		jobs <- 200
		if i%10 == 0 {
			var b [1]byte
			f, _ := os.Open("/dev/null")
			f.Read(b[:])
			f.Close()
		}
	}
	close(jobs)
	group.Wait()
}
