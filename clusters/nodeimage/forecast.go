package nodeimage

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/clusters/nodeimage/compiler"
	"github.com/holdfast-ha/holdfast/clusters/nodeimage/linuxonly"
	"github.com/holdfast-ha/holdfast/clusters/nodeimage/registry"
)

// Forecast says what Ensure would do for a version of Kubernetes: nothing if Held is set, pull PullBytes if that is positive, and build otherwise.
type Forecast struct {
	Kubernetes string
	Held       string // the image that the engine holds
	PullBytes  int64  // what a registry would send, compressed
	// Kept and Missing are the parts of a build that the cache has, and those that are to be made.
	Kept, Missing []Part
	// Pace is how many times as long this machine takes as the one of the parts' durations; 0 if it is not known.
	Pace float64
	// Blocked is what keeps a build from beginning; nil if it can. It is a linuxonly.Error on a system that cannot build.
	Blocked error
}

// Part is a part of a build.
type Part struct {
	Name string
	// Took is how long a build on two cores of the measured machine needs for it, with its downloads.
	Took time.Duration
	// held tells from the name of a cache entry whether it is this part.
	held func(entry string) bool
	// atOnce is true of the part that is made while the compiler works.
	atOnce bool
}

// How long a build of Kubernetes v1.37.1 takes with two cores of a machine of pace 1 (see package compiler), with empty caches of the
// Go toolchain, so that all downloads count. They are estimates: the processor time of a whole build, which was measured beside other work on
// 28 November 2026, was divided among the parts as in builds on a calm machine, and lessened by the fifth that compilers save which collect less
// garbage.
const (
	kubernetesTook = 4*time.Minute + 30*time.Second
	containerdTook = 48 * time.Second
	runcTook       = 12 * time.Second
	cniTook        = 6 * time.Second
	etcdTook       = 20 * time.Second
	corednsTook    = 45 * time.Second
	rootfsTook     = 55 * time.Second
	assembleTook   = 40 * time.Second

	measuredCores = 2
	// A build takes between fastest and slowest of its forecast: the yardstick says nothing of disks and mirrors. slowestUnmeasured is for a
	// machine whose pace is not known: builds on two such cores took up to 26 minutes.
	fastest, slowest, slowestUnmeasured = 0.8, 1.4, 3.0
)

// Foresee looks up what Ensure would do. It changes nothing, and takes some seconds only if the engine holds no image and no registry answers.
func Foresee(ctx context.Context, e registry.Asker, version string, o Options) (Forecast, error) {
	if err := o.fill(); err != nil {
		return Forecast{}, err
	}
	return foresee(ctx, thisHost(), e, version, o, registry.PullBytes)
}

func foresee(ctx context.Context, h host, e registry.Asker, version string, o Options, pullBytes func(ctx context.Context, image, arch string) (int64, error)) (Forecast, error) {
	f := Forecast{Kubernetes: orDefault(version)}
	if err := checkForm(f.Kubernetes); err != nil {
		return f, err
	}
	ref, held, err := present(ctx, e, version)
	if held || err != nil {
		f.Held = ref.Image
		if ref.Kubernetes != "" {
			f.Kubernetes = ref.Kubernetes
		}
		return f, err
	}
	arch, err := registry.Architecture(ctx, e)
	if err != nil {
		return f, err
	}
	var unsent error
	for _, name := range stockNames(version) {
		size, err := pullBytes(ctx, name, arch)
		switch {
		case ctx.Err() != nil:
			return f, context.Cause(ctx)
		case err == nil:
			f.PullBytes, f.Kubernetes = size, registry.Image{}.Ref(name).Kubernetes
			return f, nil
		}
		unsent = errors.Join(unsent, err)
		if errors.Is(err, registry.ErrNoRegistry) {
			break // as ensure does
		}
	}
	f.Blocked = linuxonly.Check(ctx, h.system, e, linuxonly.Node(f.Kubernetes), unsent)
	if f.Blocked == nil {
		f.Blocked = f.divide(ctx, h, o)
	}
	return f, nil
}

// divide sorts the parts of a build by what the cache has. The error says what keeps a build from beginning.
func (f *Forecast) divide(ctx context.Context, h host, o Options) error {
	golang, noGo := newGoTool(ctx, h, os.TempDir())
	from, noMirror := h.findDistribution(ctx)
	entries, _ := os.ReadDir(o.CacheDir) // usually the folder does not exist before the first build
	rootfsMissing := false
	for _, part := range buildParts(f.Kubernetes, golang.version, from.suite) {
		kept := false
		for _, entry := range entries {
			kept = kept || part.held(entry.Name())
		}
		if kept {
			f.Kept = append(f.Kept, part)
			continue
		}
		f.Missing = append(f.Missing, part)
		rootfsMissing = rootfsMissing || part.atOnce
	}
	switch {
	case noGo != nil:
		return noGo
	case noMirror != nil:
		return noMirror
	case rootfsMissing && h.uid != 0:
		return errors.New("only root can make the root file system of a node")
	}
	f.Pace = compiler.Pace(func(dir, file string) error {
		_, err := golang.run(ctx, call{dir: dir, name: golang.path, args: []string{"tool", "compile", "-c=1", "-p", "yardstick", "-o", file + ".o", file}})
		return err
	})
	return nil
}

// buildParts are the parts of a build, in its order. Which versions of etcd and CoreDNS it takes, kubeadm says when it has been compiled: any
// that the cache has counts as held.
func buildParts(kubernetesVersion, goVersion, suite string) []Part {
	is := func(p program) func(string) bool {
		return func(entry string) bool { return entry == p.entry(goVersion) }
	}
	some := func(of func(version string) program) func(string) bool {
		return func(entry string) bool {
			version, ok := strings.CutPrefix(entry, of("").name+"-")
			at := strings.LastIndex(version, "-")
			return ok && at > 0 && entry == of(version[:at]).entry(goVersion)
		}
	}
	rootfs := rootfsEntry("rootfs", suite, packages, netfilterTar)
	return []Part{
		{Name: "root file system", Took: rootfsTook, held: func(entry string) bool { return entry == rootfs }, atOnce: true},
		{Name: "kubernetes", Took: kubernetesTook, held: is(kubernetes(kubernetesVersion))},
		{Name: "containerd", Took: containerdTook, held: is(containerd())},
		{Name: "runc", Took: runcTook, held: is(runc())},
		{Name: "cni", Took: cniTook, held: is(cniPlugins())},
		{Name: "etcd", Took: etcdTook, held: some(etcd)},
		{Name: "coredns", Took: corednsTook, held: some(coredns)},
	}
}

// Build is how long a build would take on this machine with so many cores, at least and at most, for the parts that are missing. Only the compiler
// is taken to be faster with more cores.
func (f Forecast) Build(cores int) (least, most time.Duration) {
	var compile, atOnce time.Duration
	for _, part := range f.Missing {
		if part.atOnce {
			atOnce += part.Took
			continue
		}
		compile += part.Took
	}
	took := float64(max(compile*measuredCores/time.Duration(max(cores, 1)), atOnce) + assembleTook)
	if f.Pace == 0 {
		return time.Duration(took * fastest), time.Duration(took * slowestUnmeasured)
	}
	return time.Duration(took * f.Pace * fastest), time.Duration(took * f.Pace * slowest)
}
