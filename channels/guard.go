package channels

import "context"

// guardKey is the context key of a guard.
type guardKey struct{}

// WithGuard returns a context whose network calls are made only while guard returns nil. A nil
// guard allows all.
func WithGuard(ctx context.Context, guard func() error) context.Context {
	if guard == nil {
		return ctx
	}
	return context.WithValue(ctx, guardKey{}, guard)
}

// CheckGuard returns the error of a context's guard. A channel asks right before a call is written,
// behind all its waits: the process may have been suspended meanwhile.
func CheckGuard(ctx context.Context) error {
	if guard, ok := ctx.Value(guardKey{}).(func() error); ok {
		return guard()
	}
	return nil
}
