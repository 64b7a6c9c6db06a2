package cli

import (
	"strings"
	"testing"
)

// What a test cannot begin with is said before any cluster is made.
func TestTestRefusesWhatItCannotTest(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"nothing to test":     {[]string{"test"}, "no manifests: there is no holdfast.yaml here"},
		"no such file":        {[]string{"test", "-f", "k8s/", "--url", "http://web/"}, "there is no file or folder k8s/"},
		"a file and flags":    {[]string{"test", "my.yaml", "-f", "k8s/"}, "the manifests are named in that file"},
		"nothing to watch":    {[]string{"test", "--watch", "-f", "-", "--url", "http://web/"}, "no manifests"},
		"no such description": {[]string{"test", "my.yaml"}, "my.yaml: no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			_, code, err := execute(t, test.args...)
			if code != 4 || err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("exit code %d, %v; want 4 and %q", code, err, test.want)
			}
		})
	}
}
