package scenario

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/holdfast-ha/holdfast/workloads"
)

func TestMakeNamespace(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(*testing.T, *stage, *town)
		want  string // in the error; empty: none
	}{
		"there is none": {func(*testing.T, *stage, *town) {}, ""},
		"the answer to the first try never came": {func(t *testing.T, st *stage, _ *town) {
			checkError(t, st.makeNamespace(t.Context()), "")
		}, ""},
		"an earlier run's is going": {func(t *testing.T, st *stage, home *town) {
			home.keep = true
			makeAndDelete(t, st)
			time.AfterFunc(5*time.Second, func() {
				home.mu.Lock()
				defer home.mu.Unlock()
				delete(home.objects, "/api/v1/namespaces/hf-chaos-quiet")
			})
		}, ""},
		"an earlier run's stays": {func(t *testing.T, st *stage, home *town) {
			home.keep = true
			makeAndDelete(t, st)
		}, "waited 2m0s for namespace hf-chaos-quiet of an earlier run to be gone: last seen Terminating"},
		"another run uses it": {func(t *testing.T, st *stage, _ *town) {
			checkError(t, st.makeNamespace(t.Context()), "")
			st.run.token = "another's"
		}, "namespace hf-chaos-quiet is there already, and this run has not made it: a run that was killed has left it, " +
			"or another program uses it; 'holdfast heal 0' removes it"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st, home, _ := newStage(t, quiet())
				test.spoil(t, st, home)
				checkError(t, st.makeNamespace(t.Context()), test.want)
			})
		})
	}
}

// TestANamespaceIsMadeOnceItTakesPods: its service account is the controller manager's to make.
func TestANamespaceIsMadeOnceItTakesPods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, home, _ := newStage(t, quiet())
		home.refuse = func(_, path string) *apierrors.StatusError {
			if strings.HasSuffix(path, "/serviceaccounts/default") {
				return apierrors.NewNotFound(corev1.Resource("serviceaccounts"), "default")
			}
			return nil
		}
		checkError(t, st.makeNamespace(t.Context()), "waited 2m0s for namespace hf-chaos-quiet to have its service account: ")
	})
}

func makeAndDelete(t *testing.T, st *stage) {
	t.Helper()
	checkError(t, st.makeNamespace(t.Context()), "")
	checkError(t, st.emptyNamespace(t.Context()), "")
}

func TestEmptyNamespace(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(*town)
		want  string // in the error; empty: none
	}{
		"it goes":           {func(*town) {}, ""},
		"it was never made": {func(t *town) { delete(t.objects, "/api/v1/namespaces/hf-chaos-quiet") }, ""},
		"its Service stays": {
			func(t *town) { t.keep = true },
			"waited 2m0s for namespace hf-chaos-quiet to be empty: last seen 0 pods, 1 Services",
		},
		"it may not be deleted": {
			func(t *town) {
				t.refuse = func(method, _ string) *apierrors.StatusError {
					if method == http.MethodDelete {
						return apierrors.NewUnauthorized("who are you?")
					}
					return nil
				}
			},
			"delete namespace hf-chaos-quiet: who are you?",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st, home, _ := newStage(t, quiet())
				objects, err := st.wanted(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				ours := workloads.Namespace(st.namespace)
				ours.Annotations = map[string]string{madeBy: st.run.token}
				if err := st.create(t.Context(), append([]workloads.Object{ours}, objects...)...); err != nil {
					t.Fatal(err)
				}
				test.spoil(home)
				began := time.Now()
				checkError(t, st.emptyNamespace(t.Context()), test.want)
				if took := time.Since(began); test.want == "" && took > 0 {
					t.Errorf("took %s for what goes at once", took)
				}
				left := len(home.chosen("/api/v1/namespaces/hf-chaos-quiet/pods", true)) +
					len(home.chosen("/api/v1/namespaces/hf-chaos-quiet/services", true))
				if test.want == "" && name != "it was never made" && left > 0 {
					t.Errorf("%d pods and Services are left", left)
				}
			})
		})
	}
}
