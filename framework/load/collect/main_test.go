package collect

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

// roleVariable makes the test binary run as a role of a benchmark in a separate process, whose CPU time can be measured.
const roleVariable = "HOLDFAST_LOAD_TEST_ROLE"

// nameVariable is the name of a worker, and targetVariable the URL of what a role asks.
const (
	nameVariable   = "HOLDFAST_LOAD_TEST_NAME"
	targetVariable = "HOLDFAST_LOAD_TEST_TARGET"
)

func TestMain(m *testing.M) {
	role := os.Getenv(roleVariable)
	if role == "" {
		os.Exit(m.Run())
	}
	if err := playRole(role); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// playRole serves on a free port of loopback, prints its URL, and ends at SIGTERM.
func playRole(role string) error {
	// The parent may be killed, so the process also ends by itself.
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer stop()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	switch role {
	case "simulated":
		s, err := simulationOf()
		if err != nil {
			return err
		}
		return serveSimulated(ctx, l, s)
	case "harness":
		s, err := simulationOf()
		if err != nil {
			return err
		}
		cost, err := harness(ctx, os.Getenv(targetVariable), s)
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(cost)
	}
	fmt.Println("http://" + l.Addr().String())
	if role == "worker" {
		return RunWorker(ctx, WorkerOptions{Name: cmp.Or(os.Getenv(nameVariable), "bench"), Listener: l, Log: slog.New(slog.DiscardHandler)})
	}
	s := newServer(controlTarget("target"))
	context.AfterFunc(ctx, func() { _ = s.Close() })
	if err := s.Serve(l); err != http.ErrServerClosed {
		return err
	}
	return nil
}
