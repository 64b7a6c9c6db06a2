package loadtest

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
)

// OrdersSet is the descriptor set of a service orders.v1.Orders, and of what it imports. Get takes an id and answers with an Order;
// Watch answers with many.
func OrdersSet(t testing.TB) []byte {
	t.Helper()
	label := func(number int32, name string, kind descriptorpb.FieldDescriptorProto_Type, of string) *descriptorpb.FieldDescriptorProto {
		f := &descriptorpb.FieldDescriptorProto{
			Name: proto.String(name), Number: proto.Int32(number), Type: kind.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
		}
		if of != "" {
			f.TypeName = proto.String(of)
		}
		return f
	}
	const (
		number  = descriptorpb.FieldDescriptorProto_TYPE_INT64
		text    = descriptorpb.FieldDescriptorProto_TYPE_STRING
		message = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE
	)
	orders := &descriptorpb.FileDescriptorProto{
		Name: proto.String("orders/v1/orders.proto"), Package: proto.String("orders.v1"), Syntax: proto.String("proto3"),
		Dependency: []string{"google/protobuf/timestamp.proto"},
		MessageType: []*descriptorpb.DescriptorProto{
			{Name: proto.String("GetRequest"), Field: []*descriptorpb.FieldDescriptorProto{label(1, "id", number, "")}},
			{Name: proto.String("Order"), Field: []*descriptorpb.FieldDescriptorProto{
				label(1, "id", number, ""), label(2, "state", text, ""), label(3, "placed", message, ".google.protobuf.Timestamp"), label(4, "open_items", number, ""),
			}},
		},
		Service: []*descriptorpb.ServiceDescriptorProto{{Name: proto.String("Orders"), Method: []*descriptorpb.MethodDescriptorProto{
			{Name: proto.String("Get"), InputType: proto.String(".orders.v1.GetRequest"), OutputType: proto.String(".orders.v1.Order")},
			{Name: proto.String("Watch"), InputType: proto.String(".orders.v1.GetRequest"), OutputType: proto.String(".orders.v1.Order"), ServerStreaming: proto.Bool(true)},
		}}},
	}
	times := protodesc.ToFileDescriptorProto(timestamppb.File_google_protobuf_timestamp_proto)
	made, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{times, orders}})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// OrdersFiles are the files of OrdersSet.
func OrdersFiles(t testing.TB) *protoregistry.Files {
	t.Helper()
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(OrdersSet(t), &set); err != nil {
		t.Fatal(err)
	}
	files, err := protodesc.NewFiles(&set)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// ServeOrders serves orders.v1.Orders, and what else is registered, until the test ends. Which answer it gives depends on the id: 404 is not
// found, 500 is an error that repeats the metadata authorization, 700 comes late, and 900 never comes. All others are open.
func ServeOrders(t testing.TB, register func(*grpc.Server, *protoregistry.Files), options ...grpc.ServerOption) (address string) {
	t.Helper()
	files := OrdersFiles(t)
	found, err := files.FindDescriptorByName("orders.v1.Orders")
	if err != nil {
		t.Fatal(err)
	}
	get := found.(protoreflect.ServiceDescriptor).Methods().ByName("Get")
	server := grpc.NewServer(options...)
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "orders.v1.Orders", HandlerType: (*any)(nil), Metadata: "orders/v1/orders.proto",
		Methods: []grpc.MethodDesc{{MethodName: "Get", Handler: func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			asked := dynamicpb.NewMessage(get.Input())
			if err := decode(asked); err != nil {
				return nil, err
			}
			return order(ctx, asked, get)
		}}},
	}, struct{}{})
	if register != nil {
		register(server, files)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

func order(ctx context.Context, asked *dynamicpb.Message, get protoreflect.MethodDescriptor) (proto.Message, error) {
	id := asked.Get(get.Input().Fields().ByName("id"))
	switch id.Int() {
	case 404:
		return nil, status.Error(codes.NotFound, "no order 404: 100 % sure")
	case 500:
		told, _ := metadata.FromIncomingContext(ctx)
		return nil, status.Error(codes.PermissionDenied, "not with "+strings.Join(told.Get("authorization"), ","))
	case 700:
		_ = poll.Pass(ctx, 5*time.Millisecond) // nobody ends it
	case 900:
		<-ctx.Done()
		return nil, ctx.Err()
	}
	answer := dynamicpb.NewMessage(get.Output())
	fields := get.Output().Fields()
	answer.Set(fields.ByName("id"), id)
	answer.Set(fields.ByName("state"), protoreflect.ValueOfString("open"))
	answer.Set(fields.ByName("placed"), protoreflect.ValueOfMessage((&timestamppb.Timestamp{Seconds: 1}).ProtoReflect()))
	return answer, nil
}
