package appfile

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/holdfast-ha/holdfast/framework/app/apptest"
	"github.com/holdfast-ha/holdfast/framework/app/manifests"
	"github.com/holdfast-ha/holdfast/framework/deploy/images"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// Choice is what a user says about a test: a file, or everything that would be in it, or a file and what adds to it.
type Choice struct {
	File      string // holdfast.yaml; empty: there is none
	Sources   app.Sources
	Namespace string
	URLs      []string
	Images    []string // archives and references
	Pull      string   // PullMissing or PullNever; empty: as in the file, or PullMissing
	Faults    []string // replace those of the file
	Secrets   string   // manifests.GenerateSecrets; empty: as in the file
	Helm      manifests.Helm
	Existing  bool // the cluster of the test is there already
}

// Find decides which file is read: the named one, or Name in this folder if there are no sources.
func (c *Choice) Find(named []string) error {
	flagged := !c.Sources.Empty()
	switch {
	case len(named) == 1 && flagged:
		return fmt.Errorf("%s with -f, -k or --chart: the manifests are named in that file", named[0])
	case len(named) == 1:
		c.File = named[0]
	case !flagged:
		if _, err := os.Stat(Name); err != nil {
			return fmt.Errorf("no manifests: there is no %s here; %s", Name, app.HowToName)
		}
		c.File = Name
	}
	return nil
}

// Test reads the file and the manifests.
func (c Choice) Test(ctx context.Context) (t apptest.Test, err error) {
	var file File
	if c.File != "" {
		if file, err = Read(c.File); err != nil {
			return t, err
		}
		c.Sources, t.Faults = added(file.Sources(), c.Sources), file.Faults
		if c.Sources.Empty() && file.Cluster.UID != "" {
			return t, fmt.Errorf("%s: app: it names no manifests: the application runs already in the cluster that the file names, of which 'holdfast plan' tells", c.File)
		}
		c.Secrets = cmp.Or(c.Secrets, file.App.Secrets)
		c.Namespace = cmp.Or(c.Namespace, file.App.Namespace)
		c.Images, c.Pull = append(file.App.Images, c.Images...), cmp.Or(c.Pull, file.App.Pull)
	}
	if t.Probes, t.Promises, err = file.Asked(c.File, c.URLs, 0); err != nil {
		return t, err
	}
	if len(c.Faults) > 0 {
		t.Faults = c.Faults
	}
	o := manifests.Options{Namespace: c.Namespace, Secrets: c.Secrets, Helm: c.Helm, Existing: c.Existing}
	t.Existing = c.Existing
	if t.App, err = manifests.Read(ctx, c.Sources, o); err != nil {
		return t, err
	}
	if t.App.Given, err = given(c.Images); err != nil {
		return t, err
	}
	t.App.Privileged = file.App.Privileged
	if t.App.PullNever = c.Pull == PullNever; !t.App.PullNever && c.Pull != "" && c.Pull != PullMissing {
		return t, fmt.Errorf("pull %q: want %s or %s", c.Pull, PullMissing, PullNever)
	}
	return t, nil
}

// added are the sources of a file with what flags add to them.
func added(file, flags app.Sources) app.Sources {
	file.Before, file.Without = append(file.Before, flags.Before...), append(file.Without, flags.Without...)
	file.Chart.Values = append(file.Chart.Values, flags.Chart.Values...) // the last one wins
	file.Chart.Release = cmp.Or(flags.Chart.Release, file.Chart.Release)
	return file
}

// What holdfast does with images that are neither given nor in the local engine.
const (
	PullMissing = "missing" // this machine pulls them
	PullNever   = "never"   // no registry is asked
)

// given are images with the absolute paths of archives.
func given(asked []string) (all []string, err error) {
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	for _, image := range asked {
		path := images.Under(here, image)
		if filepath.IsAbs(path) {
			if _, err := os.Stat(path); err != nil {
				return nil, fmt.Errorf("image archive: %w", err)
			}
		} else if _, err := images.ParseName(path); err != nil {
			return nil, fmt.Errorf("image %s: there is no such file, and it is no reference: %w", image, err)
		}
		all = append(all, path)
	}
	return all, nil
}
