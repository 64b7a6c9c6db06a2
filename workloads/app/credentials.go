package apptest

import (
	"errors"
	"net/url"
	"regexp"
	"strings"
)

// secretName is what the names of values are like that let somebody in. A mere key may be that of a key-value store.
var secretName = regexp.MustCompile(`(?i)(^|[^a-z])(auth|credentials?|jwt|pass|passwd|pwd|sig)([^a-z]|$)|(access|api|private|secret)[-_]?key|authorization|password|secret|sess(ion)?id|signature|token$`)

// A URL has no credentials: it is in records, reports and messages, and in the journal in the cluster.
var (
	errUserInfo    = errors.New("its URL has a user or a password, which records and reports would show: leave it out, and send a header from a Secret: headers: {Authorization: {fromSecret: NAME/KEY}}")
	errSecretValue = errors.New("its URL has a value whose name says that it is secret, and records and reports would show it: leave it out, and send a header from a Secret: " +
		"headers: {NAME: {fromSecret: NAME/KEY}}")
)

// free returns an error for a URL with credentials in it, which does not show them.
func free(u *url.URL) error {
	if u.User != nil || strings.Contains(u.Opaque, "@") {
		return errUserInfo
	}
	for _, part := range strings.FieldsFunc(u.RawQuery+"&"+u.Fragment, func(r rune) bool { return strings.ContainsRune("&;?", r) }) {
		name, value, _ := strings.Cut(part, "=")
		if plain, err := url.QueryUnescape(name); err == nil {
			name = plain
		}
		if value != "" && secretName.MatchString(name) {
			return errSecretValue
		}
	}
	return nil
}

// parse is a URL. The error does not show it: it may have credentials in it.
func parse(rawURL string) (*url.URL, error) {
	u, err := url.Parse(rawURL)
	var wrong *url.Error
	if errors.As(err, &wrong) {
		err = errors.New("its URL cannot be read: want one such as http://web/")
	}
	return u, err
}
