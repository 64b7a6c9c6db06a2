//go:build e2e

package github

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"debug/macho"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/holdfast-ha/holdfast/framework/base/self"
)

// releaseDir is where `make release-check` makes a release.
const releaseDir = "bin/release"

// released is the release in releaseDir.
type released struct {
	version, commit string
	tag             string            // of a snapshot: the last one, which has another version
	sums            map[string]string // by name of the file
}

func readRelease(t *testing.T) (r released) {
	t.Helper()
	var meta struct{ Version, Commit, Tag string }
	must(t, json.Unmarshal(readFile(t, "metadata.json"), &meta))
	r = released{version: meta.Version, commit: meta.Commit, tag: meta.Tag, sums: map[string]string{}}
	for line := range strings.Lines(string(readFile(t, "checksums.txt"))) {
		sum, name, ok := strings.Cut(strings.TrimSpace(line), "  ")
		if !ok {
			t.Fatalf("checksums.txt: %q", line)
		}
		r.sums[name] = sum
	}
	return r
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(releaseDir, name))
	must(t, err)
	return content
}

// file is a file of the release, which has the sum that is published with it.
func (r released) file(t *testing.T, name string) []byte {
	t.Helper()
	content := readFile(t, name)
	sum := sha256.Sum256(content)
	if got := hex.EncodeToString(sum[:]); got != r.sums[name] {
		t.Errorf("%s has the sum %s, and checksums.txt says %q", name, got, r.sums[name])
	}
	return content
}

func (r released) archive(platform string) string {
	return fmt.Sprintf("holdfast_%s_%s.tar.gz", r.version, strings.ReplaceAll(platform, "/", "_"))
}

var platforms = []string{"darwin/amd64", "darwin/arm64", "linux/amd64", "linux/arm64"}

func TestReleaseHasEveryPlatform(t *testing.T) {
	r := readRelease(t)
	if len(r.sums) != 2*len(platforms) {
		t.Errorf("checksums.txt has %d files: want an archive and a bill of materials for each of %d platforms", len(r.sums), len(platforms))
	}
	for _, platform := range platforms {
		t.Run(platform, func(t *testing.T) {
			inside := unpack(t, r.file(t, r.archive(platform)))
			for _, name := range []string{
				"LICENSE", "README.md", "completions/holdfast.bash", "completions/holdfast.zsh", "completions/holdfast.fish",
			} {
				if !bytes.Contains(inside[name], []byte(map[bool]string{true: "Apache License", false: "holdfast"}[name == "LICENSE"])) {
					t.Errorf("%s: not in the archive, or something else", name)
				}
			}
			checkExecutable(t, inside["holdfast"], platform, r.commit)
			r.checkBeside(t, inside, platform)
			checkBill(t, r.file(t, strings.Replace(r.archive(platform), ".tar.gz", ".cdx.json", 1)))
		})
	}
}

// checkBeside wants what containers run beside an executable for another system than Linux, and nothing else.
func (r released) checkBeside(t *testing.T, inside map[string][]byte, platform string) {
	t.Helper()
	system, arch, _ := strings.Cut(platform, "/")
	var want, found []string
	if system != "linux" {
		want = []string{self.Beside(arch)}
	}
	for name := range inside {
		if strings.HasPrefix(name, "holdfast-linux-") {
			found = append(found, name)
		}
	}
	if !slices.Equal(found, want) {
		t.Fatalf("for containers it has %q, want %q", found, want)
	}
	for _, name := range found {
		checkExecutable(t, inside[name], "linux/"+arch, r.commit)
		if released := unpack(t, r.file(t, r.archive("linux/"+arch)))["holdfast"]; !bytes.Equal(inside[name], released) {
			t.Errorf("%s is another executable than the one that is released for linux/%s", name, arch)
		}
	}
}

func unpack(t *testing.T, archive []byte) map[string][]byte {
	t.Helper()
	zipped, err := gzip.NewReader(bytes.NewReader(archive))
	must(t, err)
	inside := map[string][]byte{}
	for list := tar.NewReader(zipped); ; {
		header, err := list.Next()
		if errors.Is(err, io.EOF) {
			return inside
		}
		must(t, err)
		inside[header.Name], err = io.ReadAll(list)
		must(t, err)
		if strings.HasPrefix(header.Name, "holdfast") && header.Mode&0o111 == 0 {
			t.Errorf("%s cannot be run", header.Name)
		}
	}
}

