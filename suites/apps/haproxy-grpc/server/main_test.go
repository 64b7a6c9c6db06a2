package main

import (
	"net"
	"os"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/holdfast-ha/holdfast/framework/load/unary"
)

// The server answers its health service, describes its methods, and ends when it is told to.
func TestServesUntilItIsTold(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	end, ended := make(chan os.Signal, 1), make(chan error, 1)
	go func() { ended <- serve(listener, end) }()
	client, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close() //nolint:errcheck // nothing is lost
	answer, err := grpc_health_v1.NewHealthClient(client).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{}, grpc.WaitForReady(true))
	if err != nil || answer.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Fatalf("%v, %v", answer, err)
	}
	method, err := unary.Server{Address: listener.Addr().String()}.Method(t.Context(), "grpc.health.v1.Health/List")
	if err != nil || method.String() != "grpc.health.v1.Health/List" {
		t.Errorf("it does not describe what holdfast.yaml calls: %v, %v", method, err)
	}
	end <- os.Interrupt
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
