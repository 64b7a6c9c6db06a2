// Server is a gRPC server with the health service, and reflection, which describes it, as small as a real one can be. It knows nothing of
// holdfast.
package main

import (
	"flag"
	"log"
	"net"
	"os"
	"os/signal"
	"syscall"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
)

func main() {
	address := flag.String("listen", ":9090", "the address to listen on")
	flag.Parse()
	listener, err := net.Listen("tcp", *address)
	if err != nil {
		log.Fatal(err)
	}
	if err := serve(listener, terminated()); err != nil {
		log.Fatal(err)
	}
}

// terminated receives the signals that end a container.
func terminated() <-chan os.Signal {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	return signals
}

// serve answers until it is told to end. Then it lets the calls that it has finish, and takes no others.
func serve(listener net.Listener, end <-chan os.Signal) error {
	server := grpc.NewServer()
	healthy := health.NewServer() // the whole server is serving from the start
	grpc_health_v1.RegisterHealthServer(server, healthy)
	reflection.Register(server)
	go func() {
		<-end
		server.GracefulStop()
	}()
	return server.Serve(listener)
}
