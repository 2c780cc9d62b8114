package failurelog

import (
	"context"

	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// options are those of an emulator; Google's own Firestore needs none.
func (s *Sink) options() []option.ClientOption {
	if s.cfg.Emulator == "" {
		return nil
	}
	return []option.ClientOption{
		option.WithEndpoint(s.cfg.Emulator), option.WithoutAuthentication(),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())),
		option.WithGRPCDialOption(grpc.WithPerRPCCredentials(emulatorOwner{})),
	}
}

// emulatorOwner is the token by which an emulator skips its security rules.
type emulatorOwner struct{}

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (emulatorOwner) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer owner"}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials.
func (emulatorOwner) RequireTransportSecurity() bool { return false }
