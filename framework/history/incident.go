package history

// Incident is an outage that happened to real users, described for others who see the same symptom.
type Incident struct {
	Name    string `json:"name"`    // kebab-case
	Story   string `json:"story"`   // the setup, and what happened
	Symptom string `json:"symptom"` // what was noticed
	Cause   string `json:"cause"`
	Fix     string `json:"fix"` // including when it is not sufficient
}
