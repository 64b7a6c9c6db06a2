package undo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/holdfast-ha/holdfast/clusters/existing"
)

// Limited is a copy of a configuration whose clients read, send the undo of notes, and otherwise only what is allowed, whatever they are told to do: who
// heals has more rights than who may write a note. Of a node, a Deployment or a StatefulSet they send only JSON patches that remove a note and, beside
// it, set or remove a field that holdfast changes.
func Limited(config *rest.Config, allowed func(existing.Permission) bool) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return reversing{next} })
	return existing.Limited(config, func(p existing.Permission) bool { return isReversal(p) || allowed(p) })
}

// isReversal reports whether a write is a patch of an object on which there may be a note.
func isReversal(p existing.Permission) bool {
	known := slices.ContainsFunc(Everywhere, func(e Place) bool { return e.Resource == p.Resource })
	return p.Verb == "patch" && known && p.Subresource == "" && p.Group == groupOf(p.Resource)
}

func groupOf(resource string) string {
	if resource == "nodes" {
		return ""
	}
	return "apps"
}

// reversing passes on no patch but those that undo a note. The holder of a cluster is not patched, but replaced.
type reversing struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (v reversing) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPatch {
		return v.next.RoundTrip(r)
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 2*mostNote))
	if err = errors.Join(err, r.Body.Close()); err != nil {
		return nil, err
	}
	if err := reverses(r.Header.Get("Content-Type"), body); err != nil {
		return nil, fmt.Errorf("%s %s is not sent: %w", r.Method, r.URL.Path, err)
	}
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	return v.next.RoundTrip(r)
}

// reverses returns an error for a patch that undoes no note.
func reverses(contentType string, body []byte) error {
	var ops []struct{ Op, Path string }
	if err := json.Unmarshal(body, &ops); err != nil || contentType != string(types.JSONPatchType) {
		return fmt.Errorf("it is no JSON patch (%s)", contentType)
	}
	removes := false
	for _, op := range ops {
		switch note := op.Path == notePointer; {
		case op.Op == "test" && (op.Path == "/metadata/uid" || op.Path == "/metadata/resourceVersion"):
		case note && op.Op == "remove":
			removes = true
		case op.Op == "remove" || op.Op == "replace":
			if !isField(op.Path) {
				return fmt.Errorf("holdfast does not change %s", op.Path)
			}
		default:
			return fmt.Errorf("no undo does %s %s", op.Op, op.Path)
		}
	}
	if !removes {
		return errors.New("it removes no note")
	}
	return nil
}

func isField(path string) bool {
	for _, shape := range shapes {
		if len(shape.path) > 0 && pointer(shape.path) == path {
			return true
		}
	}
	return false
}
