package balancer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/process"
)

// balancer keeps HAProxy configured according to Envoy's files.
type balancer struct {
	bootstrap string // Envoy's bootstrap file, which refers to the others
	config    string // HAProxy's configuration file
	program   string // the HAProxy executable
	lookup    func(ctx context.Context, host string) ([]string, error)

	resolved  time.Time
	addresses map[string]string // by name; an address is kept when its name no longer resolves, because a killed container has no name
	tried     string            // the last configuration, accepted or not
	master    *exec.Cmd         // HAProxy's master process, once it runs
	ended     chan error
}

func newBalancer(bootstrap, config, program string) *balancer {
	return &balancer{
		bootstrap: bootstrap, config: config, program: program, lookup: net.DefaultResolver.LookupHost,
		addresses: map[string]string{}, ended: make(chan error, 1),
	}
}

// keep works until ctx ends or HAProxy exits.
func (b *balancer) keep(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		if err := b.look(ctx); err != nil && !errors.Is(err, errNothing) {
			slog.Error("follow Envoy's files", "error", err)
		}
		select {
		case <-ctx.Done():
			return b.stop()
		case err := <-b.ended:
			return fmt.Errorf("haproxy exited unexpectedly: %w", errors.Join(err, errors.New("the balancer did not stop it")))
		case <-tick.C:
		}
	}
}

// look updates HAProxy. A configuration that HAProxy rejects is tried once; the previous one stays active.
func (b *balancer) look(ctx context.Context) error {
	p, err := readPlan(b.bootstrap)
	if err != nil {
		return err
	}
	b.resolve(ctx, p)
	text := render(p, b.addresses)
	if text == b.tried {
		return nil
	}
	b.tried = text
	next := b.config + ".next"
	if err := os.WriteFile(next, []byte(text), 0o644); err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, b.program, "-c", "-q", "-f", next).CombinedOutput(); err != nil {
		return fmt.Errorf("check the configuration: %w: %s", err, out)
	}
	if err := os.Rename(next, b.config); err != nil {
		return err
	}
	slog.Info("a new configuration", "backends", b.addresses)
	return b.apply()
}

// resolve looks up names: new ones at once, all others every resolveEvery.
func (b *balancer) resolve(ctx context.Context, p plan) {
	stale := time.Since(b.resolved) >= resolveEvery
	for _, backend := range p.backends {
		name, _, err := net.SplitHostPort(backend)
		if err != nil || (!stale && b.addresses[name] != "") {
			continue
		}
		bounded, cancel := context.WithTimeout(ctx, resolveEvery)
		found, err := b.lookup(bounded, name)
		cancel()
		if at := prefer(found, b.addresses[name]); err == nil && at != "" {
			b.addresses[name] = at
		}
	}
	if stale {
		b.resolved = time.Now()
	}
}

// prefer returns the current address if it is among those found, otherwise the first IPv4 address, otherwise the first.
func prefer(found []string, now string) string {
	if slices.Contains(found, now) {
		return now
	}
	for _, at := range found {
		if ip := net.ParseIP(at); ip != nil && ip.To4() != nil {
			return at
		}
	}
	if len(found) > 0 {
		return found[0]
	}
	return ""
}

// apply starts HAProxy, or makes its master load the new configuration; open connections stay with the old worker.
func (b *balancer) apply() error {
	if b.master != nil {
		return b.master.Process.Signal(syscall.SIGUSR2)
	}
	master := exec.Command(b.program, "-W", "-f", b.config) // no CommandContext: stop asks it to exit
	master.Stdout, master.Stderr = os.Stdout, os.Stderr
	master.SysProcAttr = &syscall.SysProcAttr{}
	process.EndWithParent(master.SysProcAttr, syscall.SIGTERM)
	if err := master.Start(); err != nil {
		return fmt.Errorf("start haproxy: %w", err)
	}
	b.master = master
	go func() { b.ended <- master.Wait() }()
	return nil
}

// stop stops HAProxy if it runs.
func (b *balancer) stop() error {
	if b.master == nil {
		return nil
	}
	if err := b.master.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	if err := <-b.ended; err != nil {
		slog.Debug("haproxy exited", "error", err) // after SIGTERM this is expected
	}
	return nil
}
