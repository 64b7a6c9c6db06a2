//go:build e2e

package github

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/base/self"
)

// releaseDir is where `make release-check` makes a release.
const releaseDir = "bin/release/"

// Each archive has the published sum and an executable of the release's commit that runs alone on its platform. krew and Homebrew install these archives.
func TestReleaseHasEveryPlatform(t *testing.T) {
	var meta struct{ Version, Commit, Tag string }
	must(t, json.Unmarshal([]byte(readText(t, releaseDir+"metadata.json")), &meta))
	sums := readText(t, releaseDir+"checksums.txt")
	krew, cask := readText(t, releaseDir+"krew/holdfast.yaml"), readText(t, releaseDir+"homebrew/Casks/holdfast.rb")
	for _, platform := range []string{"darwin_amd64", "darwin_arm64", "linux_amd64", "linux_arm64"} {
		name := "holdfast_" + meta.Version + "_" + platform + ".tar.gz"
		archive := readText(t, releaseDir+name)
		hash := sha256.Sum256([]byte(archive))
		sum := hex.EncodeToString(hash[:])
		if !strings.Contains(sums, sum+"  "+name+"\n") || !strings.Contains(krew, sum) || !strings.Contains(krew, "/download/"+meta.Tag+"/"+name) || !strings.Contains(cask, sum) {
			t.Errorf("%s has the sum %s: want it in checksums.txt, in krew's manifest and in the cask", name, sum)
		}
		inside := unpack(t, archive)
		for _, file := range []string{"LICENSE", "README.md", "completions/holdfast.bash", "completions/holdfast.zsh", "completions/holdfast.fish"} {
			if len(inside[file]) == 0 {
				t.Errorf("%s lacks %s", name, file)
			}
		}
		system, arch, _ := strings.Cut(platform, "_")
		if system == "linux" {
			must(t, self.Check(bytes.NewReader(inside["holdfast"]), arch))
		}
		info, err := buildinfo.Read(bytes.NewReader(inside["holdfast"]))
		must(t, err)
		built := map[string]string{}
		for _, s := range info.Settings {
			built[s.Key] = s.Value
		}
		if built["GOOS"] != system || built["GOARCH"] != arch || built["CGO_ENABLED"] != "0" || built["vcs.revision"] != meta.Commit ||
			!bytes.Contains(inside["holdfast"], []byte("v"+meta.Version)) {
			t.Errorf("%s: built with %v, want commit %s and version v%s", name, built, meta.Commit, meta.Version)
		}
		if bill := readText(t, releaseDir+strings.Replace(name, ".tar.gz", ".cdx.json", 1)); !strings.Contains(bill, `"CycloneDX"`) || !strings.Contains(bill, "k8s.io/client-go") {
			t.Errorf("%s has no bill of materials", name)
		}
	}
}

func unpack(t *testing.T, archive string) map[string][]byte {
	t.Helper()
	zipped, err := gzip.NewReader(strings.NewReader(archive))
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
	}
}
