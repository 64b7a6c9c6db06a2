package backend

import (
	"context"
	"net/http"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// EchoService is a gRPC service on the same port. Its only method, Say, takes an ID and answers as over HTTP. Both messages
// are google.protobuf.StringValue, so no code has to be generated. gRPC's own health service is available as well.
// Source: https://github.com/grpc/grpc/blob/master/doc/health-checking.md
const EchoService = "holdfast.Echo"

// GRPC routes gRPC requests to a gRPC server. That server does not listen itself: net/http's server handles the
// connections, so that package serve controls how they end.
func GRPC(o Options, otherwise http.Handler) http.Handler {
	s := grpc.NewServer(grpc.UnaryInterceptor(o.says))
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: EchoService, HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Say", Handler: o.echo}},
	}, o)
	healthy := health.NewServer()
	healthy.SetServingStatus(EchoService, grpc_health_v1.HealthCheckResponse_SERVING)
	grpc_health_v1.RegisterHealthServer(s, healthy)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 2 && strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
			s.ServeHTTP(w, r)
			return
		}
		otherwise.ServeHTTP(w, r)
	})
}

// says adds the headers that identify the backend to every response.
func (o Options) says(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	who := metadata.Pairs(HeaderPod, o.Pod, HeaderNode, o.Node, HeaderZone, o.Zone, HeaderRevision, o.Revision)
	if err := grpc.SetHeader(ctx, who); err != nil {
		return nil, err
	}
	return next(ctx, request)
}

// echo implements Say.
//
//nolint:revive // gRPC defines the order of the arguments
func (o Options) echo(_ any, ctx context.Context, decode func(any) error, through grpc.UnaryServerInterceptor) (any, error) {
	id := new(wrapperspb.StringValue)
	if err := decode(id); err != nil {
		return nil, err
	}
	say := func(ctx context.Context, _ any) (any, error) {
		if !pass(ctx, o.serviceTime(ctx)) {
			return nil, ctx.Err() // the client went away
		}
		work(o.Work)
		return wrapperspb.String("ok " + id.Value + "\n"), nil
	}
	return through(ctx, id, &grpc.UnaryServerInfo{FullMethod: "/" + EchoService + "/Say"}, say)
}
