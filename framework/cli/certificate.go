package cli

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/reports/certificate"
)

// issue writes the certificate of what was recorded, and makes the exit code of it.
func (c *certification) issue() error {
	folder := func(part string) string { return filepath.Join(c.base.Dir, part) }
	doc, err := certificate.Assemble(certificate.Input{
		Dir: c.base.Dir, Before: folder(beforePart), Upgrade: folder(upgradePart), After: folder(afterPart),
		ID: c.base.RunID, Issued: time.Now(), Holdfast: c.base.Version, From: c.releases[0], To: c.releases[1],
		Machine: c.machine(), Seed: c.base.Seed, Reproduce: c.reproduce(), Planted: c.plant,
		Profiles:     profileInputs(c.profiles),
		Deprecations: certificate.Deprecations(folder(beforePart), folder(afterPart)),
	})
	if err != nil {
		return besides(c.broken, err)
	}
	doc.Skipped = append(doc.Skipped, notAsked(scenario.Profiles, c.profiles)...)
	err = certificate.Write(c.base.Dir, doc)
	var b strings.Builder
	for _, p := range doc.Profiles {
		fmt.Fprintf(&b, "%s: %s\n", p.Name, p.Result)
	}
	for _, why := range doc.Reasons {
		fmt.Fprintf(&b, "  %s\n", why)
	}
	if err == nil {
		fmt.Fprintf(&b, "certificate: %s\n", filepath.Join(c.base.Dir, certificate.HTMLFile))
	}
	_, said := io.WriteString(c.out, b.String())
	outcome := certified(doc)
	if c.broken != nil && ExitCode(outcome) != ExitViolated { // the part's run.json, which the certificate is made of, lacks it
		outcome = c.broken
	}
	return besides(outcome, err, said)
}

// certified makes the exit code of a certificate. What was not asked for is no reason to fail.
func certified(doc *certificate.Certificate) error {
	switch {
	case doc.Result == certificate.Certified:
		return nil
	case doc.Broken():
		return codeError{ExitViolated, errors.New("not certified: see the reasons above")}
	}
	return codeError{ExitUnknown, errors.New("not certified: evidence is missing, see the reasons above")}
}

func (c *certification) machine() certificate.Machine {
	m := certificate.Machine{Cores: runtime.NumCPU(), Arch: runtime.GOARCH, Engine: c.engine}
	var host unix.Utsname
	if unix.Uname(&host) == nil {
		m.Kernel = unix.ByteSliceToString(host.Release[:])
	}
	return m
}

// reproduce is the command that does all of it again.
func (c *certification) reproduce() string {
	words := []string{"holdfast", "certify", "--from", c.from, "--to", c.to, "--profile", strings.Join(c.certifyFlags.profiles, ","), "--seed", fmt.Sprint(c.base.Seed)}
	if c.plant != "" {
		words = append(words, "--plant", c.plant)
	}
	if c.timings != string(clusters.Stock) {
		words = append(words, "--timings", c.timings)
	}
	if c.proxyMode != "" {
		words = append(words, "--proxy-mode", c.proxyMode)
	}
	return strings.Join(words, " ")
}

// notAsked lists the scenarios of profiles that were left out.
func notAsked(all, asked []scenario.Profile) (left []certificate.NotTried) {
	tried := map[string]bool{}
	for _, s := range scenariosOf(asked) {
		tried[s.Name] = true
	}
	for _, p := range all {
		for _, s := range p.Scenarios() {
			if !tried[s.Name] {
				tried[s.Name] = true
				left = append(left, certificate.NotTried{Name: s.Name, Why: "profile " + p.Name + " was not asked for"})
			}
		}
	}
	return left
}

// profileInputs are the profiles that are to be certified, in the certificate's words.
func profileInputs(profiles []scenario.Profile) (all []certificate.ProfileInput) {
	for _, p := range profiles {
		in := certificate.ProfileInput{Name: p.Name}
		for _, f := range p.Features {
			feature := certificate.FeatureInput{Name: f.Name}
			for _, s := range f.Scenarios {
				feature.Scenarios = append(feature.Scenarios, certificate.ScenarioInput{Name: s.Name, Claim: s.Claim})
			}
			in.Features = append(in.Features, feature)
		}
		all = append(all, in)
	}
	return all
}
