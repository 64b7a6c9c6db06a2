package scenario

import (
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// Labels say what a scenario is about, so that scenarios can be chosen by it: its suite; short or full; load, gateway, stock and mutant
// where they apply; and the types of its faults, such as node-kill. They are also its labels in Ginkgo.
func (s Spec) Labels() []string {
	labels := []string{s.Suite()}
	add := func(applies bool, label string) {
		if applies {
			labels = append(labels, label)
		}
	}
	add(s.Full, "full")
	add(!s.Full, "short")
	add(len(s.Load) > 0, "load")
	add(s.Gateway != nil, "gateway")
	add(strings.HasSuffix(s.Name, stockSuffix), "stock")
	add(s.Mutant != nil, "mutant")
	for _, f := range s.Faults {
		add(true, kebab(reflect.Indirect(reflect.ValueOf(f)).Type().Name()))
	}
	slices.Sort(labels)
	return slices.Compact(labels)
}

// kebab writes the name of a type as in names of scenarios: NodeKill is node-kill, EtcdLeaderKill is etcd-leader-kill.
func kebab(name string) string {
	var b strings.Builder
	for i, letter := range name {
		if unicode.IsUpper(letter) && i > 0 {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(letter))
	}
	return b.String()
}
