package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/engine"
	"github.com/holdfast-ha/holdfast/clusters/nodeimage"
	"github.com/holdfast-ha/holdfast/framework/base/self"
	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/workloads/image"
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

func saveCommand() *cobra.Command {
	var kubernetes string
	var balancer bool
	cmd := &cobra.Command{
		Use: "save FILE", Short: "Write the node image to a file, so that another machine need not build it", Args: oneArg,
		Long: `save writes the node image that the container engine holds for a version of Kubernetes to a file, compressed with zstd. On another
machine of the same architecture, 'holdfast image load' brings it into Docker or podman, and then run and up find it there.

A team builds the image once and shares the file. Each version of Kubernetes has a file of its own, and so does the load balancer for several
control planes (--balancer). The file is there under its name only when it is complete.`,
		Example: "  holdfast image save node-v1.37.0.tar.zst --kubernetes v1.37.0\n  holdfast image save balancer.tar.zst --balancer",
		RunE: func(cmd *cobra.Command, args []string) error {
			if balancer && kubernetes != "" {
				return exit.Usage(errors.New("--balancer with --kubernetes: the load balancer is the same for every version"))
			}
			if err := (clusters.Spec{Zones: []string{"a"}, Kubernetes: kubernetes}).Validate(); err != nil {
				return exit.Usage(err)
			}
			e, err := engine.Find(cmd.Context(), engine.Options{NoInstall: true})
			if err != nil {
				return err
			}
			o := nodeimage.Options{Progress: nodeimage.ProgressTo(cmd.ErrOrStderr())}
			var saved nodeimage.File
			if balancer {
				saved, err = nodeimage.SaveBalancer(cmd.Context(), e, args[0], o)
			} else {
				saved, err = nodeimage.Save(cmd.Context(), e, kubernetes, args[0], o)
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s for %s/%s is in %s, %d MB: 'holdfast image load %[4]s' brings it into another engine\n",
				saved.Name, saved.OS, saved.Architecture, args[0], saved.SizeBytes/1_000_000)
			return err
		},
	}
	cmd.Flags().StringVar(&kubernetes, "kubernetes", "", "version, such as v1.37.0; default: the newest that builds")
	cmd.Flags().BoolVar(&balancer, "balancer", false, "save the load balancer for several control planes instead")
	return cmd
}

func loadCommand() *cobra.Command {
	return &cobra.Command{
		Use: "load FILE", Short: "Bring an image that 'holdfast image save' wrote into the container engine", Args: oneArg,
		Long: `load reads a file of 'holdfast image save', or one of 'docker save' with a kindest/node image, and brings the image into Docker or podman.

It checks the whole file first. What is cut off or damaged, for another architecture, of another recipe than this holdfast's, or no image of a
node at all is refused, and the engine gets nothing of it.`,
		Example: "  holdfast image load node-v1.37.0.tar.zst",
		RunE: func(cmd *cobra.Command, args []string) error {
			out := cmd.ErrOrStderr()
			e, err := engine.Find(cmd.Context(), engine.Options{Say: sayTo(out)})
			if err != nil {
				return err
			}
			ref, err := nodeimage.Load(cmd.Context(), e, args[0], nodeimage.Options{Progress: nodeimage.ProgressTo(out)})
			if err != nil {
				return err
			}
			return tellLoaded(cmd.OutOrStdout(), e.Name(), ref)
		},
	}
}

// tellLoaded says what is there now, and what it is good for.
func tellLoaded(out io.Writer, engineName string, ref nodeimage.Ref) error {
	what := "run and up use it for several control planes"
	if ref.Kubernetes != "" {
		what = "run and up use it with --kubernetes " + ref.Kubernetes
	}
	how := "is in " + engineName + " now"
	if ref.Source == nodeimage.Present {
		how = "was in " + engineName + " already"
	}
	_, err := fmt.Fprintf(out, "%s %s: %s\n", ref.Image, how, what)
	return err
}

// selfCommand is `holdfast image self`: the image of load workers in clusters that holdfast did not make, whose nodes pull it from a registry of
// their owner.
func selfCommand() *cobra.Command {
	return &cobra.Command{
		Use: "self FILE", Short: "Write this program as an image, for a registry that a cluster's nodes pull from", Args: oneArg,
		Long: `self writes an archive as 'docker save' does. Its only file is this program. Load the archive with 'docker load' or 'podman load', give it a
name in your registry, push it, and name it with --holdfast-image of test and certify, or --image of record.`,
		Example: "  holdfast image self holdfast.tar",
		RunE: func(cmd *cobra.Command, args []string) error {
			cache, err := engine.CacheDir()
			if err != nil {
				return err
			}
			executable, err := self.Path(cmd.Context(), cache)
			if err != nil {
				return err
			}
			ref, archive, err := image.Build(executable, filepath.Join(cache, "images"))
			if err != nil {
				return err
			}
			if err := copyFile(archive, args[0]); err != nil {
				return fmt.Errorf("write the image: %w", err)
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), ref)
			return err
		},
	}
}

// copyFile copies a file. The copy appears under its name, over an older one, when it is complete.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read
	part, err := os.CreateTemp(filepath.Dir(to), "."+filepath.Base(to)+".*.part")
	if err != nil {
		return err
	}
	_, err = io.Copy(part, in)
	if err = errors.Join(err, part.Chmod(0o644), part.Close()); err == nil {
		err = os.Rename(part.Name(), to)
	}
	if err != nil {
		return errors.Join(err, os.Remove(part.Name()))
	}
	return nil
}
