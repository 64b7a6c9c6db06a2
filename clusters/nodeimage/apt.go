package nodeimage

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// distribution is where the packages of a root file system are downloaded from.
type distribution struct {
	mirror     string
	suite      string
	components string // separated by commas, as mmdebstrap takes them
	keyring    string // empty: all keys that apt trusts
	proxy      string // empty: none
}

// findDistribution takes the mirror from this machine's apt configuration. A Debian mirror has every release, so a Debian
// host of any release can provide debianSuite. A host of another distribution, such as Ubuntu, provides its own release.
func (h host) findDistribution(ctx context.Context) (distribution, error) {
	about := osRelease(h.text("/etc/os-release"))
	own := about["VERSION_CODENAME"]
	mirror, keyring, err := h.mirror(ctx, own)
	if mirror == "" {
		return distribution{}, errors.Join(fmt.Errorf("find a package mirror: apt on this machine (%s) has no http or https source for its own "+
			"release %q; a node image is built from Debian's or Ubuntu's packages", about["ID"], own), err)
	}
	d := distribution{mirror: mirror, suite: debianSuite, components: "main", keyring: keyring, proxy: h.aptProxy(ctx)}
	if about["ID"] != "debian" {
		d.suite, d.components = own, "main,universe"
	}
	return d, nil
}

// mirror is the first http or https mirror that apt uses for a release, and the keyring that apt checks it with. The keyring is
// empty if apt's entry names none, because apt then uses all keys that it trusts. The mirror is empty if there is none.
func (h host) mirror(ctx context.Context, release string) (uri, keyring string, err error) {
	listed, err := h.run(ctx, call{name: "apt-get", args: []string{
		"indextargets", "--no-release-info", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT) $(SOURCESENTRY)", "Created-By: Packages",
	}})
	for line := range strings.Lines(string(listed)) {
		words := strings.Fields(line)
		if len(words) == 4 && words[1] == release && words[2] == "main" && strings.HasPrefix(words[0], "http") {
			file, _, _ := strings.Cut(words[3], ":") // the number of the entry follows
			return words[0], h.keyring(file, words[0]), nil
		}
	}
	return "", "", err
}

var signedBy = regexp.MustCompile(`(?i)signed-by[:=]\s*(/[^\s\]]+)`)

// keyring is the file that a file of apt's sources names for a mirror; empty if none. An entry may also contain the key itself.
func (h host) keyring(file, mirror string) string {
	entries := "\n"
	if strings.HasSuffix(file, ".sources") {
		entries = "\n\n"
	}
	for entry := range strings.SplitSeq(h.text(file), entries) {
		found := signedBy.FindStringSubmatch(entry)
		if found != nil && strings.Contains(entry, strings.TrimSuffix(mirror, "/")) && !strings.HasPrefix(entry, "#") {
			return found[1]
		}
	}
	return ""
}

// aptProxy is the proxy that apt uses; empty if none.
func (h host) aptProxy(ctx context.Context) string {
	out, err := h.run(ctx, call{name: "apt-config", args: []string{"dump", "--format", "%f %v%n", "Acquire::http::Proxy"}})
	if err != nil {
		return ""
	}
	_, proxy, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	if proxy == "DIRECT" {
		return ""
	}
	return proxy
}

// need installs packages if a program is missing. If it may not install, it returns an error with the command that does.
func (h host) need(ctx context.Context, o Options, what string, there func() bool, names ...string) error {
	if there() {
		return nil
	}
	command := "apt-get install --no-install-recommends " + strings.Join(names, " ")
	if _, err := h.lookPath("apt-get"); err != nil {
		return fmt.Errorf("%s is missing; install it (Debian packages: %s), or load a kindest/node image into the container engine",
			what, strings.Join(names, " "))
	}
	if o.NoInstall || h.uid != 0 {
		return fmt.Errorf("%s is missing; as root: %s", what, command)
	}
	env := []string{"DEBIAN_FRONTEND=noninteractive", "NEEDRESTART_SUSPEND=1", "LC_ALL=C.UTF-8"}
	// An interrupted dpkg needs manual repair, so the installation continues after an interrupt.
	whole := context.WithoutCancel(ctx)
	_, update := h.run(whole, call{name: "apt-get", args: []string{"-q", "update"}, env: env})
	args := append([]string{"-q", "-o", "DPkg::Lock::Timeout=120", "install", "--yes", "--no-install-recommends"}, names...)
	if _, err := h.run(whole, call{name: "apt-get", args: args, env: env}); err != nil {
		return fmt.Errorf("install %s: %w", strings.Join(names, " "), errors.Join(err, update))
	}
	if !there() {
		return fmt.Errorf("%s is still missing after: %s", what, command)
	}
	return context.Cause(ctx)
}

func (h host) text(path string) string {
	content, _ := h.readFile(path) // an unreadable file counts as empty
	return string(content)
}

// osRelease reads /etc/os-release.
func osRelease(text string) map[string]string {
	about := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			about[key] = strings.Trim(value, `"'`)
		}
	}
	return about
}
