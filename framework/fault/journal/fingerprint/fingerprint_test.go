package fingerprint

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func object(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

const aNode = `
apiVersion: v1
kind: Node
metadata:
  name: w1
  uid: u1
  resourceVersion: "7"
  labels: {a/b: c}
  annotations: {node.alpha.kubernetes.io/ttl: "0", holdfast.dev/x: z}
  managedFields: [{manager: kubelet}]
spec:
  unschedulable: true
  podCIDRs: [10.0.0.0/24]
  taints:
  - {key: node.kubernetes.io/unschedulable, effect: NoSchedule, timeAdded: "2026-01-01T00:00:00Z"}
  - {key: a, value: b, effect: NoExecute}
status: {conditions: [{type: Ready}]}
`

const aDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  uid: u2
  generation: 4
  annotations: {deployment.kubernetes.io/revision: "9", team: shop}
spec:
  replicas: 3
  template:
    metadata: {annotations: {}}
    spec: {containers: [{name: a, image: "a:1"}, {name: b}]}
status: {replicas: 3}
`

func TestOf(t *testing.T) {
	for text, want := range map[string]Fields{
		aNode: {
			UID: `"u1"`, "/metadata/labels/a~1b": `"c"`, "/metadata/annotations/holdfast.dev~1x": `"z"`, "/spec/unschedulable": "true",
			"/spec/podCIDRs/0": `"10.0.0.0/24"`, "/spec/taints/node.kubernetes.io~1unschedulable:NoSchedule": `""`, "/spec/taints/a:NoExecute": `"b"`,
		},
		aDeployment: {
			UID: `"u2"`, "/metadata/annotations/team": hidden, "/spec/replicas": "3", "/spec/template/spec/containers/0/name": hidden,
			"/spec/template/spec/containers/0/image": hidden, "/spec/template/spec/containers/1/name": hidden,
		},
	} {
		got := Of(object(t, text), "salt")
		for at, value := range got {
			if strings.HasPrefix(value, `"hidden:`) {
				got[at] = hidden
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

// hidden stands for a text of which only the hash is kept.
const hidden = `"hidden"`

// Hashes of the same text are the same in one field under one salt, and otherwise are not: they cannot be looked up, and do not show which fields have one password.
func TestHiddenTexts(t *testing.T) {
	of := func(text, salt, at string) string {
		return Of(object(t, text), salt)["/spec/template/spec/containers/"+at]
	}
	other := strings.Replace(aDeployment, "a:1", "a:2", 1)
	is := of(aDeployment, "s", "0/image")
	if is != of(aDeployment, "s", "0/image") || is == of(other, "s", "0/image") || is == of(aDeployment, "t", "0/image") {
		t.Errorf("%s, %s, %s", is, of(other, "s", "0/image"), of(aDeployment, "t", "0/image"))
	}
	same := strings.Replace(aDeployment, "a:1", "a", 1)
	if of(same, "s", "0/image") == of(same, "s", "0/name") {
		t.Error("two fields show that they have the same text")
	}
}

func TestDiff(t *testing.T) {
	before := Print{"same": {UID: "1", "/a": "1"}, "gone": {UID: "2"}, "again": {UID: "3", "/a": "1"}, "changed": {UID: "4", "/a": "1", "/b": "1"}}
	now := Print{"same": {UID: "1", "/a": "1"}, "new": {UID: "5"}, "again": {UID: "6", "/a": "2"}, "changed": {UID: "4", "/a": "2", "/c": "1"}}
	want := []Difference{
		{"again", UID, "3", "6"},
		{"changed", "/a", "1", "2"}, {"changed", "/b", "1", ""}, {"changed", "/c", "", "1"},
		{"gone", "", There, Gone}, {"new", "", Gone, There},
	}
	if got := Diff(before, now); !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
	if got := Diff(now, now); len(got) != 0 {
		t.Errorf("of itself: %+v", got)
	}
}

// A thousand nodes with thirty labels each fit into a ConfigMap many times.
func TestPack(t *testing.T) {
	p := Print{}
	for n := range 1000 {
		p[fmt.Sprint("ip-10-0-0-", n)] = Fields{UID: fmt.Sprintf(`"%08x-0000-4000-8000-%012x"`, n*7919, n*104729)}
		for l := range 30 {
			p[fmt.Sprint("ip-10-0-0-", n)][fmt.Sprintf("/metadata/labels/example.com~1label-%d", l)] = fmt.Sprintf(`"value-%d"`, (n+l)%7)
		}
	}
	packed, err := Pack(p)
	if err != nil {
		t.Fatal(err)
	}
	if len(packed) > 100<<10 {
		t.Errorf("%d bytes", len(packed))
	}
	var back Print
	if err := Unpack(packed, &back); err != nil || !reflect.DeepEqual(p, back) {
		t.Errorf("%v: not the same", err)
	}
	if err := Unpack(packed[:100], &back); err == nil {
		t.Error("a damaged one was accepted")
	}
	if err := Unpack(nil, &back); err == nil {
		t.Error("nothing was accepted")
	}
}
