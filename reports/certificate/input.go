package certificate

import "time"

// UpgradeScenario is the name of the one scenario of the run in the middle.
const UpgradeScenario = "upgrade/in-place"

// Input is what a certificate is made of: the folders of three runs, and what no record says.
type Input struct {
	// Dir is where the certificate will lie: it names the records relative to it.
	Dir string
	// Before, Upgrade and After are the folders of the runs, each with its run.json and records.
	Before, Upgrade, After string

	ID        string
	Issued    time.Time
	Holdfast  string
	From, To  Release
	Machine   Machine
	Seed      uint64
	Reproduce string
	Planted   string
	// Profiles are what is to be certified.
	Profiles []ProfileInput
	// Skipped says of scenarios, by name, why they were left out on purpose. What is neither run nor in here is missing.
	Skipped map[string]string
	// Failure is where the upgrade stopped; nil if it came to its end.
	Failure      *Failure
	Deprecations []Deprecation
}

// ProfileInput is a profile as it was described.
type ProfileInput struct {
	Name     string
	Features []FeatureInput
}

// FeatureInput is a feature and the scenarios that show it, by name.
type FeatureInput struct {
	Name      string
	Scenarios []ScenarioInput
}

// ScenarioInput is a scenario as it was described.
type ScenarioInput struct {
	Name, Claim string
}
