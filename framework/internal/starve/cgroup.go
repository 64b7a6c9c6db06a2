package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// period is the time to which a quota refers, in microseconds: the kernel's default, which container engines and kubelets use.
const period = 100_000

// errNoGroup means that no control group of an engine can be limited here.
var errNoGroup = errors.New("no control group can be limited")

// group is a control group that contains all containers of an engine.
type group struct {
	file, unlimited string // the file that limits its processor time, and its content without a limit
	made            bool   // by this process
}

// cgroups are the groups of podman's and Docker's containers below root. Docker under systemd has none of its own: its containers are in
// system.slice, beside everything else.
//
// Source: https://docs.kernel.org/scheduler/sched-bwc.html and https://docs.kernel.org/admin-guide/cgroup-v2.html#cpu-interface-files
func cgroups(root string, systemd bool) (all []group) {
	names := []string{"libpod_parent", "docker"}
	if systemd {
		names = []string{"machine.slice"}
	}
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err == nil {
			all = append(all, group{file: filepath.Join(root, name, "cpu.max"), unlimited: "max " + strconv.Itoa(period)})
			continue
		}
		all = append(all, group{file: filepath.Join(root, "cpu", name, "cpu.cfs_quota_us"), unlimited: "-1"})
	}
	return all
}

// limit gives each group a share of the machine's processors. A group that does not exist yet is made: the engine uses it. restore takes the limits
// away.
func limit(groups []group, share float64) (restore func() error, err error) {
	quota := strconv.Itoa(int(share * float64(runtime.NumCPU()) * period))
	var limited []group
	restore = func() (err error) {
		for _, g := range limited {
			err = errors.Join(err, os.WriteFile(g.file, []byte(g.unlimited), 0))
			if g.made {
				_ = os.Remove(filepath.Dir(g.file)) // fails if the engine still uses it
			}
		}
		return err
	}
	for _, g := range groups {
		g.made = os.Mkdir(filepath.Dir(g.file), 0o755) == nil
		if err := g.write(quota); err != nil {
			if g.made {
				_ = os.Remove(filepath.Dir(g.file))
			}
			continue // the engine is not here, or this process may not
		}
		limited = append(limited, g)
		_, _ = fmt.Fprintf(os.Stdout, "starve: %s is %s\n", g.file, quota)
	}
	if len(limited) == 0 {
		return nil, errNoGroup
	}
	return restore, nil
}

// write limits a group, and checks that the kernel has the limit. It makes no file where the kernel has none.
func (g group) write(quota string) error {
	if _, err := os.Stat(g.file); err != nil {
		return err
	}
	if err := os.WriteFile(g.file, []byte(quota), 0); err != nil {
		return err
	}
	has, err := os.ReadFile(g.file)
	if err == nil && !strings.HasPrefix(string(has), quota) {
		err = fmt.Errorf("%s is %q, not %s", g.file, has, quota)
	}
	return err
}
