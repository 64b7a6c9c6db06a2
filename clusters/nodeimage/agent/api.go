package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"time"
)

// answerWithin is the time limit of every request except a watch.
const answerWithin = 10 * time.Second

// api is a connection to the API server with one kubeconfig's credentials.
type api struct {
	server string
	http   *http.Client
}

// connect reads the kubeconfig at every call, because the kubelet's certificate is rotated while the agent runs.
func connect(kubeconfig string) (*api, error) {
	content, err := os.ReadFile(kubeconfig)
	if err != nil {
		return nil, err
	}
	file := kubeconfigFile(content)
	ca, err := file.value("certificate-authority")
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", kubeconfig, err)
	}
	cert, err := file.value("client-certificate")
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", kubeconfig, err)
	}
	key, err := file.value("client-key")
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", kubeconfig, err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", kubeconfig, err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	return &api{server: file.word("server"), http: &http.Client{Transport: &http.Transport{
		TLSClientConfig:     &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
		DialContext:         (&net.Dialer{Timeout: answerWithin}).DialContext,
		TLSHandshakeTimeout: answerWithin,
		ForceAttemptHTTP2:   true,
		// A server that dies with its machine closes no connection. Without pings the watch would look alive forever.
		HTTP2: &http.HTTP2Config{SendPingTimeout: answerWithin, PingTimeout: answerWithin / 2},
	}}}, nil
}

func (a *api) close() { a.http.CloseIdleConnections() }

// get returns the body of a response with status 200. The caller closes it.
func (a *api) get(ctx context.Context, path string) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.server+path, nil)
	if err != nil {
		return nil, err
	}
	response, err := a.http.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		_ = response.Body.Close()
		return nil, fmt.Errorf("GET %s: %s", path, response.Status)
	}
	return response.Body, nil
}

func (a *api) read(ctx context.Context, path string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	body, err := a.get(ctx, path)
	if err != nil {
		return err
	}
	defer body.Close() //nolint:errcheck // read to its end, or not needed
	return json.NewDecoder(body).Decode(into)
}

// create posts a JSON object and returns the HTTP status.
func (a *api) create(ctx context.Context, path string, object io.Reader) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.server+path, object)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := a.http.Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

// kubeconfigFile is a kubeconfig as kubeadm writes it: one cluster, one user, each value on one line. The agent parses only
// this form, because a YAML parser would be its only dependency.
type kubeconfigFile []byte

func (k kubeconfigFile) word(key string) string {
	match := regexp.MustCompile(`(?m)^\s*` + regexp.QuoteMeta(key) + `:\s*(\S+)\s*$`).FindSubmatch(k)
	if match == nil {
		return ""
	}
	return string(match[1])
}

// value is the content of a key, which is either inline (key-data) or in a file that the key names.
func (k kubeconfigFile) value(key string) ([]byte, error) {
	if data := k.word(key + "-data"); data != "" {
		return base64.StdEncoding.DecodeString(data)
	}
	if path := k.word(key); path != "" {
		return os.ReadFile(path)
	}
	return nil, fmt.Errorf("no %s", key)
}
