package nodeimage

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/semver"
)

var versionForm = regexp.MustCompile(`^v1\.\d+\.\d+$`)

// Versions are the released versions of Kubernetes, newest first. The Go module proxy may refuse to serve a listed version;
// that shows only when its source is requested.
func Versions(ctx context.Context) ([]string, error) {
	g, err := newGoTool(ctx, thisHost(), os.TempDir())
	if err != nil {
		return nil, err
	}
	return g.releases(ctx)
}

// releases come from the version list of k8s.io/api, whose v0.X.Y is published with every v1.X.Y. k8s.io/kubernetes itself
// is seldom requested, so the proxy's list of it has gaps.
func (g goTool) releases(ctx context.Context) ([]string, error) {
	listed, err := g.list(ctx, "k8s.io/api")
	if err != nil {
		return nil, err
	}
	var versions []string
	for _, version := range listed {
		if rest, ok := strings.CutPrefix(version, "v0."); ok && versionForm.MatchString("v1."+rest) {
			versions = append(versions, "v1."+rest)
		}
	}
	slices.SortFunc(versions, func(a, b string) int { return semver.Compare(b, a) })
	return versions, nil
}

// kubernetesSource downloads the module k8s.io/kubernetes.
func (g goTool) kubernetesSource(ctx context.Context, version string) (module, error) {
	source, cause := g.download(ctx, kubernetesModule, version)
	if cause == nil || ctx.Err() != nil {
		return source, cause
	}
	return module{}, fmt.Errorf("get the source of Kubernetes %s, which may not exist or may not be served; 'holdfast image versions' lists versions: %w", version, cause)
}

// numbers are the minor version and the patch of vX.minor.patch.
func numbers(version string) (minor, patch int) {
	parts := strings.Split(version, ".")
	if len(parts) != 3 {
		return 0, 0
	}
	minor, _ = strconv.Atoi(parts[1]) // zero is far from every real version
	patch, _ = strconv.Atoi(parts[2])
	return minor, patch
}

// servable downloads a module in the wanted version, or, if that cannot be downloaded, in the nearest later patch release
// that can.
func (g goTool) servable(ctx context.Context, path, wanted string) (module, error) {
	source, cause := g.download(ctx, path, wanted)
	if cause == nil || ctx.Err() != nil {
		return source, cause
	}
	listed, err := g.list(ctx, path)
	if err != nil {
		return module{}, cause
	}
	for _, version := range laterPatches(listed, wanted) {
		if source, err := g.download(ctx, path, version); err == nil {
			return source, nil
		}
	}
	return module{}, fmt.Errorf("%w; no later patch release can be downloaded either", cause)
}

// laterPatches are the listed patch releases later than wanted within the same minor version, nearest first.
func laterPatches(listed []string, wanted string) []string {
	later := slices.DeleteFunc(slices.Clone(listed), func(v string) bool {
		return semver.MajorMinor(v) != semver.MajorMinor(wanted) || semver.Prerelease(v) != "" || semver.Compare(v, wanted) <= 0
	})
	slices.SortFunc(later, semver.Compare)
	return later
}
