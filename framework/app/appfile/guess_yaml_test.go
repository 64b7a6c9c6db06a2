package appfile_test

import (
	"strings"
	"testing"
)

// Folders with names that YAML takes for something else are found again: guessed reads the manifests by the file.
func TestFoldersWithAnyName(t *testing.T) {
	for folder, want := range map[string]string{
		"team [a]": "manifests: ['team [a]']\n", "shop #2": "manifests: ['shop #2']\n", "shop: prod": "manifests: ['shop: prod']\n", "{x}": "manifests: ['{x}']\n", "a, b": "manifests: ['a, b']\n",
		"- x": "manifests: ['- x']\n", "1.0": `manifests: ["1.0"]` + "\n", "null": `manifests: ["null"]` + "\n", "a\nb": `manifests: ["a\nb"]` + "\n", `a"b`: "manifests: [a\"b]\n", "'x'": "manifests: ['''x''']\n",
	} {
		t.Run(folder, func(t *testing.T) {
			text := guessed(t, folder, deployment("web", "{name: c, image: i}")+serviceOf("web", "{port: 80}"))
			if !strings.Contains(text, want) {
				t.Errorf("want %q in\n%s", want, text)
			}
		})
	}
}
