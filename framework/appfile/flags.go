package appfile

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/holdfast-ha/holdfast/framework/apptest"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// Flags adds the flags with which a user makes the choice.
func (c *Choice) Flags(flags *pflag.FlagSet) {
	ManifestFlags(flags, &c.Sources, &c.Namespace)
	flags.StringSliceVar(&c.URLs, "url", nil, "URL of a Service of the application that requests are sent to (http, https, ws, wss, tcp); can be repeated")
	flags.StringSliceVar(&c.Images, "image", nil, "archive with images of the application, or the name of an image; can be repeated")
	flags.StringVar(&c.Pull, "pull", "",
		"for images that are neither given nor in the local engine: "+PullMissing+" pulls them (default), "+PullNever+" asks no registry")
	flags.StringSliceVar(&c.Faults, "faults", nil, "what is done, of "+strings.Join(apptest.FaultNames(), ", ")+
		" (default: "+strings.Join(apptest.DefaultFaults, ", ")+")")
}

// ManifestFlags adds the flags of all commands that read an application's manifests.
func ManifestFlags(flags *pflag.FlagSet, from *app.Sources, namespace *string) {
	flags.StringSliceVarP(&from.Files, "filename", "f", nil, "file, folder or URL with manifests, or - for the standard input; can be repeated")
	flags.StringVarP(&from.Kustomize, "kustomize", "k", "", "folder with a kustomization")
	flags.StringVar(&from.Chart.Path, "chart", "", "folder or archive with a Helm chart")
	flags.StringSliceVar(&from.Chart.Values, "values", nil, "with --chart: file or URL with values; can be repeated")
	flags.StringVar(&from.Chart.Release, "release", "", "with --chart: name of the release (default: the name of the chart)")
	flags.StringVarP(namespace, "namespace", "n", "", "namespace of objects that name none (default \""+app.DefaultNamespace+"\")")
}
