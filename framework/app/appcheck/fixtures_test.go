package appcheck_test

import (
	"regexp"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func quantities(t *testing.T, cpu, memory string) corev1.ResourceList {
	t.Helper()
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
}

var file = regexp.MustCompile(`\(/[^)]*\)`)

// withoutFile replaces the names of files.
func withoutFile(text string) string { return file.ReplaceAllString(text, "(FILE)") }
