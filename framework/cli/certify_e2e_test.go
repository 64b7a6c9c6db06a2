//go:build e2e

package cli

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/clusters/kind"
	"github.com/holdfast-ha/holdfast/framework/run/plaintest"
	"github.com/holdfast-ha/holdfast/framework/safety/catalogue"
	"github.com/holdfast-ha/holdfast/reports/certificate"
)

// These tests certify upgrades by kubeadm of clusters that holdfast did not make, by a script of their administrator's: make test-upgrade.
const (
	upgradedFrom = "v1.37.0"
	upgradedTo   = "v1.37.1"
)

// upgraded certifies the upgrade of a stage as eve, who could not upgrade it herself.
func upgraded(s *plaintest.Stage, careless string, args ...string) (doc *certificate.Certificate, out string, code int) {
	s.T.Helper()
	brought, err := s.Fetch(s.T.Context(), upgradedTo)
	if err != nil {
		s.T.Fatal(err)
	}
	script, err := filepath.Abs("testdata/upgrade.sh")
	if err != nil {
		s.T.Fatal(err)
	}
	cmd := s.Command(append(s.As("certify", "--upgrade", "sh "+script), args...)...)
	cmd.Env = append(os.Environ(), "HOME="+cmd.Dir, "ON="+s.Engine.Name()+" exec", "K="+s.Kubectl, "NEW="+path.Join(kind.ReleaseFolder, brought.Kubernetes), "TO="+upgradedTo, "CARELESS="+careless)
	out, code = s.Finish(cmd)
	doc, err = certificate.Read(filepath.Join(cmd.Dir, "artifacts", "last-attempt"))
	if err != nil {
		s.T.Fatal(err)
	}
	if doc.From.Kubernetes != upgradedFrom || doc.To.Kubernetes != upgradedTo {
		s.T.Errorf("from %s to %s", doc.From.Kubernetes, doc.To.Kubernetes)
	}
	return doc, out, code
}

// An upgrade with drains is certified, when what else the rules allow has held before and after it.
func TestE2EUpgrade(t *testing.T) {
	s := plaintest.New(t, "upgraded", upgradedFrom)
	url := s.Deploy(plaintest.Careful)
	faults := []string{catalogue.Rollout.Name, catalogue.Drain.Name, catalogue.DeletePod.Name, catalogue.Scale.Name}
	s.Grant(faults...)
	s.Consent()
	file := s.File(url, "faults: ["+strings.Join(faults, ", ")+"]")
	s.Plan(file)
	doc, _, code := upgraded(s, "", "--app", file, "--disturb", "--holdfast-image", s.Image)
	if code != 0 || doc.Result != certificate.Certified || len(doc.Scenarios) != len(faults) {
		t.Errorf("exit code %d, %s, %d scenarios\n%s", code, doc.Result, len(doc.Scenarios), strings.Join(doc.Reasons, "\n"))
	}
	s.NothingElse("pods", "nodes", "events") // after the upgrade, other pods and nodes are picked
}

// An upgrade without drains is not certified, and the certificate tells what lost requests. Eve may only read.
func TestE2ECarelessUpgrade(t *testing.T) {
	s := plaintest.New(t, "careless", upgradedFrom)
	url := s.Deploy(plaintest.Careful)
	s.MayRead()
	doc, _, code := upgraded(s, "1", "-n", "shop", "--url", url)
	if reasons := strings.Join(doc.Reasons, "\n"); code != 1 || doc.Result != certificate.NotCertified || !strings.Contains(reasons, `failed during "the restart of containers of shop/web"`) {
		t.Errorf("exit code %d, %s\n%s", code, doc.Result, reasons)
	}
	s.NothingElse()
}
