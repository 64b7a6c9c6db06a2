package recording

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters/existing"
	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/observe"
)

// Survey is what is known of a cluster before it is recorded.
type Survey struct {
	Identity existing.Identity
	Facts    []existing.Fact
	// NotWatched are the kinds of objects that the user must not list and watch. A recording goes without them.
	NotWatched []history.NotWatched
}

// needed are the kinds without which nothing can be shown: pods, and the workloads that they belong to.
var needed = []string{"pods", "deployments"}

// Look finds out about a cluster all that a recording needs to know. It returns an error if nothing could be recorded: before anything is begun.
func Look(ctx context.Context, access *existing.Access, namespaces []string) (s Survey, err error) {
	if s.Identity, err = access.Check(ctx); err != nil {
		return s, err
	}
	client, err := kubernetes.NewForConfig(access.ReadOnly())
	if err != nil {
		return s, err
	}
	if err := there(ctx, client, namespaces); err != nil {
		return s, access.Explain(err)
	}
	if s.NotWatched, err = notWatched(ctx, client, namespaces); err != nil {
		return s, access.Explain(err)
	}
	for _, n := range s.NotWatched {
		if slices.Contains(needed, n.What) {
			return s, fmt.Errorf("%s: nothing can be recorded: %s; name a namespace with -n, or ask for a Role with get, list and watch of %s",
				access, n.Why, prose.List(kindNames()))
		}
	}
	if s.Facts, err = existing.Facts(ctx, client); err != nil {
		return s, access.Explain(err)
	}
	return s, nil
}

func kindNames() (names []string) {
	for _, k := range observe.Kinds() {
		names = append(names, k.What)
	}
	return names
}

// there returns an error for a namespace that does not exist. A user who must not read namespaces is not told.
func there(ctx context.Context, client kubernetes.Interface, namespaces []string) error {
	var errs []error
	for _, name := range namespaces {
		_, err := client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
		if err != nil && !existing.MayNot(err) {
			errs = append(errs, fmt.Errorf("look at namespace %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// notWatched asks which kinds of objects the user must not list and watch, in one of the namespaces.
func notWatched(ctx context.Context, client kubernetes.Interface, namespaces []string) (list []history.NotWatched, err error) {
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	for _, k := range observe.Kinds() {
		in := namespaces
		if k.Everywhere {
			in = []string{metav1.NamespaceAll}
		}
		var wanted []existing.Permission
		for _, namespace := range in {
			for _, verb := range []string{"list", "watch"} {
				wanted = append(wanted, existing.Permission{Verb: verb, Group: k.Group, Resource: k.What, Namespace: namespace})
			}
		}
		missing, err := existing.Missing(ctx, client, wanted...)
		if err != nil {
			return nil, err
		}
		if len(missing) > 0 {
			var words []string
			for _, p := range missing {
				words = append(words, p.String())
			}
			list = append(list, history.NotWatched{What: k.What, Why: "this user must not " + strings.Join(words, ", ")})
		}
	}
	return list, nil
}

// without are the kinds that are not watched.
func (s Survey) without() (kinds []string) {
	for _, n := range s.NotWatched {
		kinds = append(kinds, n.What)
	}
	return kinds
}

// facts are those of the record.
func (s Survey) facts() (list []history.Fact) {
	for _, f := range s.Facts {
		list = append(list, history.Fact(f))
	}
	return list
}
