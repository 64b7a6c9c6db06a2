package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/reports/certificate"
)

// A certification, from the command line to the exit code of its process. Every certification writes a certificate.
func TestCertifyIsAProcess(t *testing.T) {
	for name, test := range map[string]struct {
		args     string
		code     int
		out      []string
		err      string
		profiles []string // with their results
		skipped  []string
		again    string
	}{
		"nothing can be certified": {
			args: "--provider hamlet --seed 5", code: exit.Unknown,
			out: []string{
				": v1.36.3 to v1.37.0, about 2m30s", "[1/3] chaos/one", "[2/3] upgrade/in-place", "\nbefore: 0 scenarios held, 0 violated, 1 unknown",
				"\nCore: not certified\n", "nothing is known about the upgrade itself",
			},
			err: "holdfast: not certified: evidence is missing", profiles: []string{"Core not certified"},
			skipped: []string{"chaos/two: profile Extended was not asked for"},
			again:   "holdfast certify --seed 5 --from v1.36.3 --provider hamlet --to v1.37.0",
		},
		"both profiles, and a plant": {
			args: "--provider hamlet --seed 5 --profile extended,core --plant no-prestop", code: exit.Unknown,
			profiles: []string{"Core not certified", "Extended not certified"},
			again:    "holdfast certify --seed 5 --from v1.36.3 --plant no-prestop --profile extended --profile core --provider hamlet --to v1.37.0",
		},
		"no cluster": {
			args: "--provider nowhere --seed 5", code: exit.Unknown, out: []string{"FAILED in 0s: provision a cluster: no engine"},
			profiles: []string{"Core not certified"}, skipped: []string{"chaos/two: profile Extended was not asked for"},
			again: "holdfast certify --seed 5 --from v1.36.3 --provider nowhere --to v1.37.0",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			out, log, code := process(t, "certify --from v1.36.3 --to v1.37.0 "+test.args+" --artifacts "+dir)
			if code != test.code || !strings.Contains(log, test.err) {
				t.Errorf("exit code %d, want %d; standard error\n%s\nwant %q", code, test.code, log, test.err)
			}
			for _, want := range append(test.out, "\ncertificate: "+dir) {
				if !strings.Contains(out, want) {
					t.Errorf("said\n%s\nwant %q in it", out, want)
				}
			}
			if strings.Contains(out, "[3/3]") {
				t.Error("after an upgrade that never was, something was tried")
			}
			doc, err := certificate.Read(filepath.Join(dir, runfolder.LastAttemptName))
			if err != nil {
				t.Fatal(err)
			}
			var profiles, skipped []string
			for _, p := range doc.Profiles {
				profiles = append(profiles, p.Name+" "+string(p.Result))
			}
			for _, s := range doc.Skipped {
				skipped = append(skipped, s.Name+": "+s.Why)
			}
			if diff := cmp.Diff(test.profiles, profiles); diff != "" {
				t.Errorf("profiles (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.skipped, skipped); diff != "" {
				t.Errorf("skipped (-want +got):\n%s", diff)
			}
			if doc.Reproduce != test.again || doc.From.Image != "node:v1.36.3" || doc.To.Kubernetes != "v1.37.0" || doc.Machine.Kernel != "6.6.6" || doc.Machine.Cores != 6 {
				t.Errorf("reproduced by %q, from %+v to %+v on %+v", doc.Reproduce, doc.From, doc.To, doc.Machine)
			}
		})
	}
}

// An unavailable version is an error before anything is run.
func TestCertifyAsksForItsVersionsFirst(t *testing.T) {
	dir := t.TempDir()
	out, log, code := process(t, "certify --from v1.36.9 --to v1.37.0 --provider hamlet --artifacts "+dir)
	if code != exit.Failed || !strings.Contains(log, "kubernetes v1.36.9 does not exist") || strings.Contains(out, "chaos/one") {
		t.Errorf("exit code %d\n%s\n%s", code, out, log)
	}
}

// What does not fit together is refused before anything is asked. An upgrade is a write: the cluster must be named.
func TestCertifyOfARunningClusterUsage(t *testing.T) {
	for args, want := range map[string]string{
		"--upgrade ./u.sh --url http://a/":                              "name it with --context",
		"--upgrade ./u.sh --context c":                                  "--upgrade without requests",
		"--upgrade ./u.sh --context c --url http://a/ --from v1.36.3":   "the cluster is there already",
		"--upgrade ./u.sh --context c --url http://a/ --to v1.37.0":     "the cluster is there already",
		"--upgrade ./u.sh --context c --url http://a/ --recover 0s":     "want a time",
		"--upgrade ./u.sh --context c --url http://a/ --profile core":   "--profile with --upgrade", // which would be left out in silence
		"--upgrade ./u.sh --context c --url http://a/ --keep-logs":      "--keep-logs with --upgrade",
		"--upgrade ./u.sh --context c --url http://a/ --behind web":     "want NAMESPACE/NAME of a Service",
		"--from v1.36.3 --to v1.37.0 --context staging":                 "--context without a command in --upgrade",
		"--from v1.36.3 --to v1.37.0 --url http://a/":                   "--url without a command in --upgrade",
		"--upgrade ./u.sh --context c --url nonsense --kubeconfig none": "none",
	} {
		_, code, err := execute(t, append([]string{"certify"}, strings.Fields(args)...)...)
		if code != exit.BadUsage || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("certify %s: exit code %d, %v; want 4 and %q", args, code, err, want)
		}
	}
}

// An upgrade of which nothing could be shown is not begun.
func TestAnUpgradeWithoutProbesIsNotBegun(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("KUBECONFIG", filepath.Join(dir, "config"))
	for name, text := range map[string]string{
		"config": `{apiVersion: v1, kind: Config, clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}], users: [{name: u, user: {token: t}}],
contexts: [{name: c, context: {cluster: c, user: u}}]}`,
		"holdfast.yaml": "apiVersion: holdfast.dev/v1alpha1\nkind: App\napp: {manifests: [k8s/]}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, code, err := execute(t, "certify", "--context", "c", "--app", dir, "--upgrade", "touch "+filepath.Join(dir, "upgraded"))
	if code != exit.BadUsage || err == nil || !strings.Contains(err.Error(), "no probes") {
		t.Errorf("exit code %d, %v", code, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "upgraded")); err == nil {
		t.Error("the command was run")
	}
}
