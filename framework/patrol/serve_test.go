package patrol

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/patrol/patroltest"
)

// A patrol serves until it is told to end. A client that says nothing does not keep it.
func TestServe(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- watching(patroltest.New(t)).Serve(ctx, listener) }()
	url := "http://" + listener.Addr().String()
	err = poll.Until(t.Context(), "the patrol to be ready", time.Minute, func(context.Context) (bool, string, error) {
		status, _, err := fetch(url + "/readyz")
		return status == http.StatusOK, http.StatusText(status), err
	})
	if err != nil {
		t.Fatal(err)
	}
	if status, body, err := fetch(url + "/metrics"); status != http.StatusOK || !strings.Contains(body, "holdfast_audit_workloads 0") {
		t.Errorf("%d, %v\n%s", status, err, body)
	}
	silent, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close() //nolint:errcheck // only opened
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("told to end, it goes on")
	}
	if _, err := net.Dial("tcp", listener.Addr().String()); err == nil {
		t.Error("it has ended, and still takes connections")
	}
}

func fetch(url string) (status int, body string, err error) {
	response, err := http.Get(url)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close() //nolint:errcheck // read
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

// A listener that fails ends the patrol with its error.
func TestServeWithoutAListener(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
	if err := watching(patroltest.New(t)).Serve(t.Context(), listener); err == nil || !strings.HasPrefix(err.Error(), "serve on 127.0.0.1:") {
		t.Errorf("%v", err)
	}
}
