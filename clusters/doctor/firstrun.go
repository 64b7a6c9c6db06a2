package doctor

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/clusters/nodeimage"
	"github.com/holdfast-ha/holdfast/clusters/nodeimage/linuxonly"
	"github.com/holdfast-ha/holdfast/clusters/nodeimage/registry"
)

// firstRemedy is how to get around a build.
const firstRemedy = "holdfast image load FILE, with a file that 'holdfast image save' wrote on another machine"

// clusterTakes is how long a cluster takes that has its image. Measured with `holdfast up` on two cores: 38 s with 8 nodes, 57 s with 4 beside another
// cluster.
const clusterTakes = "a cluster takes about a minute"

// firstRun says how long the first cluster will take, and why: whether the node image is here, can be pulled, or must be built. It
// fails on a system that cannot build it.
func (m *machine) firstRun(ctx context.Context, e containerEngine, o Options) Check {
	check := Check{Name: "first run", Status: OK, Found: "unknown without an engine"}
	if e == nil {
		return check
	}
	f, cache, err := m.forecast(ctx, e, o)
	var unbuildable *linuxonly.Error
	switch {
	case err != nil:
		check.Status, check.Found = Warn, "unknown: "+err.Error()
	case f.Held != "":
		check.Found = fmt.Sprintf("%s, as the node image of Kubernetes %s is here (%s)", clusterTakes, f.Kubernetes, f.Held)
	case f.PullBytes > 0:
		check.Found = fmt.Sprintf("%s, after a pull of %d MB: a registry has the node image of Kubernetes %s", clusterTakes, f.PullBytes/1_000_000, f.Kubernetes)
	case errors.As(f.Blocked, &unbuildable): // nothing that could be installed here would help
		check.Status, check.Found, check.Remedy = Fail, "no node image of Kubernetes "+f.Kubernetes+": "+unbuildable.Found(), unbuildable.Remedy()
	default:
		check.Found, check.Remedy = m.build(f, cache), firstRemedy
		if f.Blocked != nil {
			check.Status = Warn
			check.Found = fmt.Sprintf("no registry sends the node image of Kubernetes %s, and it cannot be built here: %s", f.Kubernetes,
				strings.ReplaceAll(f.Blocked.Error(), "\n", "; "))
		}
	}
	return check
}

// forecast says where the node image will come from, and which folder a build would use.
func (m *machine) forecast(ctx context.Context, e containerEngine, o Options) (f nodeimage.Forecast, cache string, err error) {
	if cache, err = cacheDir(o); err != nil {
		return f, "", err
	}
	f, err = m.foresee(ctx, e, o.Kubernetes, nodeimage.Options{CacheDir: filepath.Join(cache, "nodeimage")})
	return f, cache, err
}

// foreseer says where a node image will come from, as nodeimage.Foresee does.
type foreseer func(ctx context.Context, e registry.Asker, kubernetes string, o nodeimage.Options) (nodeimage.Forecast, error)

// once keeps the first answer, for all questions: they are the same.
func once(foresee foreseer) foreseer {
	var f nodeimage.Forecast
	var err error
	asked := false
	return func(ctx context.Context, e registry.Asker, kubernetes string, o nodeimage.Options) (nodeimage.Forecast, error) {
		if !asked {
			asked = true
			f, err = foresee(ctx, e, kubernetes, o)
		}
		return f, err
	}
}

// build describes a build, and what it depends on.
func (m *machine) build(f nodeimage.Forecast, cache string) string {
	least, most := f.Build(m.cores)
	text := fmt.Sprintf("%s, once, on %d cores", span(least, most), m.cores)
	if f.Pace > 0 {
		text += " as fast as these are now"
	}
	text += fmt.Sprintf(": no registry sends the node image of Kubernetes %s, so it is built", f.Kubernetes)
	if len(f.Missing) > 0 {
		text += " from " + names(f.Missing) + fmt.Sprintf(", with up to %s at %s", gib(buildDisk), cache)
	}
	if len(f.Kept) > 0 {
		text += "; the cache has " + names(f.Kept)
	}
	return text + "; then " + clusterTakes
}

// span is two durations in whole minutes, in words.
func span(least, most time.Duration) string {
	from, to := max(1, int(least.Round(time.Minute)/time.Minute)), max(1, int(most.Round(time.Minute)/time.Minute))
	switch {
	case to == 1:
		return "about a minute"
	case from == to:
		return fmt.Sprintf("about %d minutes", to)
	}
	return fmt.Sprintf("%d to %d minutes", from, to)
}

func names(parts []nodeimage.Part) string {
	var all []string
	for _, p := range parts {
		all = append(all, p.Name)
	}
	return strings.Join(all, ", ")
}
