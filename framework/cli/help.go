package cli

import (
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"
)

// helpColumns is the width of help texts.
const helpColumns = 100

// wrapHelp wraps the help of a command and of its subcommands at helpColumns.
func wrapHelp(cmd *cobra.Command) {
	cmd.Long = wrapParagraphs(cmd.Long)
	for _, sub := range cmd.Commands() {
		wrapHelp(sub)
	}
}

// wrapParagraphs joins the lines of each paragraph, and breaks them at helpColumns. Indented lines, such as SQL, stay as they are.
func wrapParagraphs(long string) string {
	paragraphs := strings.Split(long, "\n\n")
	for i, p := range paragraphs {
		if !strings.HasPrefix(p, " ") {
			p = text.WrapSoft(strings.ReplaceAll(p, "\n", " "), helpColumns)
		}
		lines := strings.Split(p, "\n")
		for j := range lines {
			lines[j] = strings.TrimRight(lines[j], " ")
		}
		paragraphs[i] = strings.Join(lines, "\n")
	}
	return strings.Join(paragraphs, "\n\n")
}

// usageTemplate is cobra's, with the descriptions of flags wrapped as well.
func usageTemplate(root *cobra.Command) string {
	return strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages ", ".FlagUsagesWrapped 100 ")
}
