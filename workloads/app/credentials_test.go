package apptest

import (
	"errors"
	"strings"
	"testing"
)

// What lets somebody in is in no URL: each would be in run.json, in the reports, in the certificate, in the Lease and in the journal. The error does not show
// it either, which a CI system keeps.
func TestURLsHaveNoCredentials(t *testing.T) {
	const hidden = "hunter2"
	for url, want := range map[string]error{
		"http://jane:hunter2@web/":                     errUserInfo,
		"http://hunter2@web/":                          errUserInfo,
		"tcp://:hunter2@db:5432":                       errUserInfo,
		"wss://jane:hunter2@web/socket":                errUserInfo,
		"jane:hunter2@web":                             errUserInfo,
		"http://web/?token=hunter2":                    errSecretValue,
		"http://web/?a=b&access_token=hunter2":         errSecretValue,
		"http://web/?a=b;api-key=hunter2":              errSecretValue,
		"http://web/?X-Amz-Signature=hunter2":          errSecretValue,
		"http://web/?apiKey=hunter2":                   errSecretValue,
		"http://web/?pass%77ord=hunter2":               errSecretValue,
		"http://web/?userPassword=hunter2":             errSecretValue,
		"http://web/?client_secret=hunter2":            errSecretValue,
		"http://web/?PHPSESSIONID=hunter2":             errSecretValue,
		"http://web/#access_token=hunter2":             errSecretValue,
		"http://web/#/login?token=hunter2":             errSecretValue,
		"http://jane:hunter2@we b/":                    nil, // no URL
		"http://web/?a=%zz&token=hunter2":              errSecretValue,
		"http://web/search?q=monkey&author=x&page=2":   nil,
		"http://web/keys?keyboard=de&design=x&passage": nil,
		"http://web/?token=":                           nil,
		"http://kv/get?key=probe&code=de":              nil,
		"http://web/secret/token":                      nil, // a path is not told from any other
	} {
		err := OfURL(url, 0).Check("shop")
		unreadable := want == nil && err != nil && strings.Contains(err.Error(), "cannot be read")
		if !unreadable && !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", url, err, want)
		}
		if err != nil && strings.Contains(err.Error(), hidden) {
			t.Errorf("the error shows it: %v", err)
		}
	}
}
