package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/deploy/images"
	"github.com/holdfast-ha/holdfast/framework/fault/undo/healer"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/load/collect"
	"github.com/holdfast-ha/holdfast/framework/load/conntrack"
	"github.com/holdfast-ha/holdfast/workloads"
	"github.com/holdfast-ha/holdfast/workloads/backend"
	"github.com/holdfast-ha/holdfast/workloads/gateway"
)

// workloadCommand is what runs inside pods, and on the load node: the image of every workload is this executable.
func workloadCommand() *cobra.Command {
	return &cobra.Command{
		Use: "workload (backend|gateway|healer|load|mirror) [FLAGS]", Short: "Serve as a workload in a pod", Hidden: true,
		Example:            "  holdfast workload backend --listen=127.0.0.1:8080",
		DisableFlagParsing: true, // each server parses its own
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || args[0] == "-h" || args[0] == "--help" {
				return cmd.Help()
			}
			return workload(cmd.Context(), args[0], args[1:])
		},
	}
}

// workload serves until ctx ends, which stands for SIGTERM.
func workload(ctx context.Context, name string, args []string) error {
	switch name {
	case "backend":
		o, err := backend.Parse(args, os.Getenv)
		if err != nil {
			return exit.Usage(err)
		}
		return backend.Run(ctx, o, load.Servers()...)
	case "gateway":
		o, err := gateway.Parse(args)
		if err != nil {
			return exit.Usage(err)
		}
		return gateway.Run(ctx, o)
	case "load":
		return loadWorker(ctx, args)
	case healer.Command:
		return healer.Serve(ctx, args)
	case images.MirrorCommand:
		return images.RunMirror(ctx, args)
	default:
		return exit.Usage(errors.New("want backend, gateway, healer, load or mirror"))
	}
}

// loadWorker serves as a load worker. Whose pod a connection leads to is looked up only where the server's answers do not say so.
func loadWorker(ctx context.Context, args []string) error {
	o := collect.WorkerOptions{Name: os.Getenv(backend.EnvPod), TokenSum: os.Getenv(workloads.EnvTokenSum), Secrets: workloads.LoadSecrets}
	for _, arg := range args {
		spill, isSpill := strings.CutPrefix(arg, workloads.LoadSpillFlag)
		switch {
		case isSpill:
			most, err := strconv.ParseInt(spill, 10, 64)
			if err != nil {
				return exit.Usage(fmt.Errorf("load: %s: %w", arg, err))
			}
			o.Spill = collect.Spill{Dir: workloads.LoadSpillDir, AboveBytes: collect.DefaultSpillAbove, MaxBytes: most}
		case arg == workloads.LoadFlowsFlag:
			table, err := conntrack.Open(conntrack.NodeNamespace)
			if err != nil {
				return err
			}
			defer table.Close() //nolint:errcheck // the process ends
			o.Flows = table
		case arg == workloads.LoadSpinFlag:
			o.Spin = true
		default:
			return exit.Usage(fmt.Errorf("load: unexpected argument %q", arg))
		}
	}
	return collect.RunWorker(ctx, o)
}
