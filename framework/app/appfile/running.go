package appfile

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/holdfast-ha/holdfast/framework/safety/catalogue"
)

// Running is Find for an application that runs already: no manifests are needed, and so no file.
func (c *Choice) Running(named []string) error {
	if len(named) == 1 {
		if !c.Sources.Empty() {
			return fmt.Errorf("%s with -f, -k or --chart: the manifests are named in that file", named[0])
		}
		c.File = named[0]
		return nil
	}
	if _, err := os.Stat(Name); err == nil && c.Sources.Empty() && len(c.URLs) == 0 {
		c.File = Name
	}
	return nil
}

// RunningFlags adds the flags with which a user makes the choice of an application that runs already.
func (c *Choice) RunningFlags(flags *pflag.FlagSet) {
	ManifestFlags(flags, &c.Sources, &c.Namespace)
	flags.StringSliceVar(&c.URLs, "url", nil, "URL of a Service of the application that requests are sent to (http, https, ws, wss, tcp); can be repeated")
	flags.StringSliceVar(&c.Faults, "faults", nil, "what is done, of "+strings.Join(catalogue.Names(), ", ")+
		" (default: "+strings.Join(catalogue.Defaults, ", ")+")")
}
