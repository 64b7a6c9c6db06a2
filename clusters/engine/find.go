package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// How long an engine may take. A daemon that is started by its socket needs some seconds to answer; the first
// container after a boot, on a slow disk, needs more.
const (
	answerLimit = 15 * time.Second
	proofLimit  = 90 * time.Second
)

// Options of Find.
type Options struct {
	// CacheDir is ours to write: containers.conf for podman, and the memory of what worked. Default: CacheDir().
	CacheDir string
	// NoInstall refuses to install anything; so does HOLDFAST_NO_INSTALL=1.
	NoInstall bool
	// Say tells a person, before it happens, what takes long or changes the machine. Default: say nothing.
	Say func(format string, args ...any)
}

// Refusal is an engine that will not do, and why.
type Refusal struct {
	Engine string // "docker" or "podman"
	Reason string
	Remedy string // a command that may mend it; empty where none is known
}

// NotFoundError says that no engine on this machine will do.
type NotFoundError struct {
	Refusals []Refusal
	Remedy   string // what a person can do about it: one way a line, most of them commands
}

func (e *NotFoundError) Error() string {
	var text strings.Builder
	text.WriteString("find a container engine: none runs a privileged container")
	for _, refusal := range e.Refusals {
		fmt.Fprintf(&text, "\n  %s: %s", refusal.Engine, refusal.Reason)
	}
	fmt.Fprintf(&text, "\none of these may mend it:\n  %s", strings.ReplaceAll(e.Remedy, "\n", "\n  "))
	return text.String()
}

// Find returns docker if its daemon answers and a privileged container really runs; else podman, likewise; else, as
// root on Debian or Ubuntu, it says so, installs podman from the distribution, and looks again. Where nothing works
// the error is a *NotFoundError. What worked is remembered until the machine boots or the engine changes, so that a
// second call takes well under a second.
func Find(ctx context.Context, o Options) (*Engine, error) {
	return find(ctx, thisHost(), o)
}

func find(ctx context.Context, h host, o Options) (*Engine, error) {
	s := search{host: h, options: o}
	if err := s.options.fill(); err != nil {
		return nil, err
	}
	found, err := s.try(ctx, dockerEngine{}, podmanEngine{})
	if found != nil || err != nil {
		return found, err
	}
	return s.install(ctx)
}

// fill puts in what was left empty.
func (o *Options) fill() error {
	if o.CacheDir == "" {
		dir, err := CacheDir()
		if err != nil {
			return err
		}
		o.CacheDir = dir
	}
	if err := os.MkdirAll(o.CacheDir, 0o755); err != nil {
		return fmt.Errorf("make the cache folder: %w; set HOLDFAST_CACHE to a folder that can be written", err)
	}
	if o.Say == nil {
		o.Say = func(string, ...any) {}
	}
	if set := os.Getenv("HOLDFAST_NO_INSTALL"); set != "" && set != "0" {
		o.NoInstall = true
	}
	return nil
}

// search is one call of Find.
type search struct {
	host
	options  Options
	refusals []Refusal
}

// kind of engine: what differs between docker and podman.
type kind interface {
	name() string
	// prepare writes what the engine needs to our cache folder and returns what its environment must have, and
	// the text of the configuration.
	prepare(h host, cacheDir string) (env []string, config string, err error)
	// ask makes the engine tell about itself; an error if it cannot start a container at all.
	ask(ctx context.Context, h host, path string, env []string) (facts, error)
	// remedy is a command that may mend a refusal for this reason; empty where none is known.
	remedy(reason string) string
}

// try returns the first of the engines that works, or none. Its error is that of a context which has ended.
func (s *search) try(ctx context.Context, kinds ...kind) (*Engine, error) {
	for _, k := range kinds {
		found, err := s.tryOne(ctx, k)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("find a container engine: %w", context.Cause(ctx))
		}
		if err == nil {
			found.refusals = s.refusals
			return found, nil
		}
		s.refusals = append(s.refusals, Refusal{Engine: k.name(), Reason: err.Error(), Remedy: k.remedy(err.Error())})
	}
	return nil, nil
}

func (s *search) tryOne(ctx context.Context, k kind) (*Engine, error) {
	path, err := s.lookPath(k.name())
	if err != nil {
		return nil, errors.New("not installed")
	}
	env, config, err := k.prepare(s.host, s.options.CacheDir)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeoutCause(ctx, answerLimit, fmt.Errorf("no answer within %s", answerLimit))
	defer cancel()
	about, err := k.ask(limited, s.host, path, env)
	if err != nil {
		return nil, err
	}
	found := &Engine{name: k.name(), path: path, env: env, facts: about}
	mark := fingerprint(path, config, fmt.Sprint(about), fmt.Sprint(s.uid), s.capabilities(), s.text(bootIDFile))
	if proven(s.options.CacheDir, k.name(), mark) {
		return found, nil
	}
	if err := prove(ctx, s.host, found, runtime.GOARCH); err != nil {
		return nil, err
	}
	_ = remember(s.options.CacheDir, k.name(), mark) // or the next call proves it again
	return found, nil
}

// bootIDFile holds a number that is new with every boot: modules and mounts may differ then.
const bootIDFile = "/proc/sys/kernel/random/boot_id"
