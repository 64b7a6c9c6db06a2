package words

import "strings"

// markdownSyntax has every character that could begin markup, end a table's cell, or mention a user.
var markdownSyntax = strings.NewReplacer(
	"\\", "\\\\", "|", "\\|", "<", "&lt;", ">", "&gt;", "&", "&amp;", "*", "\\*", "_", "\\_", "`", "\\`", "[", "\\[",
	"]", "\\]", "#", "\\#", "~", "\\~", "@", "@\u200b", "\r", " ", "\n", " ",
)

// MarkdownText makes recorded words plain text on one line.
func MarkdownText(s string) string { return markdownSyntax.Replace(s) }

// MarkdownCode makes recorded words a code span; a backtick, which would end it, becomes an apostrophe.
func MarkdownCode(s string) string {
	if s == "" {
		return "–"
	}
	return "`" + strings.NewReplacer("`", "'", "\n", " ", "\r", " ", "|", "\\|").Replace(s) + "`"
}

// MarkdownFence makes recorded words a code block that they cannot end.
func MarkdownFence(s string) string {
	ticks := "```"
	for strings.Contains(s, ticks) {
		ticks += "`"
	}
	return ticks + "sh\n" + s + "\n" + ticks
}
