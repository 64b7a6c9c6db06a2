// Command scale measures how costs grow with the size of a cluster and with the number of requests. Run it in the repository's root.
//
//	scale constraints CLUSTER   what constraints cost the scheduler, on a cluster of 'holdfast up --simulated-nodes'
//	scale size NODES PODS       what a scenario costs on so many simulated nodes and pods: memory, time and disk of the harness
//	scale table [FILE]          the table of what 'scale size' has measured, and its chart; --scenario chooses one of several
//	scale requests COUNT...     what judging and reporting so many requests costs, each count a record of its own; and the table of all
//	scale write COUNT NEW       a record of so many requests, which 'scale requests' judges
//	scale grow RECORD N P NEW   a record with N times its simulated nodes and P times its filling pods, to measure what judging costs
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

const commands = "constraints, size, table, requests, write or grow"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1) //nolint:gocritic // the process ends, and with it the signals
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return errors.New("want " + commands)
	}
	switch args[0] {
	case "constraints":
		return constraints(ctx, args[1:], out)
	case "size":
		return size(ctx, args[1:], out)
	case "grow":
		return grow(args[1:])
	case "requests":
		return requests(ctx, args[1:], out)
	case "write":
		return write(args[1:])
	case "table":
		return table(args[1:], out)
	}
	return fmt.Errorf("%s: want %s", args[0], commands)
}
