package audit

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// Each document of the policy has a known kind, and the documents are in the order in which they can be created.
func TestAPolicyIsMadeOfItsKinds(t *testing.T) {
	text, err := Policy(DefaultCritical)
	if err != nil {
		t.Fatal(err)
	}
	documents := strings.Split(string(text), "---\n")
	if len(documents) != len(PolicyKinds()) {
		t.Fatalf("%d documents of the kinds %q", len(documents), PolicyKinds())
	}
	for i, document := range documents {
		var o struct{ APIVersion, Kind string }
		if err := yaml.Unmarshal([]byte(document), &o); err != nil {
			t.Fatal(err)
		}
		at, known := ResourceOf(o.Kind)
		if !known || o.Kind != PolicyKinds()[i] || at.GroupVersion().String() != o.APIVersion || !strings.HasPrefix(at.Resource, strings.ToLower(o.Kind[:len(o.Kind)-1])) {
			t.Errorf("%s of %s is at %v (%t)", o.Kind, o.APIVersion, at, known)
		}
	}
}

func TestAPodIsNothingToPatch(t *testing.T) {
	if at, known := ResourceOf("Pod"); known {
		t.Errorf("it is at %v", at)
	}
}

// A PatchType has the spelling of kubectl's --type, and is sent in the API's spelling.
func TestPatchTypes(t *testing.T) {
	for how, want := range map[PatchType]types.PatchType{
		JSONPatch: types.JSONPatchType, MergePatch: types.MergePatchType, StrategicPatch: types.StrategicMergePatchType,
		"": types.StrategicMergePatchType, // of a restart
	} {
		if got := how.API(); got != want {
			t.Errorf("%q is %q, want %q", how, got, want)
		}
	}
}
