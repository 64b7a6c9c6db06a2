package serve

import (
	"flag"
	"fmt"
)

// AddFlags adds the flags that all servers have in common.
func (o *Options) AddFlags(flags *flag.FlagSet) {
	flags.StringVar((*string)(&o.AtTerm), "at-term", "", "what to do at SIGTERM: "+Ways())
	flags.DurationVar(&o.Quiet, "quiet", 0, "quiet period after which a drain ends")
	flags.DurationVar(&o.Limit, "limit", 0, "maximum duration of a drain, and duration of a hold")
}

// Args is the command line of flags with the values that their options have now. Empty and default values are left out.
func Args(flags *flag.FlagSet) (args []string) {
	flags.VisitAll(func(f *flag.Flag) {
		if value := f.Value.String(); value != "" && value != f.DefValue {
			args = append(args, "--"+f.Name+"="+value)
		}
	})
	return args
}

// Parse parses a command line without other arguments.
func Parse(flags *flag.FlagSet, args []string) error {
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("%s: %w", flags.Name(), err)
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%s: unexpected argument %q", flags.Name(), flags.Arg(0))
	}
	return nil
}
