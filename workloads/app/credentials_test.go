package app_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/workloads/app"
)

// What lets its reader in is in no URL: each would be in run.json, in the reports, in the certificate, in the Lease and in the journal. The error does not show
// it either, which a CI system keeps.
func TestURLsHaveNoCredentials(t *testing.T) {
	for url, want := range map[string]error{
		"http://jane:hunter2@web/":                     app.ErrUserInfo,
		"http://hunter2@web/":                          app.ErrUserInfo,
		"tcp://:hunter2@db:5432":                       app.ErrUserInfo,
		"wss://jane:hunter2@web/socket":                app.ErrUserInfo,
		"jane:hunter2@web":                             app.ErrUserInfo,
		"http://web/?token=hunter2":                    app.ErrSecretValue,
		"http://web/?a=b&access_token=hunter2":         app.ErrSecretValue,
		"http://web/?a=b;api-key=hunter2":              app.ErrSecretValue,
		"http://web/?X-Amz-Signature=hunter2":          app.ErrSecretValue,
		"http://web/?apiKey=hunter2":                   app.ErrSecretValue,
		"http://web/?pass%77ord=hunter2":               app.ErrSecretValue,
		"http://web/?userPassword=hunter2":             app.ErrSecretValue,
		"http://web/?client_secret=hunter2":            app.ErrSecretValue,
		"http://web/?PHPSESSIONID=hunter2":             app.ErrSecretValue,
		"http://web/#access_token=hunter2":             app.ErrSecretValue,
		"http://web/#/login?token=hunter2":             app.ErrSecretValue,
		"http://jane:hunter2@we b/":                    nil, // no URL
		"http://web/?a=%zz&token=hunter2":              app.ErrSecretValue,
		"http://web/search?q=monkey&author=x&page=2":   nil,
		"http://web/keys?keyboard=de&design=x&passage": nil,
		"http://web/?token=":                           nil,
		"http://kv/get?key=probe&code=de":              nil,
		"http://web/secret/token":                      nil, // a path is not told from any other
	} {
		_, err := app.PlainURL(url)
		unreadable := want == nil && err != nil && strings.Contains(err.Error(), "cannot be read")
		if !unreadable && !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", url, err, want)
		}
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("the error shows it: %v", err)
		}
	}
}

// Nor are they in the URLs of manifests, of values and of kustomizations, wherever one is named: reports say where each object was read.
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
