package loadtest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/load/collect"
	"github.com/holdfast-ha/holdfast/framework/load/request"
	"github.com/holdfast-ha/holdfast/workloads/expect"
)

// token is what nobody but the server may see. Quotes and backslashes are escaped where a text quotes it.
const token = `Bearer s3cret-"\-value`

// secrets is a folder as the kubelet mounts Secrets.
func secrets(t *testing.T, value string) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "probe-token"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "probe-token", "header"), []byte(value), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

func planWithSecret(url string, want expect.Answer) load.Plan {
	limits := load.Timeouts{Connect: time.Minute, Response: time.Minute, Request: time.Minute}
	return load.Plan{ID: "shop", Duration: 500 * time.Millisecond, Lanes: []load.Lane{{
		Lane: history.LaneFresh, Target: url, Rate: 20, Timeouts: limits, Expect: want,
		Request: request.Request{FromSecret: map[string]request.SecretKey{"Authorization": {Name: "probe-token", Key: "header"}}},
	}}}
}

// A server gets the value, and says it again wherever errors quote a server. It is in no record and in no log.
func TestValuesOfSecretsAreWrittenNowhere(t *testing.T) {
	equals := "7"
	for name, test := range map[string]struct {
		answer func(w http.ResponseWriter, told string)
		want   expect.Answer
		err    string // of each row
	}{
		"in the body":         {func(w http.ResponseWriter, told string) { _, _ = fmt.Fprint(w, told) }, expect.Answer{Contains: "open"}, "is not written down"},
		"in a body of no use": {func(w http.ResponseWriter, told string) { _, _ = fmt.Fprint(w, told) }, expect.Answer{JSON: &expect.JSON{Path: "{.id}"}}, "want JSON, got an answer that is not written down"},
		"in JSON": {func(w http.ResponseWriter, told string) { _ = json.NewEncoder(w).Encode(map[string]string{"id": told}) },
			expect.Answer{JSON: &expect.JSON{Path: "{.id}", Equals: &equals}}, "is not written down"},
		"cut off": {func(w http.ResponseWriter, told string) { _, _ = fmt.Fprint(w, strings.Repeat("x", 90)+told) }, expect.Answer{Contains: "open"}, "is not written down"},
		"in place of a status": {func(w http.ResponseWriter, told string) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				panic(err)
			}
			_, _ = fmt.Fprintf(conn, "HTTP/1.1 %s\r\n\r\n", told)
			_ = conn.Close()
		}, expect.Answer{}, "malformed HTTP"},
	} {
		t.Run(name, func(t *testing.T) {
			var told atomic.Bool
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				told.Store(r.Header.Get("Authorization") == token)
				test.answer(w, r.Header.Get("Authorization"))
			}))
			defer server.Close()
			var log bytes.Buffer
			dir, want := t.TempDir(), test.want
			want.Status = []int{http.StatusOK}
			plan := planWithSecret(server.URL, want)
			rows, _ := collectInto(t, dir, plan, collect.WorkerOptions{Secrets: secrets(t, token), Log: slog.New(slog.NewTextHandler(&log, nil))})
			if !told.Load() || len(rows) == 0 {
				t.Errorf("the server was not told the value, in %d requests", len(rows))
			}
			for _, r := range rows {
				if !strings.Contains(r.Err, test.err) {
					t.Errorf("%s %q, want a text with %q", r.Outcome, r.Err, test.err)
				}
			}
			sent, err := json.Marshal(plan)
			if err != nil {
				t.Fatal(err)
			}
			silent(t, "the plan", sent)
			silent(t, "the log", log.Bytes())
			silent(t, "the rows", fmt.Append(nil, rows))
			everyFile(t, dir)
		})
	}
}

// everyFile looks for the value in a folder.
func everyFile(t *testing.T, dir string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		silent(t, path, text)
		return err
	})
	if err != nil || files < 2 {
		t.Errorf("%d files, %v", files, err)
	}
}

// silent reports any part of the value, however it is escaped.
func silent(t *testing.T, where string, text []byte) {
	t.Helper()
	if bytes.Contains(text, []byte("s3cr")) {
		t.Errorf("%s has the value of the Secret:\n%s", where, text)
	}
}

// Without the value, or with one that no header can have, no request is sent.
func TestSecretsThatCannotBeSent(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") }))
	defer server.Close()
	for name, test := range map[string]struct{ folder, want string }{
		"no Secret":       {t.TempDir(), "the application's namespace has no Secret probe-token with a key header: create it, or correct fromSecret"},
		"an empty Secret": {secrets(t, ""), "key header of Secret probe-token is empty"},
		"a line break":    {secrets(t, "s3cret\n"), "--from-literal"},
		"two headers":     {secrets(t, "s3cret\r\nX-Admin: 1"), "--from-literal"},
	} {
		t.Run(name, func(t *testing.T) {
			sink, err := history.Create(t.TempDir(), history.Header{Scenario: "test/refused"})
			if err != nil {
				t.Fatal(err)
			}
			worker := startWorker(t, collect.WorkerOptions{Secrets: test.folder})
			_, err = collect.Start(t.Context(), http.DefaultClient, []collect.Worker{{URL: worker}}, planWithSecret(server.URL, expect.Answer{Status: []int{http.StatusOK}}), sink)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("error %v, want one with %q", err, test.want)
			}
			silent(t, "the error", []byte(err.Error()))
		})
	}
}
