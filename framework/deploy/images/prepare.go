package images

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/clusters/engine"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// keep is how long the folder of a run is kept that was killed before it could remove it. No run takes as long.
const keep = 7 * 24 * time.Hour

// Prepare gathers the images of variants of an application once, in a folder of holdfast's cache, and tells each variant where they are.
// What is given, and whether to pull, is the same for all. It writes notes about what may be missing. The folder must be removed when no
// cluster is going to need it any more.
func Prepare(ctx context.Context, variants []*app.App, say func(string), out io.Writer) (remove func(), err error) {
	if len(variants) == 0 {
		return func() {}, nil
	}
	folder, err := makeFolder()
	if err != nil {
		return nil, fmt.Errorf("gather images: %w", err)
	}
	remove = func() { _ = os.RemoveAll(folder) } // what is left is pruned later
	o := Options{Given: variants[0].Given, Pull: !variants[0].PullNever, Say: say}
	if e, err := engine.Find(ctx, engine.Options{NoInstall: true}); err == nil { // an engine that is not there has no images
		o.Engine = e
	}
	var all []app.Reference
	for _, variant := range variants {
		for _, r := range variant.References() {
			if !slices.Contains(all, r) {
				all = append(all, r)
			}
		}
	}
	notes, err := Gather(ctx, all, o, folder)
	for _, note := range notes {
		_, _ = fmt.Fprintln(out, "note: "+note)
	}
	if err != nil {
		remove()
		return nil, err
	}
	for _, variant := range variants {
		variant.Layout = folder
	}
	return remove, nil
}

// makeFolder makes a folder in the cache, where there is room, unlike in a folder for temporary files that may be in memory.
func makeFolder() (string, error) {
	cache, err := engine.CacheDir()
	if err != nil {
		return "", err
	}
	prune(cache, time.Now().Add(-keep))
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	return os.MkdirTemp(cache, prefix)
}

const prefix = "images-"

// prune removes folders that have not been written to since.
func prune(cache string, since time.Time) {
	folders, _ := filepath.Glob(filepath.Join(cache, prefix+"*")) // the pattern is well-formed
	for _, folder := range folders {
		if info, err := os.Stat(folder); err == nil && info.ModTime().Before(since) {
			_ = os.RemoveAll(folder)
		}
	}
}
