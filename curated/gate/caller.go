package gate

import "context"

// Caller is on whose behalf calls are made, for the audit log.
type Caller struct {
	Tool   string
	Client string // name and version of the MCP client
	Reason string // why, as the caller said it; secrets in it are masked
}

type callerKey struct{}

// WithCaller notes who makes the calls of a context.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

func callerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}
