package history

// APIWarning is a warning of the API server about an object that was created or changed, for example that an API version is
// deprecated. A record contains each text once, with the first object that it was about.
//
// Source: https://kubernetes.io/blog/2020/09/03/warnings/
type APIWarning struct {
	Object string `json:"object"` // for example "PodDisruptionBudget backend"
	Text   string `json:"text"`
}

// Warnings lists the API server's warnings, in order.
func (r Run) Warnings() []APIWarning { return all(r, func(e Event) *APIWarning { return e.Warning }) }
