// Package fingerprint reduces objects of the API to what somebody has asked for: specs, labels, annotations, taints and identities. Two
// fingerprints of a cluster, taken before and after, show what was changed and not put back.
//
// The package reads no cluster, and does not say who has changed what: see package journal. Status is left out, and so is what
// controllers keep in annotations for themselves.
package fingerprint

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Fields is what a fingerprint keeps of one object: JSON values, by the JSON pointers of their fields.
type Fields map[string]string

// Print is the fingerprint of some objects of one resource, by their names.
type Print map[string]Fields

// UID is the field of an object's identity. If it differs, the object was deleted, and another of the same name was created.
const UID = "/metadata/uid"

// ofControllers are kept by controllers in annotations of workloads: they change with every rollout, and nobody asks for them.
var ofControllers = []string{
	"deployment.kubernetes.io/revision", "deprecated.daemonset.template.generation", "control-plane.alpha.kubernetes.io/leader",
}

// ours begins the keys of holdfast's own annotations. Of a node's annotations, only these are kept: kubelets and CSI drivers write the others.
const ours = "holdfast.dev/"

// Of is the fingerprint of one object. An empty map or list counts as absent: API servers drop most of them. Texts that may be secret, which are those of
// annotations and of pod templates, are replaced by their hashes with the salt: whether they differ can still be seen.
func Of(o *unstructured.Unstructured, salt string) Fields {
	f := Fields{}
	defer f.hide(salt)
	for key, value := range o.Object {
		switch key {
		case "status", "metadata", "apiVersion", "kind":
		default:
			f.add("/"+escaped(key), value)
		}
	}
	f.add("/metadata/labels", anyMap(o.GetLabels()))
	f.add("/metadata/annotations", anyMap(annotations(o)))
	f.add(UID, string(o.GetUID()))
	if isNode(o) {
		f.taints(o)
	}
	return f
}

// hide replaces the texts that may be secret.
func (f Fields) hide(salt string) {
	for at, value := range f {
		secret := strings.HasPrefix(at, "/metadata/annotations/") && !strings.HasPrefix(at, "/metadata/annotations/"+escaped(ours)) || strings.HasPrefix(at, "/spec/template/")
		if secret && strings.HasPrefix(value, `"`) {
			sum := sha256.Sum256([]byte(salt + at + value))
			f[at] = strconv.Quote("hidden:" + hex.EncodeToString(sum[:8]))
		}
	}
}

func isNode(o *unstructured.Unstructured) bool {
	return o.GetKind() == "Node" && o.GetAPIVersion() == "v1"
}

func annotations(o *unstructured.Unstructured) map[string]string {
	kept := maps.Clone(o.GetAnnotations())
	maps.DeleteFunc(kept, func(key, _ string) bool {
		return slices.Contains(ofControllers, key) || isNode(o) && !strings.HasPrefix(key, ours)
	})
	return kept
}

func anyMap(m map[string]string) map[string]any {
	all := map[string]any{}
	for key, value := range m {
		all[key] = value
	}
	return all
}

// add adds the leaves below a value.
func (f Fields) add(at string, value any) {
	switch v := value.(type) {
	case nil:
	case map[string]any:
		for key, below := range v {
			f.add(at+"/"+escaped(key), below)
		}
	case []any:
		for i, below := range v {
			f.add(at+"/"+strconv.Itoa(i), below)
		}
	default:
		text, err := json.Marshal(v)
		if err != nil {
			text = []byte(fmt.Sprint(v)) // no value of an API object is of such a type
		}
		f[at] = string(text)
	}
}

func escaped(key string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(key) }

// taints replaces the taints by their indexes with taints by key and effect: their order has no meaning, and neither has when a taint
// was added.
func (f Fields) taints(o *unstructured.Unstructured) {
	maps.DeleteFunc(f, func(at, _ string) bool { return strings.HasPrefix(at, "/spec/taints/") })
	list, _, _ := unstructured.NestedSlice(o.Object, "spec", "taints") // a Node's taints have no other form
	for _, t := range list {
		if taint, is := t.(map[string]any); is {
			value, _, _ := unstructured.NestedString(taint, "value") // empty: it has none
			f["/spec/taints/"+escaped(fmt.Sprintf("%v:%v", taint["key"], taint["effect"]))] = strconv.Quote(value)
		}
	}
}
