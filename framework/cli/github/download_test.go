package github

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// releaseArchive is an archive of a release, with an executable that says this.
func releaseArchive(t *testing.T, says string) []byte {
	t.Helper()
	var all bytes.Buffer
	zipped := gzip.NewWriter(&all)
	out := tar.NewWriter(zipped)
	for name, text := range map[string]string{"LICENSE": "...", "holdfast": "#!/bin/sh\necho " + says + "\n", "holdfast-linux-arm64": "linux"} {
		must(t, out.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text))}))
		_, err := out.Write([]byte(text))
		must(t, err)
	}
	must(t, out.Close())
	must(t, zipped.Close())
	return all.Bytes()
}

func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// releases is a server with the release v1.2.3, which has these files.
func releases(t *testing.T, files map[string]string) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, ok := strings.CutPrefix(r.URL.Path, "/o/holdfast/releases/download/v1.2.3/")
		text, there := files[name]
		if !ok || !there {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(text)) // an error is the client's
	}))
	t.Cleanup(server.Close)
	return server
}

func TestActionDownload(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("there is no curl on this machine: install it (apt-get install curl) to try the action's download, which is not tried here")
	}
	const name = "holdfast_1.2.3_linux_amd64.tar.gz"
	good := string(releaseArchive(t, "released"))
	sums := sumOf("another") + "  holdfast_1.2.3_linux_arm64.tar.gz\n" + sumOf(good) + "  " + name + "\n"
	whole := map[string]string{name: good, "checksums.txt": sums}
	const mac = "holdfast_1.2.3_darwin_arm64.tar.gz"
	forMac := map[string]string{mac: good, "checksums.txt": sumOf(good) + "  " + mac + "\n"}
	for title, test := range map[string]struct {
		env   []string // beside a Linux runner on X64, and the tag v1.2.3 of the action
		files map[string]string
		code  int
		said  string // a part
		built bool   // it is left to build.sh
	}{
		"the release of the action":  {nil, whole, 0, "holdfast is release v1.2.3, downloaded from ", false},
		"the release that is asked":  {[]string{"VERSION=v1.2.3", "REF=main"}, whole, 0, "holdfast is release v1.2.3", false},
		"the release for a Mac":      {[]string{"RUNNER_OS=macOS", "RUNNER_ARCH=ARM64"}, forMac, 0, "holdfast is release v1.2.3", false},
		"a wrong sum":                {nil, map[string]string{name: string(releaseArchive(t, "evil")), "checksums.txt": sums}, 1, "::error title=holdfast v1.2.3 is not what was published::" + name + " has the sum ", false},
		"no sum":                     {nil, map[string]string{name: good, "checksums.txt": sumOf(good) + "  " + name + ".asc\n"}, 1, "checksums.txt says ''", false},
		"cut off":                    {nil, map[string]string{name: good[:100], "checksums.txt": sums}, 1, "Nothing of it is run, and nothing is built in its place", false},
		"no such release":            {[]string{"VERSION=v9.9.9"}, whole, 0, "holdfast is built from source: release v9.9.9 has no checksums.txt, or it cannot be had: curl: (22) ", true},
		"no archive for this runner": {nil, map[string]string{"checksums.txt": sums}, 0, "release v1.2.3 has no " + name, true},
		"no release for this runner": {[]string{"RUNNER_OS=Windows"}, whole, 0, "no release has an executable for Windows on X64", true},
		"a branch":                   {[]string{"REF=main"}, whole, 0, "holdfast is built from source: main is no release", true},
		"a commit":                   {[]string{"VERSION=19d2ad4"}, whole, 0, "19d2ad4 is no release", true},
		"what only begins like one":  {[]string{"VERSION=v1.2.3/../../evil"}, whole, 0, "is no release", true},
		"a local copy":               {[]string{"REF=", "REPOSITORY="}, whole, 0, "a local copy of this action is no release", true},
		"a tag of the caller's":      {[]string{"REPOSITORY="}, whole, 0, "is no release", true},
		"no server":                  {[]string{"GITHUB_SERVER_URL=http://127.0.0.1:1"}, nil, 0, "it cannot be had: curl: (7) ", true},
	} {
		t.Run(title, func(t *testing.T) {
			r := newRunner(t, append([]string{
				"VERSION=", "REF=v1.2.3", "REPOSITORY=o/holdfast", "RUNNER_OS=Linux", "RUNNER_ARCH=X64", "GITHUB_SERVER_URL=" + releases(t, test.files).URL,
			}, test.env...)...)
			code, said := r.run(filepath.Join(actionDir, "download.sh"))
			if code != test.code || !strings.Contains(said, test.said) {
				t.Errorf("ended with %d, want %d and %q: %s", code, test.code, test.said, said)
			}
			if strings.Contains(said, "built from source") != test.built {
				t.Errorf("whether it is built from source is not said: %s", said)
			}
			const program = "program=DIR/holdfast/v1.2.3/holdfast\n"
			if test.code != 0 || test.built {
				if told := r.read(r.output); told != "" {
					t.Errorf("told %q", told)
				}
				if _, err := os.Stat(filepath.Join(r.dir, "holdfast", "v1.2.3", "holdfast")); err == nil {
					t.Error("the executable is there")
				}
				return
			}
			_, err := os.Stat(filepath.Join(r.dir, "holdfast", "v1.2.3", "holdfast-linux-arm64"))
			if onMac := slices.Contains(test.env, "RUNNER_OS=macOS"); onMac != (err == nil) {
				t.Errorf("the executable for containers, on a Mac %t: %v", onMac, err)
			}
			out, err := exec.CommandContext(t.Context(), filepath.Join(r.dir, "holdfast", "v1.2.3", "holdfast")).Output()
			if err != nil || string(out) != "released\n" || r.read(r.output) != program {
				t.Errorf("told %q, and the executable says %q, %v", r.read(r.output), out, err)
			}
		})
	}
}

