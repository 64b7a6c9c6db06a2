package certify

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/reports/certificate"
)

// UpgradeScenario is the name of the one scenario of the run in the middle.
const UpgradeScenario = "upgrade/in-place"

// Input is what a certificate is made from: the folders of three runs, and what the records lack.
type Input struct {
	// Dir is the folder of the certificate, which names the records relative to it.
	Dir string
	// Before, Upgrade and After are the folders of the runs, each with its run.json and records.
	Before, Upgrade, After string

	ID        string
	Issued    time.Time
	Holdfast  string
	From, To  certificate.Release
	Machine   certificate.Machine
	Seed      uint64
	Reproduce string
	Planted   string
	// Profiles are what to certify.
	Profiles []scenario.Profile
	// Skipped says why scenarios were left out on purpose, by name. A scenario that neither ran nor is in here is missing.
	Skipped map[string]string
	// Application is the user's own, without a result, and ApplicationRun the folder of its run; nil: none was named.
	Application    *certificate.Application
	ApplicationRun string
	// Failure is where the upgrade stopped; nil if it completed.
	Failure      *certificate.Failure
	Deprecations []certificate.Deprecation
	// Existing says that others made the cluster and its upgrade. The upgrade is a feature of its own then, and runs before and after it are not
	// missed if their folders are empty, because no scenario was allowed.
	Existing bool
}
