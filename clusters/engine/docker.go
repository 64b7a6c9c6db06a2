package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

type dockerEngine struct{}

func (dockerEngine) name() string { return Docker }

func (dockerEngine) prepare(host, string) (env []string, config string, err error) {
	return []string{"KIND_EXPERIMENTAL_PROVIDER=docker"}, "", nil
}

// dockerInfo contains the used fields of `docker info`.
type dockerInfo struct {
	ID             string
	ServerVersion  string
	DefaultRuntime string
	Runtimes       map[string]struct {
		Path string `json:"path"`
	}
	Driver        string
	DockerRootDir string
	KernelVersion string
	Architecture  string
	NCPU          int
	ServerErrors  []string
}

func (dockerEngine) ask(ctx context.Context, h host, path string, env []string) (facts, error) {
	answer, err := h.run(ctx, call{env: env, path: path, args: []string{"info", "--format", "{{json .}}"}})
	var info dockerInfo
	parse := json.Unmarshal(answer, &info)
	switch { // without a daemon `docker info` describes only the client, and its exit status depends on the version
	case parse == nil && len(info.ServerErrors) > 0:
		return facts{}, fmt.Errorf("its daemon does not answer: %s", strings.Join(info.ServerErrors, "; "))
	case err != nil:
		return facts{}, fmt.Errorf("its daemon does not answer: %w", why(err))
	case parse != nil:
		return facts{}, fmt.Errorf("read `docker info`: %w", parse)
	case info.ServerVersion == "":
		return facts{}, errors.New("its daemon does not answer: `docker info` reports no server version")
	}
	return facts{
		Version: info.ServerVersion, Runtime: info.DefaultRuntime, Driver: info.Driver, StorageDir: info.DockerRootDir,
		Identity: info.ID + " " + info.Runtimes[info.DefaultRuntime].Path,
		Kernel:   info.KernelVersion, Arch: GoArch(info.Architecture), CPUs: info.NCPU,
	}, nil
}

func (dockerEngine) remedy(h host, reason string) string {
	switch {
	case h.system != "linux" && strings.Contains(reason, "does not answer"):
		return "start Docker Desktop, or 'colima start'"
	case strings.Contains(reason, "permission denied"):
		return `sudo usermod -aG docker "$USER"   # then log in again`
	case strings.Contains(reason, "does not answer"):
		return "sudo systemctl start docker"
	}
	return ""
}
