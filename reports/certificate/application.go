package certificate

// Application is an application of the user's own, and what was found while its cluster was upgraded.
type Application struct {
	Name   string `json:"name"`   // its namespace
	Source string `json:"source"` // the file that describes it
	Digest string `json:"digest"` // SHA-256 of its objects and probes
	// Images are the names of its images, as its objects have them.
	Images []string           `json:"images"`
	Probes []ApplicationProbe `json:"probes"`
	Notes  []string           `json:"notes,omitempty"` // what of it was not deployed, and why
	Result Result             `json:"result"`
	// Reasons are what keeps it from being certified.
	Reasons []string `json:"reasons"`
	Upgrade Upgrade  `json:"upgrade"`
}

// ApplicationProbe is a request that was sent again and again.
type ApplicationProbe struct {
	Name string  `json:"name"`
	URL  string  `json:"url"`
	Rate float64 `json:"rate"` // requests a second on each lane
}
