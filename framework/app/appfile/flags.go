package appfile

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/holdfast-ha/holdfast/framework/app/apptest"
	"github.com/holdfast-ha/holdfast/framework/app/manifests"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// Flags adds the flags with which a user makes the choice.
func (c *Choice) Flags(flags *pflag.FlagSet) {
	ManifestFlags(flags, &c.Sources, &c.Namespace)
	flags.StringSliceVar(&c.URLs, "url", nil, "URL of a Service of the application that requests are sent to (http, https, ws, wss, tcp); can be repeated")
	flags.StringSliceVar(&c.Images, "image", nil, "archive with images of the application, or the name of an image; can be repeated")
	flags.StringVar(&c.Pull, "pull", "",
		"for images that are neither given nor in the local engine: "+PullMissing+" pulls them (default), "+PullNever+" asks no registry")
	flags.StringVar(&c.Secrets, "secrets", "", "what is done about absent Secrets: "+manifests.GenerateSecrets+
		" makes them, with the keys that pods refer to and random values (default: each is an error)")
	flags.StringSliceVar(&c.Faults, "faults", nil, "what is done, of "+strings.Join(apptest.FaultNames(), ", ")+
		" (default: "+strings.Join(apptest.DefaultFaults, ", ")+")")
}

// ManifestFlags adds the flags of all commands that read an application's manifests.
func ManifestFlags(flags *pflag.FlagSet, from *app.Sources, namespace *string) {
	flags.StringSliceVarP(&from.Files, "filename", "f", nil, "file, folder or URL with manifests, or - for the standard input; can be repeated")
	flags.StringVarP(&from.Kustomize, "kustomize", "k", "", "folder with a kustomization")
	flags.StringVar(&from.Chart.Path, "chart", "", "Helm chart: a folder or an archive")
	flags.StringSliceVar(&from.Chart.Values, "values", nil, "file or URL with values of the chart; can be repeated")
	flags.StringVar(&from.Chart.Release, "release", "", "name of the chart's release (default: that of the chart)")
	flags.StringSliceVar(&from.Before, "before", nil,
		"file, folder or URL with what must be ready before all else, such as operators; can be repeated")
	flags.StringSliceVar(&from.Without, "without", nil, "kind of objects that are left out, such as ServiceMonitor; can be repeated")
	flags.StringVarP(namespace, "namespace", "n", "", "namespace of objects that name none (default \""+app.DefaultNamespace+"\")")
}
