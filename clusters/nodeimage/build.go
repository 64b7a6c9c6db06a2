package nodeimage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-ha/holdfast/clusters/engine"
)

// buildSteps is the number of steps that Build reports.
const buildSteps = 9

// Build makes a node image for a version of Kubernetes ("" means DefaultKubernetes) and loads it into the engine. It reuses
// finished parts from the cache. It needs Linux, root, Debian's or Ubuntu's packages, and the Go toolchain. A build that is
// interrupted or killed leaves no image and no incomplete cache entry; the next build reuses the parts that it finished.
// Builds in several processes run one after the other.
func Build(ctx context.Context, e *engine.Engine, version string, o Options) (Ref, error) {
	version = cmp.Or(version, DefaultKubernetes)
	if err := errors.Join(checkForm(version), o.fill()); err != nil {
		return Ref{}, err
	}
	ref, err := build(ctx, thisHost(), e, version, o)
	if err != nil {
		return Ref{}, fmt.Errorf("build a node image for Kubernetes %s: %w", version, err)
	}
	return ref, nil
}

// builder is one build.
type builder struct {
	host
	options Options
	cache   *Cache
	steps   steps
	golang  goTool
	version string
	// holdfast is the path of the holdfast executable that the image contains.
	holdfast string
}

// begin waits for the cache, and makes a folder for a build of this many steps. end releases both.
func (h host) begin(ctx context.Context, o Options, of int) (b *builder, work string, end func() error, err error) {
	c, err := openCache(ctx, o.CacheDir, func() { o.Progress(Step{Name: "waiting for another build to end", State: Started}) })
	if err != nil {
		return nil, "", nil, err
	}
	if work, err = c.Temp(); err != nil {
		return nil, "", nil, errors.Join(err, c.Close())
	}
	end = func() error {
		_ = os.RemoveAll(work) // the next build removes leftovers
		return c.Close()
	}
	return &builder{host: h, options: o, cache: c, steps: steps{of: of, tell: o.Progress}}, work, end, nil
}

func build(ctx context.Context, h host, e Engine, version string, o Options) (ref Ref, err error) {
	if err := h.checkBuilds(ctx, e, saveNode(version), nil); err != nil {
		return Ref{}, err
	}
	holdfast, err := h.holdfast(ctx, o.CacheDir) // first, because a build takes minutes
	if err != nil {
		return Ref{}, err
	}
	b, work, end, err := h.begin(ctx, o, buildSteps)
	if err != nil {
		return Ref{}, err
	}
	defer func() { err = errors.Join(err, end()) }()
	name := builtName(version)
	b.version, b.holdfast = version, holdfast
	if b.golang, err = newGoTool(ctx, h, work); err != nil {
		return Ref{}, err
	}
	made, err := b.parts(ctx)
	if err != nil {
		return Ref{}, err
	}
	before, _ := inspectImage(ctx, e, name) // usually there is no image yet
	err = b.steps.do(ctx, "put the image together and bring it into "+e.Name(), func(ctx context.Context) (bool, error) {
		return false, b.assemble(ctx, e, made, name, work)
	})
	if err != nil {
		return Ref{}, err
	}
	ref, err = inspectImage(ctx, e, name)
	ref.Source = Built
	if err == nil && before.Digest != "" && before.Digest != ref.Digest {
		_, _ = e.Output(ctx, "image", "rm", before.Digest) // the old image is untagged now; if a node uses it, the engine keeps it
	}
	return ref, err
}

// parts are the cache folders with everything that goes into an image.
type parts struct {
	rootfs                                       string
	kubernetes, containerd, runc, cni, etcd, dns string
	pause                                        string
	kind                                         string // the module of kind
	wanted                                       wantedImages
	etcdVersion, dnsVersion                      string
}

// parts makes what the cache does not hold. The root file system mostly waits for a mirror, so it is made while the
// compiler works. Compilations run one after the other, since each of them uses the whole machine.
func (b *builder) parts(ctx context.Context) (parts, error) {
	var p parts
	source, err := b.golang.kubernetesSource(ctx, b.version) // first, because the version may not exist
	if err != nil {
		return p, err
	}
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() error {
		return b.steps.do(ctx, "root file system ("+debianSuite+")", func(ctx context.Context) (cached bool, err error) {
			p.rootfs, cached, err = b.rootfs(ctx)
			return cached, err
		})
	})
	both.Go(func() error { return b.binaries(ctx, &p, source) })
	return p, both.Wait()
}

