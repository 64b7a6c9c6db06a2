package images

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/base/output"
)

// Where the load node keeps what it serves, and the program that serves it. The program is not that of the node image, which may be older
// or, in an image that was pulled, missing.
const (
	folder  = "/var/lib/holdfast/mirror"
	program = "/usr/local/bin/holdfast-mirror"
	unit    = "holdfast-mirror"
)

// The scripts that run on the load node. A blob appears under its name only when all are there, so that an interrupted transfer leaves
// none that is not whole. What is not in the list is from an earlier run.
const (
	// $1 folder, $2 program
	lookScript = `mkdir -p "$1/blobs/sha256"; rm -rf "$1/incoming"; sha256sum "$2" 2>/dev/null | cut -d ' ' -f 1 | sed 's/^/program /'
ls "$1/blobs/sha256" | sed 's/^/blob /'`
	// $1 folder; the standard input is an archive
	fillScript = `set -e; mkdir -p "$1/incoming"; tar --extract --file - --directory "$1/incoming"
find "$1/incoming/blobs/sha256" -type f -exec mv --target-directory "$1/blobs/sha256" {} +
mv "$1/incoming/index.json" "$1/index.json"
ls "$1/blobs/sha256" | grep --invert-match --line-regexp --fixed-strings --file "$1/incoming/list" | sed "s|^|$1/blobs/sha256/|" | xargs --no-run-if-empty rm
rm -r "$1/incoming"`
	// $1 program; the standard input is its content
	programScript = `set -e; cat >"$1.part"; chmod 0755 "$1.part"; mv "$1.part" "$1"`
	// $1 unit, $2 program, $3 its command, $4 folder, $5 port, $6 "new" if the program is new
	startScript = `set -e
if [ -n "$6" ] || ! systemctl is-active --quiet "$1.service"; then
  systemctl stop "$1.service" 2>/dev/null || :
  systemd-run --quiet --collect --unit="$1" --property=Restart=on-failure "$2" workload "$3" "$4"
fi
for i in $(seq 100); do curl --silent --fail --noproxy '*' --max-time 1 "http://127.0.0.1:$5/v2/" >/dev/null && exit; sleep 0.1; done
echo "$1 does not answer" >&2; journalctl --unit "$1" --lines 5 --output cat >&2; exit 1`
)

// fill brings the images of a layout, and the program that serves them, to the load node, unless it has them, and starts the program.
func fill(ctx context.Context, load clusters.Node, layout, executable string) error {
	out, err := load.Exec(ctx, "bash", "-c", lookScript, "look", folder, program)
	if err != nil {
		return fmt.Errorf("look for images on %s: %w", load.Name(), err)
	}
	there := output.Lines(string(out))
	if err := send(ctx, load, layout, there); err != nil {
		return fmt.Errorf("bring the images to %s: %w", load.Name(), err)
	}
	sum, err := sumOf(executable)
	if err != nil {
		return err
	}
	fresh := ""
	if !slices.Contains(there, "program "+sum) {
		fresh = "new"
		if err := sendFile(ctx, load, executable); err != nil {
			return fmt.Errorf("bring the program that serves images to %s: %w", load.Name(), err)
		}
	}
	if _, err := load.Exec(ctx, "bash", "-c", startScript, "start", unit, program, MirrorCommand, folder, fmt.Sprint(MirrorPort), fresh); err != nil {
		return fmt.Errorf("serve images on %s: %w", load.Name(), err)
	}
	return nil
}

func sendFile(ctx context.Context, load clusters.Node, executable string) error {
	file, err := os.Open(executable)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // opened for reading only
	return load.Feed(ctx, file, "bash", "-c", programScript, "program", program)
}

// send streams the blobs that are not there, and the index.
func send(ctx context.Context, load clusters.Node, layout string, there []string) error {
	blobs, err := filepath.Glob(filepath.Join(layout, "blobs", "sha256", "*"))
	if err != nil {
		return err
	}
	reader, writer := io.Pipe()
	defer reader.Close() //nolint:errcheck // a pipe's reader never fails to close
	packed := make(chan error, 1)
	go func() {
		err := pack(writer, layout, blobs, there)
		writer.CloseWithError(err)
		packed <- err
	}()
	err = load.Feed(ctx, reader, "bash", "-c", fillScript, "fill", folder)
	_ = reader.CloseWithError(io.ErrClosedPipe) // the writer ends if the node did not read everything
	if failed := <-packed; err == nil || !errors.Is(failed, io.ErrClosedPipe) {
		err = errors.Join(err, failed)
	}
	return err
}

// pack writes an archive: the list of all blobs, those that are not there, and the index.
func pack(to io.Writer, layout string, blobs, there []string) error {
	archive := tar.NewWriter(to)
	var list strings.Builder
	for _, path := range blobs {
		fmt.Fprintln(&list, filepath.Base(path))
	}
	for _, folder := range []string{"blobs/", "blobs/sha256/"} {
		if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: folder, Mode: 0o755}); err != nil {
			return err
		}
	}
	if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "list", Mode: 0o644, Size: int64(list.Len())}); err != nil {
		return err
	}
	if _, err := io.WriteString(archive, list.String()); err != nil {
		return err
	}
	for _, path := range blobs {
		if slices.Contains(there, "blob "+filepath.Base(path)) {
			continue
		}
		if err := packFile(archive, path, "blobs/sha256/"+filepath.Base(path)); err != nil {
			return err
		}
	}
	return errors.Join(packFile(archive, filepath.Join(layout, "index.json"), "index.json"), archive.Close())
}

func packFile(archive *tar.Writer, path, name string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // opened for reading only
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: info.Size()}); err != nil {
		return err
	}
	_, err = io.Copy(archive, file)
	return err
}

func sumOf(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close() //nolint:errcheck // opened for reading only
	sum := sha256.New()
	_, err = io.Copy(sum, file)
	return hex.EncodeToString(sum.Sum(nil)), err
}
