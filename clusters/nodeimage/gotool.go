package nodeimage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
)

var errNoGo = errors.New("the Go toolchain is not installed; it is needed to build a node image or an add-on, and for nothing else: " +
	"install Go 1.26 or newer, or, for the node image, load a kindest/node image into the container engine")

// goTool is the Go toolchain of this machine. It uses the user's own module and build caches.
type goTool struct {
	host
	path    string
	version string // for example "go1.26.8"
	dir     string // working directory of commands that need no module
}

// module is a downloaded module.
type module struct {
	Path, Version string
	Dir           string // its files
	GoMod         string // its go.mod
	Error         string
}

// newGoTool finds the toolchain. Commands that need no module run in dir, which should be outside of any module.
func newGoTool(ctx context.Context, h host, dir string) (goTool, error) {
	path, err := h.lookPath("go")
	if err != nil {
		return goTool{}, errNoGo
	}
	g := goTool{host: h, path: path, dir: dir}
	out, err := g.command(ctx, dir, "env", "GOVERSION")
	if err != nil {
		return goTool{}, err
	}
	g.version = strings.TrimSpace(string(out))
	return g, nil
}

func (g goTool) command(ctx context.Context, dir string, args ...string) ([]byte, error) {
	return g.run(ctx, call{dir: dir, name: g.path, args: args, env: []string{
		"GOFLAGS=-mod=mod", "GOWORK=off", "GO111MODULE=on", "GOOS=linux", "GOARCH=" + runtime.GOARCH,
	}})
}

// download fetches one version of a module into the module cache. It returns an error if the version does not exist or the
// proxy refuses to serve it.
func (g goTool) download(ctx context.Context, path, version string) (module, error) {
	out, err := g.command(ctx, g.dir, "mod", "download", "-json", path+"@"+version)
	var m module
	if json.Unmarshal(out, &m) == nil && m.Error != "" { // go prints this on standard output, and exits with 1
		return module{}, errors.New(oneLine(m.Error))
	}
	if err != nil {
		return module{}, err
	}
	if m.Dir == "" {
		return module{}, fmt.Errorf("download %s@%s: go reported no directory", path, version)
	}
	return m, nil
}

// list returns the versions of a module, oldest first.
func (g goTool) list(ctx context.Context, path string) ([]string, error) {
	out, err := g.command(ctx, g.dir, "list", "-m", "-json", "-versions", path)
	if err != nil {
		return nil, err
	}
	var m struct{ Versions []string }
	if err := json.Unmarshal(out, &m); err != nil {
		return nil, fmt.Errorf("list the versions of %s: %w", path, err)
	}
	return m.Versions, nil
}

// oneLine joins the lines of an error message of the go command.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
