package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/engine"
	"github.com/holdfast-ha/holdfast/clusters/nodeimage"
	"github.com/holdfast-ha/holdfast/framework/cli/exit"
)

// imageCommand is the command `holdfast image`.
func imageCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "image",
		Short: "Get the image that the nodes run, or that of holdfast itself",
		Long: `image gets a kindest/node image, or builds its equivalent where no container registry answers. save and load bring it from one machine to
another, so that a team builds it once.`,
		Example: "  holdfast image build --kubernetes v1.36.3\n  holdfast image save node-v1.36.3.tar.zst --kubernetes v1.36.3\n  holdfast image load node-v1.36.3.tar.zst",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return exit.Usage(errors.New("say what to do: get, build, balancer, save, load, list, remove, clear-cache, versions or self; see 'holdfast image --help'"))
		},
	}
	cmd.AddCommand(
		refCommand("get", "Find, pull or build the image, as run and up do", nodeimage.Ensure),
		refCommand("build", "Build the image from Debian packages and Go modules, whether or not a registry has it", nodeimage.Build),
		balancerCommand(), saveCommand(), loadCommand(), listCommand(), removeCommand(), clearCacheCommand(), versionsCommand(), selfCommand(),
	)
	return cmd
}

// getter is nodeimage.Ensure or nodeimage.Build.
type getter = func(ctx context.Context, e *engine.Engine, version string, o nodeimage.Options) (nodeimage.Ref, error)

func refCommand(use, short string, get getter) *cobra.Command {
	var kubernetes string
	cmd := &cobra.Command{
		Use: use, Short: short, Args: noArgs,
		Example: "  holdfast image " + use + " --kubernetes v1.37.0",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := (clusters.Spec{Zones: []string{"a"}, Kubernetes: kubernetes}).Validate(); err != nil {
				return exit.Usage(err)
			}
			out := cmd.ErrOrStderr()
			e, err := engine.Find(cmd.Context(), engine.Options{Say: sayTo(out)})
			if err != nil {
				return err
			}
			ref, err := get(cmd.Context(), e, kubernetes, nodeimage.Options{Progress: nodeimage.ProgressTo(out)})
			if err != nil {
				return err
			}
			return printJSON(cmd.OutOrStdout(), ref)
		},
	}
	cmd.Flags().StringVar(&kubernetes, "kubernetes", "", "version, such as v1.37.0; default: the newest that builds")
	return cmd
}

func balancerCommand() *cobra.Command {
	return &cobra.Command{
		Use: "balancer", Short: "Find, pull or build the load balancer for several control planes, as run and up do", Args: noArgs,
		Long: `balancer sees to it that the engine holds the image that kind puts before several control planes. Where no registry has it, an
image with HAProxy from Debian's packages is built, and stands in for it under the same name, in this engine alone. A label
tells the two apart, and "holdfast image list" says which it is; after "holdfast image remove" the next cluster tries the registry
again.`,
		Example: "  holdfast image balancer\n  holdfast up demo --control-planes 3",
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.ErrOrStderr()
			e, err := engine.Find(cmd.Context(), engine.Options{Say: sayTo(out)})
			if err != nil {
				return err
			}
			found, err := nodeimage.EnsureBalancer(cmd.Context(), e, nodeimage.Options{Progress: nodeimage.ProgressTo(out)})
			if err != nil {
				return err
			}
			return printJSON(cmd.OutOrStdout(), found)
		},
	}
}

func listCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the node images that the engine holds", Args: noArgs, Example: "  holdfast image list",
		RunE: func(cmd *cobra.Command, _ []string) error {
			e, err := engine.Find(cmd.Context(), engine.Options{NoInstall: true})
			if err != nil {
				return err
			}
			held, err := nodeimage.List(cmd.Context(), e)
			if err != nil {
				return err
			}
			for _, h := range held {
				note := ""
				if !h.Current {
					note = " (of another recipe: no longer used)"
				}
				what := h.Kubernetes
				switch h.Balancer {
				case "":
				case nodeimage.HAProxy:
					what = "load balancer for several control planes: HAProxy, built here to stand in for kind's Envoy"
				default:
					what = "load balancer for several control planes: kind's own"
				}
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s %s %d MB%s\n", h.Image, what, h.SizeBytes/1_000_000, note)
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func removeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "remove IMAGE", Short: "Remove a node image from the engine", Args: oneArg,
		Example: "  holdfast image list\n  holdfast image remove localhost/holdfast/node:v1.36.3-8aa234bb9375",
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := engine.Find(cmd.Context(), engine.Options{NoInstall: true})
			if err != nil {
				return err
			}
			return nodeimage.Remove(cmd.Context(), e, args[0])
		},
	}
}

func clearCacheCommand() *cobra.Command {
	return &cobra.Command{
		Use: "clear-cache", Short: "Forget what builds have kept; the images stay", Args: noArgs,
		Example: "  holdfast image clear-cache",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return nodeimage.ClearCache(cmd.Context(), nodeimage.Options{})
		},
	}
}

func versionsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "versions", Short: "List the released versions of Kubernetes, newest first", Args: noArgs,
		Example: "  holdfast image versions",
		RunE: func(cmd *cobra.Command, _ []string) error {
			versions, err := nodeimage.Versions(cmd.Context())
			if err != nil {
				return err
			}
			for _, v := range versions {
				if _, err := fmt.Fprintln(cmd.OutOrStdout(), v); err != nil {
					return err
				}
			}
			return nil
		},
	}
}
