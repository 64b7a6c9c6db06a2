package github

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const fakeDocker = `printf 'docker %s\n' "$*" >> "$RUNNER_TEMP/asked"
case "$1 $2" in
  "login --username") printf 'password %s\n' "$(cat)" >> "$RUNNER_TEMP/asked" ;;
  "buildx imagetools") if [ "$3" = inspect ]; then echo sha256:abc; fi ;;
esac
`

// fakeRelease answers gh with the files of a release.
const fakeRelease = `[ "$*" = "release download v1.2.3 --repo o/r --pattern holdfast_1.2.3_linux_arm64.tar.gz --pattern checksums.txt" ]
cp "$RELEASE"/* .
`

// An image is pushed only of what the release's sums vouch for.
func TestPushImage(t *testing.T) {
	const name = "holdfast_1.2.3_linux_arm64.tar.gz"
	archive := string(releaseArchive(t, "holdfast.local/holdfast:abc"))
	for title, test := range map[string]struct {
		sums  string
		code  int
		asked string
	}{
		"as released": {sumOf(archive) + "  " + name + "\n" + sumOf("x") + "  another\n", 0, `docker load --input holdfast.tar
docker tag holdfast.local/holdfast:abc registry.example.com/team/holdfast:v1.2.3-arm64
docker login --username u --password-stdin registry.example.com
password secret
docker push registry.example.com/team/holdfast:v1.2.3-arm64
`},
		"a wrong sum": {sumOf("x") + "  " + name + "\n", 1, ""},
		"no sum":      {sumOf(archive) + "  another\n", 1, ""},
	} {
		t.Run(title, func(t *testing.T) {
			release := t.TempDir()
			must(t, os.WriteFile(filepath.Join(release, name), []byte(archive), 0o644))
			must(t, os.WriteFile(filepath.Join(release, "checksums.txt"), []byte(test.sums), 0o644))
			r := newRunner(t, "GITHUB_REF_NAME=v1.2.3", "ARCH=arm64", "REPOSITORY=registry.example.com/team/holdfast", "LOGIN=u", "PASSWORD=secret",
				"IMAGE=registry.example.com/team/holdfast:v1.2.3", "RELEASE="+release)
			r.program("docker", fakeDocker)
			r.program("gh", fakeRelease)
			code, said := r.run(filepath.Join(scriptsDir, "push-image.sh"))
			if diff := cmp.Diff(test.asked, r.read(filepath.Join(r.dir, "asked"))); diff != "" || (code != 0) != (test.code != 0) {
				t.Errorf("ended with %d: %s\n(-want +got):\n%s", code, said, diff)
			}
		})
	}
}

func TestJoinImages(t *testing.T) {
	r := newRunner(t, "REPOSITORY=registry.example.com/team/holdfast", "LOGIN=u", "PASSWORD=secret", "IMAGE=registry.example.com/team/holdfast:v1.2.3")
	r.program("docker", fakeDocker)
	code, said := r.run(filepath.Join(scriptsDir, "join-images.sh"))
	const image = "registry.example.com/team/holdfast:v1.2.3"
	want := "docker login --username u --password-stdin registry.example.com\npassword secret\n" +
		"docker buildx imagetools create --tag " + image + " " + image + "-amd64 " + image + "-arm64\n" +
		"docker buildx imagetools inspect " + image + " --format {{.Manifest.Digest}}\n"
	if diff := cmp.Diff([]string{want, "digest=sha256:abc\n"}, []string{r.read(filepath.Join(r.dir, "asked")), r.read(r.output)}); diff != "" || code != 0 {
		t.Errorf("ended with %d: %s\n(-want +got):\n%s", code, said, diff)
	}
}

// fakeTap answers gh with the cask of a release, and for a tap that has the cask HELD, or none. It fails at the command FAILS.
const fakeTap = `printf '%s: %s\n' "$GH_TOKEN" "$*" >> "$RUNNER_TEMP/asked"
if [ "$1 $2" = "$FAILS" ]; then exit 1; fi
case "$1 $2" in
  "release download") printf 'cask "holdfast"\n' > holdfast.rb ;;
  "api repos/o/homebrew-tap/contents/Casks/holdfast.rb") if [ -z "$HELD" ]; then echo '{"status":"404"}'; exit 1; fi; echo "$HELD" ;;
  "api --method") ;;
  *) exit 1 ;;
esac
`

// The tap has the releases that are for all users, and no pre-release.
func TestPushCask(t *testing.T) {
	const (
		download = "g: release download v1.2.3 --repo o/r --pattern holdfast.rb\n"
		look     = "t: api repos/o/homebrew-tap/contents/Casks/holdfast.rb --jq .sha\n"
		put      = "t: api --method PUT repos/o/homebrew-tap/contents/Casks/holdfast.rb --silent --raw-field message=holdfast v1.2.3 --raw-field content="
	)
	content := base64.StdEncoding.EncodeToString([]byte("cask \"holdfast\"\n"))
	for title, test := range map[string]struct {
		env   []string
		asked string
		code  int
		said  string
	}{
		"the first release": {nil, download + look + put + content + "\n", 0, "Homebrew installs v1.2.3 now: it is in o/homebrew-tap\n"},
		"the next release": {
			[]string{"HELD=abc"}, download + look + put + content + " --raw-field sha=abc\n", 0, "Homebrew installs v1.2.3 now: it is in o/homebrew-tap\n",
		},
		"a pre-release":           {[]string{"GITHUB_REF_NAME=v1.2.3-rc.1"}, "", 0, "the tap stays as it is: v1.2.3-rc.1 is a pre-release\n"},
		"a tap that is not ours":  {[]string{"TAP_TOKEN="}, "", 0, "the tap stays as it is: there is no token for it\n"},
		"a release without it":    {[]string{"FAILS=release download"}, download, 1, ""},
		"a tap that is read-only": {[]string{"FAILS=api --method"}, download + look + put + content + "\n", 1, ""},
	} {
		t.Run(title, func(t *testing.T) {
			r := newRunner(t, append([]string{"GITHUB_REF_NAME=v1.2.3", "GH_TOKEN=g", "TAP=o/homebrew-tap", "TAP_TOKEN=t", "HELD=", "FAILS="}, test.env...)...)
			r.program("gh", fakeTap)
			code, said := r.run(filepath.Join(scriptsDir, "push-cask.sh"))
			got := []string{r.read(filepath.Join(r.dir, "asked")), said}
			if diff := cmp.Diff([]string{test.asked, test.said}, got); diff != "" || code != test.code {
				t.Errorf("ended with %d, want %d (-want +got):\n%s", code, test.code, diff)
			}
		})
	}
}

// goreleaser works on a release that is still a draft, so it must not tell anybody about it.
func TestTheTapWaitsForTheRelease(t *testing.T) {
	casks := readGoreleaser(t).Casks
	if len(casks) != 1 || casks[0].SkipUpload != true || casks[0].Repository["token"] != "" {
		t.Fatalf("goreleaser pushes a cask: %+v", casks)
	}
	workflow := readScript(t, ".github/workflows/release.yml")
	if tap := "TAP: " + casks[0].Repository["owner"] + "/" + casks[0].Repository["name"] + "\n"; !strings.Contains(workflow, tap) {
		t.Errorf("the workflow does not push to the tap that goreleaser knows: %q", tap)
	}
	if strings.Count(workflow, "secrets.HOMEBREW_TAP_TOKEN") != 1 || !strings.Contains(workflow, "  tap: ") {
		t.Error("another job than tap is given the token of the tap")
	}
}
