package request

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
	"k8s.io/apimachinery/pkg/util/validation"
)

// SecretKey is a key of a Secret in the namespace of the load workers.
type SecretKey struct {
	Name string `json:"name"`
	Key  string `json:"key"`
}

func (k SecretKey) String() string { return k.Name + "/" + k.Key }

// ParseSecretKey reads NAME/KEY.
func ParseSecretKey(text string) (SecretKey, error) {
	name, key, _ := strings.Cut(text, "/")
	k := SecretKey{Name: name, Key: key}
	return k, k.validate()
}

// validate also keeps a name from leading out of the folder of the Secrets: a key is no path.
func (k SecretKey) validate() error {
	if len(validation.IsDNS1123Subdomain(k.Name)) > 0 || len(validation.IsConfigMapKey(k.Key)) > 0 {
		return fmt.Errorf("%q is no key of a Secret: want NAME/KEY", k.String())
	}
	return nil
}

// Private reports whether the request carries the value of a Secret, which must not be written down.
func (r Request) Private() bool { return len(r.FromSecret) > 0 }

// WithSecrets is the request with the values of its headers FromSecret. The folder has a folder for each Secret and in it a file for each
// key, as the kubelet mounts them. No error has a value in it.
func (r Request) WithSecrets(folder string) (Request, error) {
	if !r.Private() {
		return r, nil
	}
	all := maps.Clone(r.Headers)
	if all == nil {
		all = map[string]string{}
	}
	for header, from := range r.FromSecret {
		value, err := os.ReadFile(filepath.Join(folder, from.Name, from.Key))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return r, fmt.Errorf("header %s: the application's namespace has no Secret %s with a key %s: create it, or correct fromSecret", header, from.Name, from.Key)
		case err != nil:
			return r, fmt.Errorf("header %s: read key %s of Secret %s: %w", header, from.Key, from.Name, err)
		case len(value) == 0 || !httpguts.ValidHeaderFieldValue(string(value)):
			return r, fmt.Errorf("header %s: key %s of Secret %s is empty, or has a line break or another character that no header can have: "+
				"create it with 'kubectl create secret generic --from-literal'", header, from.Key, from.Name)
		}
		all[header] = string(value)
	}
	r.Headers = all
	return r, nil
}

// hidden stands in a text in place of the value of a Secret.
const hidden = "(from a Secret)"

// Hide takes the values of Secrets out of a text that is to be written down: errors quote what a server says, and a server may say what
// it was told.
func (r Request) Hide(text string) string {
	if text == "" {
		return ""
	}
	for header := range r.FromSecret {
		if value := r.Headers[header]; value != "" {
			quoted := strconv.Quote(value)
			text = strings.NewReplacer(quoted[1:len(quoted)-1], hidden, value, hidden).Replace(text)
		}
	}
	return text
}
