package collect

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
)

// headerToken carries a run's token in each call of a worker. It is not Authorization, which the API server keeps for itself.
const headerToken = "X-Holdfast-Token"

// NewToken makes the token of a run. A worker sends any request to any address, so it takes orders from nothing but its run.
func NewToken() string { return rand.Text() }

// TokenSum is what a worker is told of its token: who may read its pod learns nothing that a call could carry.
func TokenSum(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// guarded refuses each call without the token but that of the kubelet, which asks only whether the worker runs. Without a sum, it refuses none.
func guarded(sum string, api http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		given := TokenSum(r.Header.Get(headerToken))
		if sum != "" && r.URL.Path != "/healthz" && subtle.ConstantTimeCompare([]byte(given), []byte(sum)) != 1 {
			http.Error(rw, "the call does not carry the token of the run whose worker this is", http.StatusForbidden)
			return
		}
		api.ServeHTTP(rw, r)
	})
}
