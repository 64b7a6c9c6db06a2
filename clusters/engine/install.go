package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// installLimit is generous: it covers some 40 MB from a slow mirror, after waiting for another apt.
const installLimit = 10 * time.Minute

// packages are what podman needs to run kind's nodes, by their names in Debian 12 and Ubuntu 24.04.
var packages = []string{"podman", "runc", "netavark", "aardvark-dns", "uidmap", "iptables", "nftables"}

// older are the equivalent packages in Debian 11 and Ubuntu 22.04, whose podman does not support netavark.
var older = map[string]string{
	"netavark":     "containernetworking-plugins",
	"aardvark-dns": "golang-github-containernetworking-plugin-dnsname",
}

// install installs the missing packages and tries podman again. If it may not install, the error describes how to.
func (s *search) install(ctx context.Context) (*Engine, error) {
	missing := s.missing(ctx)
	if s.options.NoInstall || s.uid != 0 || !s.debian() || len(missing) == 0 {
		return nil, &NotFoundError{Refusals: s.refusals, Remedy: s.remedy(missing)}
	}
	s.options.Say("no container engine runs a privileged container here; installing %s with apt-get (about a minute)",
		strings.Join(missing, " "))
	if err := s.installPackages(ctx, missing); err != nil {
		return nil, fmt.Errorf("install podman: %w\nto do it by hand: %s", err, aptCommands("", missing))
	}
	s.refusals = slices.DeleteFunc(s.refusals, func(r Refusal) bool { return r.Engine == Podman })
	found, err := s.try(ctx, podmanEngine{})
	if found != nil || err != nil {
		return found, err
	}
	return nil, &NotFoundError{Refusals: s.refusals, Remedy: s.remedy(nil)}
}

// installPackages first downloads, which ctx may interrupt, and then installs, which ctx may not interrupt: an interrupted dpkg
// needs manual repair.
func (s *search) installPackages(ctx context.Context, names []string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, installLimit, fmt.Errorf("not finished within %s", installLimit))
	defer cancel()
	update := s.apt(ctx, "update") // an error here may not matter: the packages may be available despite a broken source
	names = s.offered(ctx, names)
	install := append([]string{"install", "--yes", "--no-install-recommends"}, names...)
	err := s.apt(ctx, append(install, "--download-only")...)
	if err != nil && update != nil {
		return fmt.Errorf("%w (before that: %w)", err, update)
	}
	if err != nil {
		return err
	}
	unpack, done := context.WithTimeoutCause(context.WithoutCancel(ctx), installLimit,
		fmt.Errorf("not finished within %s", installLimit))
	defer done()
	return s.apt(unpack, install...)
}

// apt runs apt-get non-interactively, without restarting services, and waits for other apt processes.
func (s *search) apt(ctx context.Context, args ...string) error {
	args = append([]string{"-q", "-o", "DPkg::Lock::Timeout=120", "-o", "Dpkg::Options::=--force-confold"}, args...)
	_, err := s.run(ctx, call{path: "apt-get", args: args, env: []string{
		"DEBIAN_FRONTEND=noninteractive", "NEEDRESTART_SUSPEND=1", "LC_ALL=C.UTF-8",
	}})
	return err
}

// missing are the packages that are not installed, or all packages if dpkg-query cannot be run.
func (s *search) missing(ctx context.Context) []string {
	// dpkg-query exits with an error if any of the packages is unknown, but its output is still valid.
	answer, _ := s.run(ctx, call{path: "dpkg-query", args: append(
		[]string{"--show", "--showformat", "${Package} ${db:Status-Status}\n"}, packages...)})
	installed := strings.Split(string(answer), "\n")
	return slices.DeleteFunc(slices.Clone(packages), func(name string) bool {
		return slices.Contains(installed, name+" installed")
	})
}

// offered replaces packages that this distribution does not have by their older equivalents.
func (s *search) offered(ctx context.Context, names []string) []string {
	answer, _ := s.run(ctx, call{path: "apt-cache", args: append([]string{"show", "--no-all-versions"}, names...)})
	known := strings.Split(string(answer), "\n")
	names = slices.Clone(names)
	for i, name := range names {
		if old, ok := older[name]; ok && !slices.Contains(known, "Package: "+name) {
			names[i] = old
		}
	}
	return names
}

// debian reports whether this is Debian or a derivative and has apt-get.
func (s *search) debian() bool {
	for _, line := range strings.Split(s.text("/etc/os-release"), "\n") {
		key, value, _ := strings.Cut(line, "=")
		if key != "ID" && key != "ID_LIKE" {
			continue
		}
		if slices.Contains(strings.Fields(strings.Trim(value, `"'`)), "debian") {
			return s.has("apt-get")
		}
	}
	return false
}

// remedy lists possible solutions, one per line.
func (s *search) remedy(missing []string) string {
	var ways []string
	for _, refusal := range s.refusals {
		if refusal.Remedy != "" {
			ways = append(ways, refusal.Remedy)
		}
	}
	switch {
	case s.system != "linux":
		ways = append(ways, "install and start Docker Desktop, Colima, or podman with a machine that is rootful")
	case !s.debian():
		ways = append(ways, "install docker, or podman with runc, netavark and aardvark-dns, from your distribution")
	case len(missing) > 0:
		ways = append(ways, aptCommands(s.sudo(), missing))
	default:
		ways = append(ways, "podman has all the packages it needs; run holdfast doctor to check this machine")
	}
	return strings.Join(ways, "\n")
}

// dockerRemedy lists possible solutions where docker alone may be used.
func (s *search) dockerRemedy() string {
	ways := []string{"unset HOLDFAST_ENGINE   # and holdfast uses what there is"}
	for _, refusal := range s.refusals {
		if refusal.Remedy != "" {
			ways = append(ways, refusal.Remedy)
		}
	}
	return strings.Join(append(ways, "install docker, and start its daemon"), "\n")
}

func (s *search) sudo() string {
	if s.uid == 0 {
		return ""
	}
	return "sudo "
}

// aptCommands is a shell command that installs packages.
func aptCommands(sudo string, names []string) string {
	return sudo + "apt-get update && " + sudo + "apt-get install --yes --no-install-recommends " + strings.Join(names, " ")
}
