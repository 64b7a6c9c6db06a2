package nodeimage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// distribution is where the packages of a root file system are downloaded from.
type distribution struct {
	mirror     string
	suite      string
	components string // separated by commas, as debootstrap takes them
	keyring    string // empty: debootstrap's own
	proxy      string // empty: none
}

// source is one entry of apt's configuration: a mirror, and the suites and components to use from it.
type source struct {
	uri        string
	suites     []string
	components []string
	keyring    string
}

// findDistribution takes the mirror from this machine's apt configuration. A Debian mirror has every release, so a Debian
// host of any release can provide debianSuite. A host of another distribution, such as Ubuntu, provides its own release.
func (h host) findDistribution(ctx context.Context) (distribution, error) {
	about := osRelease(h.text("/etc/os-release"))
	sources, err := h.aptSources()
	if err != nil {
		return distribution{}, err
	}
	own := about["VERSION_CODENAME"]
	i := slices.IndexFunc(sources, func(s source) bool {
		return slices.Contains(s.suites, own) && slices.Contains(s.components, "main")
	})
	if own == "" || i < 0 {
		return distribution{}, fmt.Errorf("find a package mirror: apt on this machine (%s) has no http or https source for its own release %q; "+
			"a node image is built from Debian's or Ubuntu's packages", about["ID"], own)
	}
	d := distribution{mirror: sources[i].uri, suite: debianSuite, components: "main", keyring: sources[i].keyring, proxy: h.aptProxy(ctx)}
	if about["ID"] != "debian" {
		d.suite, d.components = own, "main,universe"
	}
	return d, nil
}

// aptSources reads both formats of apt's configuration.
func (h host) aptSources() ([]source, error) {
	files := []string{"/etc/apt/sources.list"}
	for _, pattern := range []string{"/etc/apt/sources.list.d/*.list", "/etc/apt/sources.list.d/*.sources"} {
		more, err := h.glob(pattern)
		if err != nil {
			return nil, fmt.Errorf("find apt's sources: %w", err)
		}
		files = append(files, more...)
	}
	var sources []source
	for _, file := range files {
		text := h.text(file)
		if strings.HasSuffix(file, ".sources") || strings.Contains(text, "\nURIs:") {
			sources = append(sources, stanzas(text)...)
		} else {
			sources = append(sources, oneLineSources(text)...)
		}
	}
	return slices.DeleteFunc(sources, func(s source) bool {
		return !strings.HasPrefix(s.uri, "http://") && !strings.HasPrefix(s.uri, "https://")
	}), nil
}

// oneLineSources reads lines such as "deb [signed-by=/x.gpg] URI suite component ...".
func oneLineSources(text string) []source {
	var sources []source
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		rest, isDeb := strings.CutPrefix(strings.TrimSpace(line), "deb ")
		rest = strings.TrimSpace(rest)
		if !isDeb {
			continue
		}
		var s source
		if options, after, found := strings.Cut(rest, "]"); found && strings.HasPrefix(rest, "[") {
			for _, option := range strings.Fields(strings.TrimPrefix(options, "[")) {
				if path, ok := strings.CutPrefix(option, "signed-by="); ok {
					s.keyring = path
				}
			}
			rest = after
		}
		if words := strings.Fields(rest); len(words) >= 2 {
			s.uri, s.suites, s.components = words[0], words[1:2], words[2:]
			sources = append(sources, s)
		}
	}
	return sources
}

// stanzas reads the deb822 format: paragraphs of fields, where an indented line continues the field above.
func stanzas(text string) []source {
	var sources []source
	for _, paragraph := range strings.Split(strings.ReplaceAll(text, "\r", "")+"\n", "\n\n") {
		fields := map[string][]string{}
		var key string
		for line := range strings.Lines(paragraph) {
			if strings.HasPrefix(line, "#") {
				continue
			}
			value := line
			if !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "\t") {
				key, value, _ = strings.Cut(line, ":")
				key = strings.ToLower(strings.TrimSpace(key))
			}
			fields[key] = append(fields[key], strings.Fields(value)...)
		}
		if slices.Equal(fields["enabled"], []string{"no"}) || !slices.Contains(fields["types"], "deb") {
			continue
		}
		for _, uri := range fields["uris"] {
			s := source{uri: uri, suites: fields["suites"], components: fields["components"]}
			// Signed-By may contain the key itself instead of a file name.
			if signed := fields["signed-by"]; len(signed) == 1 && strings.HasPrefix(signed[0], "/") {
				s.keyring = signed[0]
			}
			sources = append(sources, s)
		}
	}
	return sources
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
