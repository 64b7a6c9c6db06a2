package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/holdfast-ha/holdfast/clusters/engine"
	"github.com/holdfast-ha/holdfast/framework/base/self"
	"github.com/holdfast-ha/holdfast/workloads/image"
)

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
