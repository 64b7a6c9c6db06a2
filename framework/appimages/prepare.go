package appimages

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/workloads/app"
)

// keep is how long the folder of a run is kept that was killed before it could remove it. No run takes as long.
const keep = 7 * 24 * time.Hour

// Prepare gathers the images of variants of an application once, in a folder below the cache folder, and tells each variant where they
// are. What is given, and whether to pull, is the same for all. The folder must be removed when no cluster is going to need it any more.
func Prepare(ctx context.Context, variants []*app.App, e Engine, cache string, say func(string)) (notes []string, remove func(), err error) {
	if len(variants) == 0 {
		return nil, func() {}, nil
	}
	prune(cache, time.Now().Add(-keep))
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return nil, nil, fmt.Errorf("gather images: %w", err)
	}
	folder, err := os.MkdirTemp(cache, prefix)
	if err != nil {
		return nil, nil, fmt.Errorf("gather images: %w", err)
	}
	remove = func() { _ = os.RemoveAll(folder) } // what is left is pruned later
	var all []app.Reference
	for _, variant := range variants {
		for _, r := range variant.References() {
			if !slices.Contains(all, r) {
				all = append(all, r)
			}
		}
	}
	first := variants[0]
	notes, err = Gather(ctx, all, Options{Given: first.Given, Engine: e, Pull: !first.PullNever, Say: say}, folder)
	if err != nil {
		remove()
		return notes, nil, err
	}
	for _, variant := range variants {
		variant.Layout = folder
	}
	return notes, remove, nil
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