func (b *builder) binaries(ctx context.Context, p *parts, source module) error {
	if err := b.program(ctx, kubernetes(b.version), &p.kubernetes); err != nil {
		return err
	}
	list, err := b.run(ctx, call{name: filepath.Join(p.kubernetes, "kubeadm"),
		args: []string{"config", "images", "list", "--kubernetes-version", b.version}})
	if err != nil {
		return fmt.Errorf("ask kubeadm for its images: %w", err)
	}
	if p.wanted, err = parseWanted(string(list)); err != nil {
		return err
	}
	etcdSource, err := b.golang.servable(ctx, etcdModule, p.wanted.Version("etcd"))
	if err != nil {
		return fmt.Errorf("get the source of etcd: %w", err)
	}
	dnsSource, err := b.golang.servable(ctx, corednsModule, p.wanted.Version("coredns"))
	if err != nil {
		return fmt.Errorf("get the source of CoreDNS: %w", err)
	}
	p.etcdVersion, p.dnsVersion = etcdSource.Version, dnsSource.Version
	kind, err := b.golang.download(ctx, kindModule, kindVersion)
	if err != nil {
		return fmt.Errorf("download kind's source: %w", err)
	}
	p.kind = kind.Dir
	for _, next := range []struct {
		program program
		into    *string
	}{
		{containerd(), &p.containerd}, {runc(), &p.runc}, {cniPlugins(), &p.cni},
		{etcd(p.etcdVersion), &p.etcd}, {coredns(p.dnsVersion), &p.dns},
	} {
		if err := b.program(ctx, next.program, next.into); err != nil {
			return err
		}
	}
	return b.pause(ctx, p, source)
}

// program is one step: it takes the commands of a module from the cache, or compiles them.
func (b *builder) program(ctx context.Context, p program, into *string) error {
	return b.steps.do(ctx, p.name+" "+p.version, func(ctx context.Context) (cached bool, err error) {
		*into, cached, err = b.cache.Entry(p.entry(b.golang.version), func(keep, work string) error {
			if p.cgo {
				if err := b.needCompiler(ctx, work); err != nil {
					return err
				}
			}
			return b.logged(p.name, func(log *os.File) error { return b.golang.build(ctx, p, keep, work, log) })
		})
		return cached, err
	})
}

// pauseEntry is the name of the cache entry of the pause program.
func pauseEntry(version, tag string) string { return "pause-" + tag + "-" + digest(version, tag) }

// pause is one step: the pause program, which is written in C in Kubernetes' source.
func (b *builder) pause(ctx context.Context, p *parts, source module) error {
	tag := p.wanted["pause"].TagStr()
	return b.steps.do(ctx, "pause "+tag, func(ctx context.Context) (cached bool, err error) {
		p.pause, cached, err = b.cache.Entry(pauseEntry(b.version, tag), func(keep, work string) error {
			if err := b.needCompiler(ctx, work); err != nil {
				return err
			}
			_, err := b.run(ctx, call{name: "gcc", args: []string{"-Os", "-static", "-s", "-DVERSION=v" + tag,
				"-o", filepath.Join(keep, "pause"), filepath.Join(source.Dir, "build/pause/linux/pause.c")}})
			return err
		})
		return cached, err
	})
}

// needCompiler makes sure that a C compiler with static libc and libseccomp works, by using it.
func (b *builder) needCompiler(ctx context.Context, work string) error {
	there := func() bool {
		_, compiles := b.run(ctx, call{name: "gcc", stdin: strings.NewReader("#include <seccomp.h>\nint main(void){return seccomp_api_get()==0;}\n"),
			args: []string{"-static", "-x", "c", "-o", filepath.Join(work, "probe"), "-", "-lseccomp"}})
		_, configured := b.run(ctx, call{name: "pkg-config", args: []string{"--exists", "libseccomp"}})
		return compiles == nil && configured == nil
	}
	return b.need(ctx, b.options, "a C compiler with libseccomp", there, "gcc", "libc6-dev", "libseccomp-dev", "pkg-config")
}

// logged opens a log file for what a step's programs print, and names it in the step's error.
func (b *builder) logged(name string, part func(*os.File) error) error {
	log, err := b.cache.Log(name)
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // a log
	if err := part(log); err != nil {
		return fmt.Errorf("%w\nthe whole log is in %s", err, log.Name())
	}
	return nil
}
