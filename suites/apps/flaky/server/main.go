// Server fails a fixed share of the requests at each of two ports, in one way at a time, so that what is reported of it can be compared with what it did. It
// knows nothing of holdfast.
package main

import (
	"flag"
	"io"
	"log"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

func main() {
	how := flag.String("how", "reset", "reset, close, slow, wrong or error")
	every := flag.Uint64("every", 100, "one of so many requests of a port fails")
	flag.Parse()
	go serve(":8081", *how, *every)
	serve(":8080", *how, *every)
}

// serve counts the requests of a port, so that of those that come there exactly the share fails.
func serve(address, how string, every uint64) {
	var served atomic.Uint64
	log.Fatal(http.ListenAndServe(address, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { //nolint:gosec // time-outs are the clients'
		if served.Add(1)%every == 0 && fail(w, r, how) {
			return
		}
		_, _ = io.WriteString(w, "hello\n")
	})))
}

// fail fails a request. It returns false if the answer is still to come.
func fail(w http.ResponseWriter, r *http.Request, how string) bool {
	switch how {
	case "slow":
		select {
		case <-time.After(time.Minute):
		case <-r.Context().Done():
		}
		return false
	case "wrong":
		_, _ = io.WriteString(w, "goodbye\n")
		return true
	case "error":
		http.Error(w, "broken", http.StatusInternalServerError)
		return true
	}
	hijacker, is := w.(http.Hijacker)
	if !is {
		return false
	}
	c, _, err := hijacker.Hijack()
	if err != nil {
		return false
	}
	if tcp, is := c.(*net.TCPConn); is && how == "reset" {
		_ = tcp.SetLinger(0) // closing then sends a reset
	}
	_ = c.Close()
	return true
}
