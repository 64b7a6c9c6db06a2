package cli

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/holdfast-ha/holdfast/framework/audit"
)

// unrepeated are flags that do not change what a command does to a cluster, or that are about a single run.
var unrepeated = []string{"artifacts", "check", "help", "keep", "keep-logs", "list", "repeat", "resume", "time-budget", "verbose", "watch"}

// againCommand is a command that does the same again, for a shell: its words, the given flags but those without a meaning there, and others.
func againCommand(words []string, given *pflag.FlagSet, without []string, others ...string) string {
	words = append(words, others...)
	for i, word := range words {
		words[i] = audit.Word(word)
	}
	flags := givenFlags(given, func(name string) bool {
		return !slices.Contains(unrepeated, name) && !slices.Contains(without, name) && !slices.Contains(others, "--"+name)
	})
	return strings.Join(append(words, flags...), " ")
}

// givenFlags are the given flags of some names, as words for a shell.
func givenFlags(flags *pflag.FlagSet, wanted func(name string) bool) (words []string) {
	flags.Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, is := f.Value.(pflag.SliceValue); is {
			values = list.GetSlice()
		}
		for _, value := range values {
			switch kind := f.Value.Type(); {
			case !wanted(f.Name):
			case kind == "bool" && value == "true":
				words = append(words, "--"+f.Name)
			case kind == "bool":
				words = append(words, "--"+f.Name+"="+value)
			case kind == "stringSlice" && strings.Contains(value, ","): // the flag would split it
				words = append(words, "--"+f.Name, audit.Quote(`"`+value+`"`))
			default:
				words = append(words, "--"+f.Name, audit.Word(value))
			}
		}
	})
	return words
}
