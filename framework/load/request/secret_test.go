package request_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/load/request"
)

func from(header, name, key string) request.Request {
	return request.Request{FromSecret: map[string]request.SecretKey{header: {Name: name, Key: key}}}
}

func TestSecretKeys(t *testing.T) {
	for text, want := range map[string]request.SecretKey{
		"probe-token/header":  {Name: "probe-token", Key: "header"},
		"probe.token/tls.key": {Name: "probe.token", Key: "tls.key"},
		"probe-token":         {}, "/header": {}, "probe-token/": {}, "": {}, "a/b/c": {}, "../etc": {}, "a/..": {}, "a/.": {}, "a/..data": {}, "A/b": {}, `a/b\c`: {},
	} {
		got, err := request.ParseSecretKey(text)
		if wrong := want == (request.SecretKey{}); wrong != (err != nil) || !wrong && got != want {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
}

// A plan comes over the network: what it names must not lead out of the folder of the Secrets.
func TestRequestsWithSecretsAreValidated(t *testing.T) {
	both := from("authorization", "a", "b")
	both.Headers = map[string]string{"Authorization": "mine"}
	for name, test := range map[string]struct {
		request request.Request
		want    string
	}{
		"a Secret":           {from("Authorization", "a", "b"), ""},
		"another folder":     {from("Authorization", "../a", "b"), `"../a/b" is no key of a Secret`},
		"a path":             {from("Authorization", "a", "../../passwd"), `"a/../../passwd" is no key of a Secret`},
		"the client's own":   {from("host", "a", "b"), `header "host" is set by the client itself`},
		"no header":          {from("a b", "a", "b"), `header "a b" is not a valid header`},
		"a text as well":     {both, `header "Authorization" is there twice`},
		"two texts":          {request.Request{Headers: map[string]string{"x-a": "1", "X-A": "2"}}, `header "X-A" is there twice`},
		"a text with a line": {request.Request{Headers: map[string]string{"X-A": "1\n"}}, `header "X-A" is not a valid header`},
	} {
		if err := test.request.Validate(); test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: error %v, want one with %q", name, err, test.want)
		}
		if test.request.Zero() {
			t.Errorf("%s: it is no usual request", name)
		}
	}
}

func TestWithSecrets(t *testing.T) {
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "a"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "a", "b"), []byte("s3cret"), 0o600); err != nil {
		t.Fatal(err)
	}
	plain := from("Authorization", "a", "b")
	plain.Headers = map[string]string{"X-Probe": "1"}
	private, err := plain.WithSecrets(folder)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"X-Probe": "1", "Authorization": "s3cret"}, private.Headers); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"X-Probe": "1"}, plain.Headers); diff != "" {
		t.Errorf("the request of the plan has the value (-want +got):\n%s", diff)
	}
	sent, err := private.New(t.Context(), "http://web/")
	if err != nil || sent.Header.Get("Authorization") != "s3cret" {
		t.Errorf("the request carries %q, %v", sent.Header, err)
	}
	if got := private.Hide("told s3cret, and s3cret again"); got != "told (from a Secret), and (from a Secret) again" {
		t.Errorf("hidden: %q", got)
	}
	if _, err := from("Authorization", "a", "c").WithSecrets(folder); err == nil || !strings.Contains(err.Error(), "no Secret a with a key c") {
		t.Errorf("a key that is not there: %v", err)
	}
	if same, err := (request.Request{Body: "x"}).WithSecrets("/nowhere"); err != nil || same.Body != "x" || same.Private() {
		t.Errorf("a request without Secrets: %+v, %v", same, err)
	}
}
