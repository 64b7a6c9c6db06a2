package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
)

type podmanEngine struct{}

func (podmanEngine) name() string { return Podman }

// prepare writes our containers.conf. Podman reads it in place of the host's, which stays as it is.
func (podmanEngine) prepare(h host, cacheDir string) (env []string, config string, err error) {
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
		"KIND_EXPERIMENTAL_PROVIDER=podman",
		"PODMAN_IGNORE_CGROUPSV1_WARNING=1", // podman 5 warns on every call
	}, config, nil
}

// maxOpenFiles is the highest limit a process may have unless the machine's fs.nr_open was changed.
const maxOpenFiles = 1 << 20

// containersConf is what podman has to know of this machine; all else is podman's default. An empty conmon is podman's
// own choice.
func containersConf(h host, conmon string) string {
	var text strings.Builder
	text.WriteString("# Written by holdfast for the podman commands it runs; see CONTAINERS_CONF in containers.conf(5).\n")
	text.WriteString("[containers]\n")
	// Podman asks for more than root may have without CAP_SYS_RESOURCE, and then no container starts.
	fmt.Fprintf(&text, "default_ulimits = [\"nofile=%[1]d:%[1]d\", \"nproc=%[2]d:%[2]d\"]\n",
		min(h.limits.openFiles, maxOpenFiles), min(h.limits.processes, h.pidMax()))
	text.WriteString("[engine]\n")
	if conmon != "" {
		fmt.Fprintf(&text, "conmon_path = [%q]\n", conmon) // see conmonScript
	}
	// The journal may not be there, and nothing of ours should fill it.
	text.WriteString("events_logger = \"file\"\n")
	if !h.exists("/run/systemd/system") {
		text.WriteString("cgroup_manager = \"cgroupfs\"\n") // systemd, the default, is not running
	}
	if !h.unified() || !h.has("crun") {
		text.WriteString("runtime = \"runc\"\n") // crun refuses cgroup v1, and v1 mixed with v2
	}
	return text.String()
}

// podmanInfo is the part of `podman info` that is used.
type podmanInfo struct {
	Host struct {
		OCIRuntime struct {
			Name    string `json:"name"`
			Path    string `json:"path"`
			Version string `json:"version"`
		} `json:"ociRuntime"`
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
		return facts{}, fmt.Errorf("it does not tell about itself: %w", why(err))
	}
	var info podmanInfo
	if err := json.Unmarshal(answer, &info); err != nil {
		return facts{}, fmt.Errorf("read `podman info`: %w", err)
	}
	runtime := info.Host.OCIRuntime
	return facts{
		Version: info.Version.Version, Runtime: runtime.Name,
		Driver: info.Store.GraphDriverName, StorageDir: info.Store.GraphRoot,
		Identity: runtime.Path + " " + runtime.Version,
	}, nil
}

// remedy is none: what podman lacks, install adds.
func (podmanEngine) remedy(string) string { return "" }
