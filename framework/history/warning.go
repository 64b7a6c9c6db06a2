package history

import "regexp"

// APIWarning is what the API server warned of when an object was created or changed, such as that an API version is
// deprecated. A scenario's record has each text once, with the first object that it was said of.
//
// Source: https://kubernetes.io/blog/2020/09/03/warnings/
type APIWarning struct {
	Object string `json:"object"` // for example "PodDisruptionBudget backend"
	Text   string `json:"text"`
}

// Of versions: "policy/v1beta1 PodDisruptionBudget is deprecated in v1.21+, unavailable in v1.25+; use ...". Of fields and
// annotations: "...: deprecated since v1.30; use ...", "...: non-functional in v1.27+; use ...", "... is deprecated and may ...".
//
// Source: k8s.io/apiserver/pkg/endpoints/deprecation, and warnings.go below k8s.io/kubernetes/pkg/api
var deprecation = regexp.MustCompile(`\b(deprecated|non-functional)\b`)

// Deprecation tells whether the warning is of what is deprecated, or has no effect any more, and not of something else that
// an API server warns of, such as a duplicate name or a policy of pod security.
func (w APIWarning) Deprecation() bool { return deprecation.MatchString(w.Text) }

// ofVersion has the API version that is deprecated.
var ofVersion = regexp.MustCompile(`^(\S+) \S+ is deprecated in v\d`)

// API is the version of an API that the warning says is deprecated, such as policy/v1beta1. Empty: it is of something else, such as
// a field.
func (w APIWarning) API() string {
	if found := ofVersion.FindStringSubmatch(w.Text); found != nil {
		return found[1]
	}
	return ""
}

// Warnings are what the API server warned of, in order.
func (r Run) Warnings() (all []APIWarning) {
	for _, e := range r.Events {
		if e.Warning != nil {
			all = append(all, *e.Warning)
		}
	}
	return all
}
