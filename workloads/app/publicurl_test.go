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
		_, err := app.ParsePublicURL(url)
		unreadable := want == nil && err != nil && strings.Contains(err.Error(), "cannot be read")
		if !unreadable && !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", url, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error shows it: %v", err)
		}
	}
}
