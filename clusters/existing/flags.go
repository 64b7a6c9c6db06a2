package existing

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/tools/clientcmd"
)

// Flags say which cluster is meant, and as whom it is asked: as kubectl's flags of the same names do.
type Flags struct {
	kubectl *genericclioptions.ConfigFlags
	// Executable is the path of holdfast, which then runs a kubeconfig's credential plugin with a time limit; see RunPlugin. Empty: the
	// plugin may take any time.
	Executable string
}

// NewFlags are flags that say nothing: the current context of the kubeconfig that kubectl finds.
func NewFlags() *Flags {
	k := genericclioptions.NewConfigFlags(false)
	// Namespaces are the commands' own. A token or a password on a command line would be in the record.
	k.Namespace, k.BearerToken, k.Username, k.Password, k.Timeout, k.CacheDir = nil, nil, nil, nil, nil, nil
	k.DisableCompression, k.ImpersonateUserExtra = nil, nil
	return &Flags{kubectl: k}
}

// Add adds all flags.
func (f *Flags) Add(flags *pflag.FlagSet) { f.kubectl.AddFlags(flags) }

// AddFew adds --kubeconfig and --context only, for commands whose other flags have some of the names.
func (f *Flags) AddFew(flags *pflag.FlagSet) {
	all := pflag.NewFlagSet("kubectl", pflag.ContinueOnError)
	f.kubectl.AddFlags(all)
	for _, name := range []string{"kubeconfig", "context"} {
		flags.AddFlag(all.Lookup(name))
	}
}

// ErrNotNamed means that the cluster is only the one that happens to be the current one.
var ErrNotNamed = errors.New("the current context may be any cluster: name it with --context")

// Named returns an error that wraps ErrNotNamed unless a flag names the context or the server. Only reading may use the current context.
func (f *Flags) Named() error {
	if *f.kubectl.Context == "" && *f.kubectl.APIServer == "" {
		return ErrNotNamed
	}
	return nil
}

// Beside names a flag that leads to another cluster than the context says, such as --server; empty: there is none. A program that knows the
// context only, would use that other cluster.
func (f *Flags) Beside() string {
	switch {
	case *f.kubectl.APIServer != "":
		return "--server"
	case *f.kubectl.ClusterName != "":
		return "--cluster"
	}
	return ""
}

// Context is the context that --context names; empty: the current one is meant.
func (f *Flags) Context() string { return *f.kubectl.Context }

// Words are the flags as they stand on a command line, for a command that does the same again.
func (f *Flags) Words() (words []string) {
	flags := pflag.NewFlagSet("kubectl", pflag.ContinueOnError)
	f.kubectl.AddFlags(flags)
	flags.VisitAll(func(flag *pflag.Flag) {
		switch value := flag.Value.(type) {
		case pflag.SliceValue:
			for _, one := range value.GetSlice() {
				words = append(words, "--"+flag.Name, one)
			}
		default:
			switch text := value.String(); {
			case text == "" || text == "false":
			case value.Type() == "bool":
				words = append(words, "--"+flag.Name)
			default:
				words = append(words, "--"+flag.Name, text)
			}
		}
	})
	return words
}

// Open reads the kubeconfig. It sends no request. Errors say what is wrong with the flags or the file.
func (f *Flags) Open() (*Access, error) {
	loader := f.kubectl.ToRawKubeConfigLoader()
	raw, err := loader.RawConfig()
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	a := &Access{flags: f, Context: *f.kubectl.Context, pause: rereadEvery}
	a.Context = cmp.Or(a.Context, raw.CurrentContext)
	if _, there := raw.Contexts[a.Context]; !there && *f.kubectl.Context != "" {
		return nil, fmt.Errorf("read the kubeconfig: it has no context %q: it has %s", a.Context, contextsOf(raw))
	}
	if a.Namespace, _, err = loader.Namespace(); err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	config, err := loader.ClientConfig()
	if err != nil {
		if clientcmd.IsEmptyConfig(err) {
			err = errors.New("no cluster is named: name a context with --context, or a file with --kubeconfig")
		}
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	return a, a.use(config)
}

// Kubeconfig is the file that --kubeconfig names; empty: kubectl's own rules find it.
func (f *Flags) Kubeconfig() string { return *f.kubectl.KubeConfig }
