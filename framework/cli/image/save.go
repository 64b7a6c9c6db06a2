package image

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/holdfast-ha/holdfast/clusters/engine"
	"github.com/holdfast-ha/holdfast/framework/cli/terminal"
	"github.com/holdfast-ha/holdfast/framework/self"
	"github.com/holdfast-ha/holdfast/workloads/image"
)

// saveCommand is `holdfast image save`: the image of load workers in clusters that holdfast did not make, whose nodes pull it from a registry of
// their owner.
func saveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "save FILE", Short: "Write this program as an image, for a registry that a cluster's nodes pull from", Args: terminal.OneArg,
		Long: `save writes an archive as 'docker save' does. Its only file is this program. Load the archive with 'docker load' or 'podman load', give it a
name in your registry, push it, and name it with --image.`,
		Example: "  holdfast image save holdfast.tar",
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
				return fmt.Errorf("save the image: %w", err)
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), ref)
			return err
		},
	}
}

// copyFile copies a file, over an older one.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
