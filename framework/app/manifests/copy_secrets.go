package manifests

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// secretFields are the fields of a pod spec that name a Secret: in the map that such a field holds, under the given key.
var secretFields = map[string]string{
	"secretKeyRef": "name", "secretRef": "name", "secret": "secretName", // in env, envFrom and volumes
}

// secrets says which Secrets the objects name, once each.
func secrets(objects []unstructured.Unstructured) (gaps []string) {
	by := map[string]string{} // the first object that names the Secret
	for _, o := range objects {
		user := o.GetKind() + " " + o.GetName()
		walk(o.Object, func(name string) {
			if by[name] == "" {
				by[name] = user
			}
		})
	}
	for _, name := range slices.Sorted(maps.Keys(by)) {
		gaps = append(gaps, fmt.Sprintf("Secret %s is missing, which %s names: holdfast reads no Secret.", name, by[name]))
	}
	return gaps
}

// walk calls found with each name of a Secret in a value.
func walk(value any, found func(name string)) {
	switch v := value.(type) {
	case []any:
		for _, one := range v {
			walk(one, found)
		}
	case map[string]any:
		for field, inner := range v {
			fields, _ := inner.(map[string]any)
			if name, _ := fields[secretFields[field]].(string); name != "" {
				found(name)
			}
			walkSources(field, inner, found)
			walk(inner, found)
		}
	}
}

// walkSources calls found with the Secrets of fields that are lists: those of a projected volume, image pull secrets, and an Ingress's TLS.
func walkSources(field string, inner any, found func(name string)) {
	key := map[string]string{"imagePullSecrets": "name", "tls": "secretName"}[field]
	list, _ := inner.([]any)
	for _, one := range list {
		fields, _ := one.(map[string]any)
		if field == "sources" {
			fields, _ = fields["secret"].(map[string]any)
			key = "name"
		}
		if name, _ := fields[key].(string); name != "" {
			found(name)
		}
	}
}
