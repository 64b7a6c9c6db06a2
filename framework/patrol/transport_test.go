package patrol

import (
	"net/http"
	"net/http/httptest"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// The client that writes Events can do nothing else, whatever its role allows.
func TestOnlyEvents(t *testing.T) {
	var asked []string
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.Path)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"apiVersion": "events.k8s.io/v1", "kind": "Event"}`))
	}))
	defer api.Close()
	client, err := kubernetes.NewForConfig(OnlyEvents(&rest.Config{Host: api.URL}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, events := t.Context(), client.EventsV1().Events("shop")
	if _, err := events.Create(ctx, &eventsv1.Event{}, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
	refused := map[string]error{"delete an Event": events.Delete(ctx, "e", metav1.DeleteOptions{})}
	_, refused["list Events"] = events.List(ctx, metav1.ListOptions{})
	_, refused["update an Event"] = events.Update(ctx, &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Name: "e"}}, metav1.UpdateOptions{})
	_, refused["read Secrets"] = client.CoreV1().Secrets("shop").List(ctx, metav1.ListOptions{})
	_, refused["create a pod"] = client.CoreV1().Pods("shop").Create(ctx, &corev1.Pod{}, metav1.CreateOptions{})
	_, refused["create in a namespace called events"] = client.CoreV1().ConfigMaps("events").Create(ctx, &corev1.ConfigMap{}, metav1.CreateOptions{})
	_, refused["create an Event of the old API"] = client.CoreV1().Events("shop").Create(ctx, &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "shop"}}, metav1.CreateOptions{})
	for what, err := range refused {
		if err == nil {
			t.Errorf("it may %s", what)
		}
	}
	if len(asked) != 1 || asked[0] != "POST /apis/events.k8s.io/v1/namespaces/shop/events" {
		t.Errorf("sent: %v", asked)
	}
}
