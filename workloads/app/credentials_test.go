package app_test

import (
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/workloads/app"
)

// The URLs of manifests, of values and of kustomizations have no credentials, wherever one is named: reports say where each object was read.
func TestURLsOfManifestsHaveNoCredentials(t *testing.T) {
	for name, from := range map[string]app.Sources{
		"-f":            {Files: []string{"https://jane:hunter2@127.0.0.1:1/shop.yaml"}},
		"a token":       {Files: []string{"k8s", "https://127.0.0.1:1/shop.yaml?token=hunter2"}},
		"--before":      {Files: []string{"k8s"}, Before: []string{"https://hunter2@127.0.0.1:1/crds.yaml"}},
		"-k":            {Kustomize: "git::https://jane:hunter2@127.0.0.1:1/shop//k8s?ref=v1"},
		"--values":      {Chart: app.Chart{Path: "chart", Values: []string{"https://127.0.0.1:1/v.yaml?X-Amz-Signature=hunter2"}}},
		"--chart":       {Chart: app.Chart{Path: "oci://jane:hunter2@127.0.0.1:1/shop"}},
		"no URL at all": {Files: []string{"https://jane:hunter2@%zz/"}},
	} {
		_, err := app.Read(from)
		if err == nil || !strings.Contains(err.Error(), "what is read is named by a URL, and its URL ") || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", name, err)
		}
	}
	put(t, map[string]string{"k/kustomization.yaml": "resources: ['https://jane:hunter2@127.0.0.1:1/shop.yaml']\n"})
	if _, err := app.Read(app.Sources{Kustomize: "k"}); err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("in a kustomization: %v", err)
	}
	for _, url := range []string{"ssh://git@127.0.0.1/shop//k8s", "git::ssh://git@127.0.0.1/shop//k8s"} { // a user, and a key that is not in the URL
		if _, err := app.Read(app.Sources{Files: []string{"k8s"}, Kustomize: url}); err == nil || strings.Contains(err.Error(), "a user or a password") {
			t.Errorf("%s: %v", url, err)
		}
	}
}
