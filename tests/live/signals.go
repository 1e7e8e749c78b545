// SPDX-License-Identifier: LGPL-2.1-or-later

// Interrupts itself by SIGURG, as Go's scheduler does, and by a timer: the runtime's handlers return by its own trampoline.
package main

import (
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

//go:noinline
func spin(n int) (sum int) {
	for i := 0; i < n; i++ {
		sum += i * i
	}
	return
}

func main() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR1)
	go func() {
		for range c {
		}
	}()
	for end := time.Now().Add(700 * time.Millisecond); time.Now().Before(end); {
		spin(10000)
		syscall.Kill(syscall.Getpid(), syscall.SIGUSR1)
		runtime.Gosched()
	}
}
