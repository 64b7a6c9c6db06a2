package appfile

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/framework/app/apptest"
)

// lookEvery is how often Changed reads the files again.
const lookEvery = time.Second

// Changed reads the file and the manifests again until what they say is not what test says, and returns it. What is read counts, and not
// when a file was written: a comment is no change, and a change in the base of a kustomization is one. A file that cannot be read is told
// with say, once for each error, and read again.
func (c Choice) Changed(ctx context.Context, test apptest.Test, say func(string)) (apptest.Test, error) {
	before, told := fingerprint(test), ""
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return test, context.Cause(ctx)
		case <-tick.C:
		}
		next, err := c.Test(ctx)
		if err == nil {
			_, _, err = next.Scenarios()
		}
		switch {
		case err != nil && err.Error() != told:
			told = err.Error()
			say(told)
		case err == nil && fingerprint(next) != before:
			return next, nil
		case err == nil:
			told = ""
		}
	}
}

// Watchable returns an error if a source cannot be read again and again.
func (c Choice) Watchable() error {
	from := c.Sources
	if c.File != "" {
		read, err := Read(c.File)
		if err != nil {
			return err
		}
		from = added(read.Sources(), from)
	}
	for _, from := range slices.Concat(from.Files, from.Before) {
		if from == "-" || strings.Contains(from, "://") {
			return fmt.Errorf("--watch with manifests from %s: only files and folders can be watched", from)
		}
	}
	return nil
}

// fingerprint is different for tests that do not do the same: with other manifests, probes or faults, or with another image archive.
func fingerprint(t apptest.Test) string {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%s %q", t.Digest(), t.Faults)
	for _, archive := range t.App.Given { // a reference is no file
		if info, err := os.Stat(archive); err == nil {
			_, _ = fmt.Fprintf(h, "%s %d %s", archive, info.Size(), info.ModTime())
		}
	}
	return string(h.Sum(nil))
}
