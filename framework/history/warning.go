package history

import "regexp"

// APIWarning is a warning of the API server about an object that was created or changed, for example that an API version is
// deprecated. A record contains each text once, with the first object that it was about.
//
// Source: https://kubernetes.io/blog/2020/09/03/warnings/
type APIWarning struct {
	Object string `json:"object"` // for example "PodDisruptionBudget backend"
	Text   string `json:"text"`
}

// Texts about API versions: "policy/v1beta1 PodDisruptionBudget is deprecated in v1.21+, unavailable in v1.25+; use ...".
// Texts about fields and annotations: "...: deprecated since v1.30; use ...", "...: non-functional in v1.27+; use ...",
// "... is deprecated and may ...".
//
// Source: k8s.io/apiserver/pkg/endpoints/deprecation, and warnings.go below k8s.io/kubernetes/pkg/api
var deprecation = regexp.MustCompile(`\b(deprecated|non-functional)\b`)

// Deprecation reports whether the warning is about something deprecated or non-functional. API servers also warn about other
// things, such as duplicate names or violations of a Pod Security level.
func (w APIWarning) Deprecation() bool { return deprecation.MatchString(w.Text) }

// ofVersion captures the deprecated API version.
var ofVersion = regexp.MustCompile(`^(\S+) \S+ is deprecated in v\d`)

// API is the deprecated API version, such as policy/v1beta1; empty if the warning is not about an API version.
func (w APIWarning) API() string {
	if found := ofVersion.FindStringSubmatch(w.Text); found != nil {
		return found[1]
	}
	return ""
}

// Warnings lists the API server's warnings, in order.
func (r Run) Warnings() []APIWarning { return all(r, func(e Event) *APIWarning { return e.Warning }) }
