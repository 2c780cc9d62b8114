// Package firestoreclient says how to connect to Firestore, for all who do.
package firestoreclient

import (
	"context"

	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// Options are those of a client of the emulator at an address, such as 127.0.0.1:8681. Google's own Firestore, for which the address is empty,
// needs none.
func Options(emulator string) []option.ClientOption {
	if emulator == "" {
		return nil
	}
	return []option.ClientOption{
		option.WithEndpoint(emulator), option.WithoutAuthentication(),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())),
		option.WithGRPCDialOption(grpc.WithPerRPCCredentials(owner{})),
	}
}

// owner is the token by which an emulator skips its security rules.
type owner struct{}

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (owner) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer owner"}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials.
func (owner) RequireTransportSecurity() bool { return false }
