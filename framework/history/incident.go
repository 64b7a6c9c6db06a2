package history

// Incident is an outage that people had, as it is told to the next who has it.
type Incident struct {
	Name    string `json:"name"`    // kebab-case
	Story   string `json:"story"`   // what was there, and what happened to it
	Symptom string `json:"symptom"` // what was noticed
	Cause   string `json:"cause"`
	Fix     string `json:"fix"` // and when it is not enough
}
