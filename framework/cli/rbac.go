package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/fault/hold"
	"github.com/holdfast-ha/holdfast/framework/safety/catalogue"
	"github.com/holdfast-ha/holdfast/framework/safety/roles"
)

// roleFlags are the flags of `holdfast rbac`.
type roleFlags struct {
	faults, neighbours []string
	apiServers         []string
	namespace          string
	user, group        string
	account            string
}

// rbacCommand is the command `holdfast rbac`.
func rbacCommand() *cobra.Command {
	var f roleFlags
	cmd := &cobra.Command{
		Use:   "rbac --faults FAULT,... --namespace NAMESPACE",
		Short: "Print the smallest Roles with which some faults can be injected and undone",
		Long: `rbac prints YAML for an administrator to read and to apply: holdfast's own namespace, whose pods are restricted; the Roles of who
injects these faults in this namespace, whose rights 'holdfast plan' asks about; and the Roles of the healer, which can only undo. No Role has
a verb on Secrets. rbac asks no cluster.

A node is drained with the pods of other namespaces on it: name those with --neighbours, as in the file.

` + exit.Codes,
		Example: `  holdfast rbac --faults rollout,delete-pod -n shop      # kubectl apply -f - takes it
  holdfast rbac --faults drain -n shop --neighbours mail,search --user jane@example.com
  holdfast rbac --faults rollout -n shop --serviceaccount ci:holdfast`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := f.request()
			if err != nil {
				return exit.Usage(err)
			}
			objects, err := r.Objects()
			if err != nil {
				return exit.Usage(err)
			}
			return roles.Write(cmd.OutOrStdout(), objects)
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.faults, "faults", catalogue.Defaults, "faults, of "+strings.Join(catalogue.Names(), ", "))
	flags.StringVarP(&f.namespace, "namespace", "n", "", "namespace of the application")
	flags.StringSliceVar(&f.neighbours, "neighbours", nil, "namespaces of other pods on nodes that are drained")
	flags.StringSliceVar(&f.apiServers, "api-servers", nil, "addresses from which API servers reach pods, as CIDRs: print a NetworkPolicy that lets nothing else reach holdfast's pods")
	flags.StringVar(&f.user, "user", "", "user who runs holdfast")
	flags.StringVar(&f.group, "group", "", "group whose members run holdfast")
	flags.StringVar(&f.account, "serviceaccount", "", "ServiceAccount that runs holdfast, as NAMESPACE:NAME (default: "+hold.Namespace+":"+roles.Injector+", which is made as well)")
	cmd.MarkFlagsMutuallyExclusive("user", "group", "serviceaccount")
	return cmd
}

func (f roleFlags) request() (r roles.Request, err error) {
	r = roles.Request{Namespace: f.namespace, Neighbours: f.neighbours, APIServers: f.apiServers, Home: hold.Namespace}
	switch namespace, name, is := strings.Cut(f.account, ":"); {
	case f.account != "" && (!is || namespace == "" || name == ""):
		return r, fmt.Errorf("service account %q: want NAMESPACE:NAME", f.account)
	case f.account != "":
		r.Injector = rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}
	case f.user != "":
		r.Injector = rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: f.user}
	case f.group != "":
		r.Injector = rbacv1.Subject{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: f.group}
	}
	r.Faults, err = catalogue.Named(f.faults)
	return r, err
}
