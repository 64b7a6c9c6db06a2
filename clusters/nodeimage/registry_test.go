package nodeimage

import (
	"testing"
)

func TestRefused(t *testing.T) {
	for line, want := range map[string]bool{
		"Error response from daemon: manifest for kindest/node:v1.99.0 not found: manifest unknown: manifest unknown":                          true,
		"Error: initializing source docker://x: reading manifest v1.99.0 in registry.example/kindest/node: manifest unknown":                   true,
		"Error response from daemon: pull access denied for kindest/nod, repository does not exist":                                            true,
		"Error: initializing source docker://x: pinging container registry x: Get \"https://x/v2/\": dial tcp: lookup x: no such host":         false,
		"Error response from daemon: Get \"https://x/v2/\": net/http: request canceled while waiting for connection (Client.Timeout exceeded)": false,
		"Error response from daemon: Get \"https://x/v2/\": dial tcp 10.0.0.1:443: connect: connection refused":                                false,
		"Error response from daemon: Get \"https://x/v2/\": tls: failed to verify certificate: x509: certificate signed by unknown authority":  false,
		"": false,
	} {
		if got := refused(line); got != want {
			t.Errorf("%q: got %v", line, got)
		}
	}
}
