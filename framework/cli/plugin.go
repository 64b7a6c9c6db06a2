package cli

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// pluginFile is the name by which kubectl starts a plugin. krew links it to the executable.
//
// Source: https://kubernetes.io/docs/tasks/extend-kubectl/kubectl-plugins/
const pluginFile = "kubectl-holdfast"

// nameAsCalled makes help and errors of the command line name the command as it was called: "kubectl holdfast" if kubectl called it, because
// a user of the plugin may have no command of the name holdfast.
func nameAsCalled(root *cobra.Command, executable string) {
	if filepath.Base(executable) != pluginFile {
		return
	}
	const called = "kubectl holdfast"
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: called}
	var rename func(*cobra.Command)
	rename = func(c *cobra.Command) {
		c.Example = strings.ReplaceAll("\n"+c.Example, "\n  holdfast ", "\n  "+called+" ")[1:]
		for _, sub := range c.Commands() {
			rename(sub)
		}
	}
	rename(root)
}
