package environment

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata/fake"
)

// A Secret may be made by a controller after the application is ready, but not at any time. Only its metadata is asked for.
func TestSecretsAreAwaited(t *testing.T) {
	token := &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "token"},
	}
	for name, test := range map[string]struct {
		namespace string
		after     time.Duration // 0: never
		want      string
	}{
		"there at once":        {"shop", time.Nanosecond, ""},
		"there soon":           {"shop", 5 * time.Second, ""},
		"never":                {"shop", 0, "a probe has a header from Secret token: add it to the manifests, or correct fromSecret: waited 30s for Secret token to exist in namespace shop"},
		"in another namespace": {"other", time.Nanosecond, "no such Secret"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				scheme := fake.NewTestScheme()
				if err := metav1.AddMetaToScheme(scheme); err != nil {
					t.Fatal(err)
				}
				client := fake.NewSimpleMetadataClient(scheme)
				if test.after > 0 {
					go func() {
						time.Sleep(test.after)
						if err := client.Tracker().Add(token); err != nil {
							t.Error(err)
						}
					}()
				}
				err := secretExists(t.Context(), client, test.namespace, "token")
				if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
					t.Errorf("error %v, want one with %q", err, test.want)
				}
			})
		})
	}
}
