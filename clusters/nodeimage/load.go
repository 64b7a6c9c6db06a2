package nodeimage

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// loadSteps is the number of steps that Load reports.
const loadSteps = 2

// Load brings the image of a file that Save or `docker save` wrote into the engine. Its source is Loaded, or Present if the engine held it already.
// Before the engine gets anything, Load reads the whole file, and refuses one that is cut off or damaged, an image of another architecture
// than the engine's, one that this holdfast would not use, and one that is neither that of a node nor the load balancer.
func Load(ctx context.Context, e Engine, path string, o Options) (Ref, error) {
	ref, err := load(ctx, e, path, o)
	if err != nil {
		return Ref{}, fmt.Errorf("load %s: %w", path, err)
	}
	return ref, nil
}

func load(ctx context.Context, e Engine, path string, o Options) (ref Ref, err error) {
	if err := o.fill(); err != nil {
		return Ref{}, err
	}
	s := steps{of: loadSteps, tell: o.Progress}
	var saved Saved
	err = s.do(ctx, "check the file", func(ctx context.Context) (cached bool, err error) {
		if saved, err = readSaved(ctx, path); err != nil {
			return false, err
		}
		return false, checkLoadable(ctx, e, saved)
	})
	if err != nil {
		return Ref{}, err
	}
	name := qualified(saved.Name) // Docker writes no host
	if isBalancer(saved.Name) {
		name = BalancerImage
	}
	before, err := inspect(ctx, e, name)
	if err == nil && before.Digest == saved.ID {
		before.Source = Present
		return before, nil
	}
	err = s.do(ctx, "bring "+name+" into "+e.Name(), func(ctx context.Context) (bool, error) {
		content, err := openSaved(ctx, path)
		if err != nil {
			return false, err
		}
		return false, errors.Join(streamArchive(ctx, e, content), content.Close())
	})
	if err != nil {
		return Ref{}, err
	}
	if ref, err = inspect(ctx, e, name); err != nil {
		return Ref{}, fmt.Errorf("find it in %s: %w", e.Name(), err)
	}
	ref.Source = Loaded
	if before.Digest != "" && before.Digest != ref.Digest {
		_, _ = e.Output(ctx, "image", "rm", before.Digest) // the old image is untagged now; if a node uses it, the engine keeps it
	}
	return ref, nil
}

// inspect is registry.Inspect, which takes every image for that of a node.
func inspect(ctx context.Context, e Asker, name string) (Ref, error) {
	ref, err := inspectImage(ctx, e, name)
	if isBalancer(name) {
		ref.Kubernetes, ref.Network = "", ""
	}
	return ref, err
}

// checkLoadable refuses an image that would not serve here.
func checkLoadable(ctx context.Context, e Engine, saved Saved) error {
	arch, err := architecture(ctx, e)
	if err != nil {
		return err
	}
	if saved.OS != "linux" || saved.Architecture != arch {
		return fmt.Errorf("%s is an image for %s/%s, and %s runs linux/%s here: save one on a machine of that architecture",
			saved.Name, saved.OS, saved.Architecture, e.Name(), arch)
	}
	repository, tag := cutTag(saved.Name)
	switch {
	case isBalancer(saved.Name):
		return checkBalancer(ctx, e, saved)
	case repository == builtRepository:
		return checkBuilt(saved, tag)
	case strings.TrimPrefix(repository, "docker.io/") == "kindest/node":
		return checkForm(tag)
	}
	return fmt.Errorf("%s is neither the image of a node nor the load balancer: want a file that 'holdfast image save' wrote", saved.Name)
}

// checkBuilt refuses a built node image that Ensure would not take.
func checkBuilt(saved Saved, tag string) error {
	version, recipe := saved.Labels[labelKubernetes], saved.Labels[labelRecipe]
	if version == "" || recipe == "" || tag != version+"-"+recipe {
		return fmt.Errorf("%s has the labels of Kubernetes %q and recipe %q, which its name contradicts: it is no image that holdfast built",
			saved.Name, version, recipe)
	}
	if err := checkForm(version); err != nil {
		return err
	}
	if recipe != recipeKey(version) {
		return otherRecipe(saved.Name, recipe, recipeKey(version), "holdfast image get --kubernetes "+version)
	}
	return nil
}

// checkBalancer refuses a replacement of the load balancer that EnsureBalancer would not take, and one that would take the name of kind's own.
func checkBalancer(ctx context.Context, e Engine, saved Saved) error {
	program, ours := saved.Labels[LabelBalancer]
	if !ours {
		return nil
	}
	if recipe := saved.Labels[labelRecipe]; recipe != balancerKey() {
		return otherRecipe(saved.Name, recipe, balancerKey(), "holdfast image balancer")
	}
	if held, _, err := heldBalancer(ctx, e); err == nil && held.Program == Envoy {
		return fmt.Errorf("%s holds kind's own load balancer, and the file has %s, which stands in for it where it cannot be pulled: nothing is to be done",
			e.Name(), program)
	}
	return nil
}

func otherRecipe(name, recipe, wanted, command string) error {
	return fmt.Errorf("%s is of recipe %q, and this holdfast uses recipe %q alone: save it with the version of holdfast that loads it, "+
		"or make it here with '%s'", name, recipe, wanted, command)
}
