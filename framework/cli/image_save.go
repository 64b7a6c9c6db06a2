package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/engine"
	"github.com/holdfast-ha/holdfast/clusters/nodeimage"
	"github.com/holdfast-ha/holdfast/framework/cli/exit"
)

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
