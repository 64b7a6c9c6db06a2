package apptest

import (
	"regexp"
	"slices"
	"strings"
)

// proxy is a server whose configuration says when it tries again.
type proxy struct {
	name, instead string
	// off is the configuration without retries, and the first line that was changed, counted from 0; negative: it has none.
	off func(text string) (changed string, line int)
}

// proxies are those whose configuration is known.
var proxies = []proxy{{"HAProxy", "retries 0", haproxyWithout}, {"nginx", "off", nginxWithout}}

// haproxySections begin with these words. Retries can be set in the first three.
var haproxySections = []string{
	"defaults", "backend", "listen", "global", "frontend", "resolvers", "peers", "userlist", "mailers", "cache", "program", "http-errors", "ring",
	"log-forward", "fcgi-app", "aggregations", "director", "crt-store", "traces",
}

// haproxyWithout turns off the retries of each section that has a line about them. HAProxy tries three times where a section says nothing, so
// `retries 0` takes the place of the first such line, and of none but these.
//
// Source: https://docs.haproxy.org/3.0/configuration.html#4.2-retries
func haproxyWithout(text string) (changed string, first int) {
	var lines []string
	first, section, off := -1, "", false
	for i, line := range strings.Split(text, "\n") {
		said, _, _ := strings.Cut(line, "#")
		words := strings.Fields(said)
		if len(words) > 0 && slices.Contains(haproxySections, words[0]) {
			section, off = words[0], false
		}
		if !slices.Contains(haproxySections[:3], section) || !haproxyRetries(words) {
			lines = append(lines, line)
			continue
		}
		if first < 0 {
			first = i
		}
		if !off {
			lines, off = append(lines, line[:len(line)-len(strings.TrimLeft(line, " \t"))]+"retries 0"), true
		}
	}
	return strings.Join(lines, "\n"), first
}

// haproxyRetries reports whether a line sets retries.
func haproxyRetries(words []string) bool {
	switch {
	case len(words) < 2:
		return false
	case words[0] == "retries":
		return words[1] != "0"
	case words[0] == "retry-on":
		return words[1] != "none"
	}
	return words[0] == "option" && words[1] == "redispatch"
}

// nginxTries are the directives with which nginx tries another server, and their conditions. Without them it does so on errors and time-outs.
//
// Source: https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_next_upstream
var nginxTries = regexp.MustCompile(`\b((?:proxy|grpc|fastcgi|uwsgi|scgi)_next_upstream)(\s+[^;{}#]+);`)

func nginxWithout(text string) (changed string, first int) {
	first = -1
	end := 0
	for _, at := range nginxTries.FindAllStringSubmatchIndex(text, -1) {
		begin := strings.LastIndexByte(text[:at[0]], '\n') + 1
		if strings.Contains(text[begin:at[0]], "#") || strings.TrimSpace(text[at[4]:at[5]]) == "off" {
			continue
		}
		if first < 0 {
			first = strings.Count(text[:at[0]], "\n")
		}
		changed += text[end:at[4]] + " off"
		end = at[5]
	}
	return changed + text[end:], first
}