// checkExecutable wants an executable that runs alone on its platform, and that knows the commit it was made of.
func checkExecutable(t *testing.T, executable []byte, platform, commit string) {
	t.Helper()
	system, arch, _ := strings.Cut(platform, "/")
	if system == "linux" {
		must(t, self.Check(bytes.NewReader(executable), arch))
	} else {
		file, err := macho.NewFile(bytes.NewReader(executable))
		must(t, err)
		if want := map[string]macho.Cpu{"amd64": macho.CpuAmd64, "arm64": macho.CpuArm64}[arch]; file.Cpu != want {
			t.Errorf("it is for %s", file.Cpu)
		}
	}
	info, err := buildinfo.Read(bytes.NewReader(executable))
	must(t, err)
	built := map[string]string{}
	for _, s := range info.Settings {
		built[s.Key] = s.Value
	}
	for key, want := range map[string]string{
		"CGO_ENABLED": "0", "-trimpath": "true", "GOOS": system, "GOARCH": arch, "vcs.revision": commit,
	} {
		if built[key] != want {
			t.Errorf("it was built with %s=%s, want %s", key, built[key], want)
		}
	}
}

// checkBill wants a bill of materials that names what holdfast is made of.
func checkBill(t *testing.T, text []byte) {
	t.Helper()
	var bill struct {
		BomFormat  string
		Components []struct{ Name, Version string }
	}
	must(t, json.Unmarshal(text, &bill))
	if bill.BomFormat != "CycloneDX" || len(bill.Components) < 50 {
		t.Errorf("a %q with %d components", bill.BomFormat, len(bill.Components))
	}
	for _, module := range []string{"k8s.io/client-go", "sigs.k8s.io/kind", "github.com/spf13/cobra"} {
		if !slices.ContainsFunc(bill.Components, func(c struct{ Name, Version string }) bool { return c.Name == module && c.Version != "" }) {
			t.Errorf("%s is not among its components", module)
		}
	}
}

// What krew and Homebrew install is what was published.
func TestReleaseManifests(t *testing.T) {
	r := readRelease(t)
	var plugin struct {
		Kind     string
		Metadata struct{ Name string }
		Spec     struct {
			Version   string
			Platforms []struct {
				Bin, URI, SHA256 string
				Files            []any // none: krew installs all that the archive has
				Selector         struct {
					MatchLabels struct{ OS, Arch string }
				}
			}
		}
	}
	must(t, yaml.Unmarshal(readFile(t, "krew/holdfast.yaml"), &plugin))
	if plugin.Kind != "Plugin" || plugin.Metadata.Name != "holdfast" || plugin.Spec.Version != "v"+r.version {
		t.Errorf("krew: %+v", plugin)
	}
	cask := string(readFile(t, "homebrew/Casks/holdfast.rb"))
	var found []string
	for _, p := range plugin.Spec.Platforms {
		platform := p.Selector.MatchLabels.OS + "/" + p.Selector.MatchLabels.Arch
		found = append(found, platform)
		name := r.archive(platform)
		if p.Bin != "holdfast" || len(p.Files) > 0 || p.SHA256 != r.sums[name] || !strings.HasSuffix(p.URI, "/holdfast-ha/holdfast/releases/download/"+r.tag+"/"+name) {
			t.Errorf("krew, %s: %+v", platform, p)
		}
		if !strings.Contains(cask, r.sums[name]) {
			t.Errorf("the cask does not have the sum of %s", name)
		}
	}
	if slices.Sort(found); !slices.Equal(found, platforms) {
		t.Errorf("krew installs on %v", found)
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if !strings.Contains(cask, shell+`_completion "completions/holdfast.`+shell+`"`) {
			t.Errorf("the cask has no completion for %s", shell)
		}
	}
}

// The executable for this machine runs, and says which release it is.
func TestReleaseRuns(t *testing.T) {
	r := readRelease(t)
	executable := filepath.Join(t.TempDir(), "kubectl-holdfast")
	must(t, os.WriteFile(executable, unpack(t, r.file(t, r.archive(runtime.GOOS+"/"+runtime.GOARCH)))["holdfast"], 0o755))
	out, err := exec.CommandContext(t.Context(), executable, "version", "--json").Output()
	must(t, err)
	var version struct{ Version, Commit, Committed string }
	must(t, json.Unmarshal(out, &version))
	if version.Version != "v"+r.version || version.Commit != r.commit || version.Committed == "" {
		t.Errorf("it says %s; the release is %s of %s", out, r.version, r.commit)
	}
	if out, err := exec.CommandContext(t.Context(), executable, "--help").Output(); err != nil || !bytes.Contains(out, []byte("kubectl holdfast [command]")) {
		t.Errorf("as a plugin of kubectl: %v\n%s", err, out)
	}
}
