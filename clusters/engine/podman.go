package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

type podmanEngine struct{}

func (podmanEngine) name() string { return Podman }

// prepare writes holdfast's own containers.conf. Podman reads it instead of the host's containers.conf, which does not change. On another system
// than Linux podman runs containers in a machine with a configuration of its own, and the host's containers.conf may say where that machine is.
func (podmanEngine) prepare(h host, cacheDir string) (env []string, config string, err error) {
	const provider = "KIND_EXPERIMENTAL_PROVIDER=podman"
	if h.system != "linux" {
		return []string{provider}, "", nil
	}
	path, err := filepath.Abs(filepath.Join(cacheDir, "containers.conf"))
	if err != nil {
		return nil, "", fmt.Errorf("find the cache folder: %w", err)
	}
	conmon, err := wrapConmon(h, cacheDir)
	if err != nil {
		return nil, "", err
	}
	config = containersConf(h, conmon)
	if was, err := h.readFile(path); err != nil || string(was) != config {
		if err := writeFile(path, []byte(config)); err != nil {
			return nil, "", err
		}
	}
	return []string{
		"CONTAINERS_CONF=" + path,
		provider,
		"PODMAN_IGNORE_CGROUPSV1_WARNING=1", // otherwise podman 5 warns at every call
	}, config, nil
}

// maxOpenFiles is the default of fs.nr_open, the highest possible limit of open files per process.
const maxOpenFiles = 1 << 20

// containersConf contains the settings that podman needs on this machine. With an empty conmon, podman searches for conmon
// itself.
func containersConf(h host, conmon string) string {
	var text strings.Builder
	text.WriteString("# Written by holdfast for the podman commands it runs; see CONTAINERS_CONF in containers.conf(5).\n")
	text.WriteString("[containers]\n")
	// Podman's defaults are higher than root may set without CAP_SYS_RESOURCE, and then no container starts.
	fmt.Fprintf(&text, "default_ulimits = [\"nofile=%[1]d:%[1]d\", \"nproc=%[2]d:%[2]d\"]\n",
		min(h.limits.openFiles, maxOpenFiles), min(h.limits.processes, h.pidMax()))
	text.WriteString("[engine]\n")
	if conmon != "" {
		fmt.Fprintf(&text, "conmon_path = [%q]\n", conmon) // see conmonScript
	}
	// The journal may not exist, and holdfast should not fill it.
	text.WriteString("events_logger = \"file\"\n")
	if !h.exists("/run/systemd/system") {
		text.WriteString("cgroup_manager = \"cgroupfs\"\n") // the default, systemd, is not running
	}
	if !h.unified() || !h.has("crun") {
		text.WriteString("runtime = \"runc\"\n") // crun refuses cgroup v1 and hybrid mode
	}
	return text.String()
}

// podmanInfo contains the used fields of `podman info`.
type podmanInfo struct {
	Host struct {
		OCIRuntime struct {
			Name    string `json:"name"`
			Path    string `json:"path"`
			Version string `json:"version"`
		} `json:"ociRuntime"`
		Kernel   string `json:"kernel"`
		Arch     string `json:"arch"`
		CPUs     int    `json:"cpus"`
		Remote   bool   `json:"serviceIsRemote"`
		Security struct {
			Rootless bool `json:"rootless"`
		} `json:"security"`
	} `json:"host"`
	Store struct {
		GraphDriverName string `json:"graphDriverName"`
		GraphRoot       string `json:"graphRoot"`
	} `json:"store"`
	Version struct{ Version string } `json:"version"`
}

func (podmanEngine) ask(ctx context.Context, h host, path string, env []string) (facts, error) {
	answer, err := h.run(ctx, call{env: env, path: path, args: []string{"info", "--format", "json"}})
	if err != nil {
		return facts{}, fmt.Errorf("run `podman info`: %w", why(err))
	}
	var info podmanInfo
	if err := json.Unmarshal(answer, &info); err != nil {
		return facts{}, fmt.Errorf("read `podman info`: %w", err)
	}
	if info.Host.Remote && info.Host.Security.Rootless {
		return facts{}, errRootlessMachine
	}
	runtime := info.Host.OCIRuntime
	return facts{
		Version: info.Version.Version, Runtime: runtime.Name,
		Driver: info.Store.GraphDriverName, StorageDir: info.Store.GraphRoot,
		Identity: runtime.Path + " " + runtime.Version,
		Kernel:   info.Host.Kernel, Arch: GoArch(info.Host.Arch), CPUs: info.Host.CPUs,
	}, nil
}

// errRootlessMachine refuses podman's machine as it is made by default. holdfast limits the traffic of nodes and reads their control groups, which
// needs root there.
var errRootlessMachine = errors.New("its machine is rootless, and nodes need root there")

// remedy is empty on Linux, because install adds what podman lacks.
func (podmanEngine) remedy(h host, reason string) string {
	switch {
	case reason == errRootlessMachine.Error():
		return "podman machine stop; podman machine set --rootful; podman machine start"
	case h.system != "linux" && strings.Contains(reason, "podman info"):
		return "podman machine start"
	}
	return ""
}
