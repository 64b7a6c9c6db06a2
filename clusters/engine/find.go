package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// Time limits of an engine. A socket-activated daemon needs some seconds to answer. The first container after a boot needs
// longer on a slow disk.
const (
	answerLimit = 15 * time.Second
	proofLimit  = 90 * time.Second
)

// Options of Find.
type Options struct {
	// CacheDir stores containers.conf for podman, the results of earlier proofs, and the holdfast executable if it has to be
	// compiled. Default: CacheDir().
	CacheDir string
	// NoInstall forbids installing packages, as does HOLDFAST_NO_INSTALL=1.
	NoInstall bool
	// Only is the one engine that may be used, Docker or Podman, as HOLDFAST_ENGINE names it. Default: both are tried.
	Only string
	// Say reports long or machine-changing steps before they start. Default: no reports.
	Say func(format string, args ...any)
}

// Refusal is a rejected engine and the reason.
type Refusal struct {
	Engine string // "docker" or "podman"
	Reason string
	Remedy string // a command that may fix it; empty if none is known
}

// NotFoundError means that no engine on this machine can run privileged containers.
type NotFoundError struct {
	Refusals []Refusal
	Remedy   string // possible solutions, one per line, most of them commands
}

func (e *NotFoundError) Error() string {
	var text strings.Builder
	text.WriteString("find a container engine: none runs a privileged container")
	for _, refusal := range e.Refusals {
		fmt.Fprintf(&text, "\n  %s: %s", refusal.Engine, refusal.Reason)
	}
	fmt.Fprintf(&text, "\ntry one of these:\n  %s", strings.ReplaceAll(e.Remedy, "\n", "\n  "))
	return text.String()
}

// Find returns docker if its daemon answers and a privileged container actually runs. Otherwise it tries podman in the same
// way. Otherwise, as root on Debian or Ubuntu, it reports that it will install podman from the distribution, installs it, and
// tries again. If nothing works, the error is a *NotFoundError. The result is cached until the next boot or a change of the
// engine, so that a second call takes well under a second.
func Find(ctx context.Context, o Options) (*Engine, error) {
	return find(ctx, thisHost(), o)
}

func find(ctx context.Context, h host, o Options) (*Engine, error) {
	s := search{host: h, options: o}
	if err := s.options.fill(); err != nil {
		return nil, err
	}
	found, err := s.try(ctx, s.options.kinds()...)
	if found != nil || err != nil {
		return found, err
	}
	if s.options.Only == Docker {
		return nil, &NotFoundError{Refusals: s.refusals, Remedy: s.dockerRemedy()}
	}
	return s.install(ctx)
}

// fill sets the defaults of empty fields.
func (o *Options) fill() error {
	if o.CacheDir == "" {
		dir, err := CacheDir()
		if err != nil {
			return err
		}
		o.CacheDir = dir
	}
	if err := os.MkdirAll(o.CacheDir, 0o755); err != nil {
		return fmt.Errorf("make the cache folder: %w; set HOLDFAST_CACHE to a writable folder", err)
	}
	if o.Say == nil {
		o.Say = func(string, ...any) {}
	}
	if set := os.Getenv("HOLDFAST_NO_INSTALL"); set != "" && set != "0" {
		o.NoInstall = true
	}
	o.Only = cmp.Or(o.Only, os.Getenv("HOLDFAST_ENGINE"))
	if len(o.kinds()) == 0 {
		return fmt.Errorf("find a container engine: HOLDFAST_ENGINE=%s: want %s or %s", o.Only, Docker, Podman)
	}
	return nil
}

// kinds are the engines to try, in this order.
func (o *Options) kinds() []kind {
	return slices.DeleteFunc([]kind{dockerEngine{}, podmanEngine{}}, func(k kind) bool { return o.Only != "" && o.Only != k.name() })
}

// search is one call of Find.
type search struct {
	host
	options  Options
	refusals []Refusal
}

// kind is what differs between docker and podman.
type kind interface {
	name() string
	// prepare writes the engine's configuration to the cache folder. It returns the environment variables that the engine
	// needs, and the text of the configuration.
	prepare(h host, cacheDir string) (env []string, config string, err error)
	// ask queries the engine for its facts. The error means that the engine cannot start containers.
	ask(ctx context.Context, h host, path string, env []string) (facts, error)
	// remedy is what may fix the reason of a refusal, if possible a command. It is empty if none is known.
	remedy(h host, reason string) string
}

// noProgramError means that there is no holdfast executable to run in a container. That is no fault of the engine.
type noProgramError struct{ error }

func (e noProgramError) Unwrap() error { return e.error }

// try returns the first engine that works, or nil. The error is not nil only if ctx has ended or no engine can be proven.
func (s *search) try(ctx context.Context, kinds ...kind) (*Engine, error) {
	for _, k := range kinds {
		found, err := s.tryOne(ctx, k)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("find a container engine: %w", context.Cause(ctx))
		}
		if errors.As(err, new(noProgramError)) {
			return nil, fmt.Errorf("prove a container engine: %w", err)
		}
		if err == nil {
			found.refusals = s.refusals
			return found, nil
		}
		s.refusals = append(s.refusals, Refusal{Engine: k.name(), Reason: err.Error(), Remedy: k.remedy(s.host, err.Error())})
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
	if about.Arch != "" && about.Arch != s.arch {
		return nil, fmt.Errorf("it runs containers for %s, and this holdfast is for %s: use the holdfast for %s", about.Arch, s.arch, about.Arch)
	}
	found := &Engine{name: k.name(), path: path, env: env, facts: about, elsewhere: s.isElsewhere(about)}
	mark := fingerprint(path, config, fmt.Sprint(about), fmt.Sprint(s.uid), s.capabilities(), s.text(bootIDFile))
	if proven(s.options.CacheDir, k.name(), mark) {
		return found, nil
	}
	program, err := s.program(ctx, s.options.CacheDir)
	if err != nil {
		return nil, noProgramError{err}
	}
	if err := prove(ctx, s.host, found, program); err != nil {
		return nil, err
	}
	_ = remember(s.options.CacheDir, k.name(), mark) // on an error the next call repeats the proof
	return found, nil
}

// bootIDFile contains an ID that changes at every boot, because loaded modules and mounts may then differ.
const bootIDFile = "/proc/sys/kernel/random/boot_id"
