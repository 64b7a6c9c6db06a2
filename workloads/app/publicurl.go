package app

import (
	"errors"
	"net/url"
	"regexp"
	"strings"
)

// secretName is what the names of values are like that let their readers in. A mere key may be that of a key-value store.
var secretName = regexp.MustCompile(`(?i)(^|[^a-z])(auth|credentials?|jwt|pass|passwd|pwd|sig)([^a-z]|$)|(access|api|private|secret)[-_]?key|authorization|password|secret|sess(ion)?id|signature|token$`)

// Why a URL is refused.
var (
	ErrUserInfo    = errors.New("its URL has a user or a password, which records and reports would show")
	ErrSecretValue = errors.New("its URL has a value whose name says that it is secret, and records and reports would show it")
	errUnreadable  = errors.New("its URL cannot be read: want one such as http://web/")
)

// IsSecretName reports whether the value of this name is one that lets its readers in.
func IsSecretName(name string) bool { return secretName.MatchString(name) }

// ParsePublicURL is a URL that may be shown. The error does not show another one. Records, reports, messages and the
// journal in the cluster have the URLs of probes and of manifests.
func ParsePublicURL(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, errUnreadable
	}
	_, password := u.User.Password()
	if u.User != nil && (password || u.Scheme != "ssh") || strings.Contains(u.Opaque, "@") {
		return nil, ErrUserInfo
	}
	for _, part := range strings.FieldsFunc(u.RawQuery+"&"+u.Fragment, func(r rune) bool { return strings.ContainsRune("&;?", r) }) {
		name, value, _ := strings.Cut(part, "=")
		if plain, err := url.QueryUnescape(name); err == nil {
			name = plain
		}
		if value != "" && IsSecretName(name) {
			return nil, ErrSecretValue
		}
	}
	return u, nil
}
