package catalogue

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/words"
)

// usualMode is the mode of kube-proxy if nobody asks for another one.
const usualMode = "nftables"

// byMode sorts reports by kube-proxy's mode. Of an old record that does not say, it is the usual one.
func byMode(all []reports.Report) map[string][]reports.Report {
	sorted := make(map[string][]reports.Report)
	for i := range all {
		mode := cmp.Or(all[i].Cluster.ProxyMode, usualMode)
		sorted[mode] = append(sorted[mode], all[i])
	}
	return sorted
}

// writeModes writes what was found in kube-proxy's other modes, each below what was found in the usual one.
func (f findings) writeModes(b *strings.Builder) {
	for _, mode := range slices.Sorted(maps.Keys(f.OtherModes)) {
		found := f.OtherModes[mode]
		fmt.Fprintf(b, "\n## With kube-proxy in %s mode\n\nAll else on this page was seen in %s mode.\n", words.MarkdownText(mode), usualMode)
		for _, name := range slices.Sorted(maps.Keys(found)) {
			one := found[name]
			fmt.Fprintf(b, "\n### %s, in %s mode\n\n%s\n", words.MarkdownText(name), words.MarkdownText(mode), one.line(name))
			if usual, ok := f.Scenarios[name]; ok {
				fmt.Fprintf(b, "- in %s mode: %s\n", usualMode, words.MarkdownText(usual.Seen))
			}
		}
	}
}
