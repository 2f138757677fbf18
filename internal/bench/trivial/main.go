// Command trivial is the yardstick for how fast a program can start: a Go
// net/http server that prints its address and answers. It exists so that the
// start of pve-mcp is a ratio within one run instead of a number of one machine.
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
)

func main() {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		os.Exit(1)
	}
	fmt.Println(l.Addr())
	_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) }))
}
