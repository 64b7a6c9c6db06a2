package plain

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Nothing in the configuration is holdfast's own: what is tried on such a cluster must work on any.
func TestNothingIsOurs(t *testing.T) {
	c := &Cluster{Options: Options{Name: "x", Dir: "/tmp/x", Workers: 3, Zones: []string{"a", "b"}, Audit: true}, Image: "image"}
	config := c.configure(true, true)
	if n := len(config.Nodes); n != 4 {
		t.Fatalf("%d nodes, want 4", n)
	}
	for i, zone := range []string{"", "a", "b", "a"} {
		if got := config.Nodes[i].Labels["topology.kubernetes.io/zone"]; got != zone {
			t.Errorf("node %d is in zone %q, want %q", i, got, zone)
		}
		for label := range config.Nodes[i].Labels {
			if strings.Contains(label, "holdfast") {
				t.Errorf("node %d has label %s", i, label)
			}
		}
	}
	for _, patch := range config.KubeadmConfigPatches {
		for _, timing := range []string{"node-monitor", "toleration-seconds", "nodeLease", "StatusUpdate", "leader-elect"} {
			if strings.Contains(patch, timing) {
				t.Errorf("a patch changes %s:\n%s", timing, patch)
			}
		}
		if _, err := yaml.ToJSON([]byte(patch)); err != nil {
			t.Errorf("%v:\n%s", err, patch)
		}
	}
}

func TestAuditedAreTheUsersRequests(t *testing.T) {
	c := &Cluster{Options: Options{Dir: t.TempDir(), Audit: true}}
	if err := os.MkdirAll(c.logFolder(), 0o755); err != nil {
		t.Fatal(err)
	}
	log := `{"stage":"ResponseComplete","verb":"list","requestURI":"/api/v1/pods","user":{"username":"eve"},"objectRef":{"resource":"pods"},"responseStatus":{"code":200}}
{"stage":"ResponseComplete","verb":"create","requestURI":"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews","user":{"username":"eve"},"objectRef":{"resource":"selfsubjectaccessreviews"}}
{"stage":"ResponseComplete","verb":"create","requestURI":"/api/v1/namespaces/a/pods?dryRun=All","user":{"username":"eve"},"objectRef":{"resource":"pods"}}
{"stage":"ResponseComplete","verb":"delete","requestURI":"/api/v1/namespaces/a/pods/b","user":{"username":"eve"},"objectRef":{"resource":"pods","name":"b"},"responseStatus":{"code":403}}
{"stage":"ResponseComplete","verb":"delete","requestURI":"/api/v1/namespaces/a/pods/c","user":{"username":"admin"},"objectRef":{"resource":"pods","name":"c"}}
`
	if err := os.WriteFile(filepath.Join(c.logFolder(), "audit.log"), []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := c.Audited("eve")
	if err != nil || len(all) != 4 {
		t.Fatalf("got %v, %v; want four requests of eve", all, err)
	}
	for i, writes := range []bool{false, false, false, true} {
		if all[i].Writes() != writes {
			t.Errorf("%s: writes %t, want %t", all[i], all[i].Writes(), writes)
		}
	}
	if _, err := (&Cluster{}).Audited(""); err == nil {
		t.Error("a cluster without an audit log gave no error")
	}
}

func TestShopsAreManifests(t *testing.T) {
	for name, manifests := range map[string]string{"careful": Careful("holdfast.local/x:1"), "careless": Careless("holdfast.local/x:1")} {
		kinds := ""
		for _, document := range strings.Split(manifests, "\n---\n") {
			var o unstructured.Unstructured
			if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			kinds += o.GetKind() + " "
			if image := "image: holdfast.local/x:1\n"; o.GetKind() == "Deployment" && !strings.Contains(document, image) {
				t.Errorf("%s: no %q", name, image)
			}
		}
		if want := map[string]string{"careful": "Namespace Deployment Service PodDisruptionBudget ", "careless": "Namespace Deployment Service "}[name]; kinds != want {
			t.Errorf("%s: %s, want %s", name, kinds, want)
		}
	}
}