// The action asks for the names that goreleaser gives, on the platforms that it builds for.
func TestActionDownloadsWhatIsReleased(t *testing.T) {
	config := readGoreleaser(t)
	if len(config.Archives) == 0 || config.Checksum.NameTemplate != "checksums.txt" {
		t.Fatalf("%+v", config)
	}
	script := readScript(t, filepath.Join(actionDir, "download.sh"))
	for _, a := range config.Archives {
		if want := `name="holdfast_${release#v}_$platform.tar.gz"`; !strings.Contains(script, want) || a.NameTemplate != "holdfast_{{ .Version }}_{{ .Os }}_{{ .Arch }}" {
			t.Errorf("goreleaser calls an archive %q, and the action asks for another name", a.NameTemplate)
		}
	}
	built := 0
	for _, b := range config.Builds {
		built += len(b.Goos) * len(b.Goarch)
		for _, system := range b.Goos {
			for _, arch := range b.Goarch {
				if !strings.Contains(script, "platform="+system+"_"+arch+" ") {
					t.Errorf("the action does not ask for %s/%s", system, arch)
				}
			}
		}
	}
	if asked := regexp.MustCompile(`platform=(\w+) `).FindAllStringSubmatch(script, -1); len(asked) != built {
		t.Errorf("the action knows %d platforms, and %d are released", len(asked), built)
	}
}

// goreleaser is what tests look at of its configuration.
type goreleaser struct {
	Builds   []struct{ Goos, Goarch []string }
	Archives []struct {
		NameTemplate string `json:"name_template"`
	}
	Checksum struct {
		NameTemplate string `json:"name_template"`
	}
	Casks []struct {
		Repository map[string]string
		SkipUpload any `json:"skip_upload"`
	} `json:"homebrew_casks"`
}

func readGoreleaser(t *testing.T) (config goreleaser) {
	t.Helper()
	text, err := os.ReadFile(".github/goreleaser.yaml")
	must(t, err)
	must(t, yaml.Unmarshal(text, &config))
	return config
}
