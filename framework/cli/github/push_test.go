package github

import (
	"os"
	"path/filepath"
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
