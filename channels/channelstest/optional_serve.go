package channelstest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"nanobot/channels"
)

// handlerAnswers checks only that the handler responds. The response is up to the channel.
func handlerAnswers(ctx context.Context, fx fixture) error {
	mounter, err := optionalInterface[channels.Mounter](fx)
	if err != nil {
		return err
	}
	pattern, h := mounter.Mount()
	if pattern == "" {
		return errNotApplicable
	}
	mux, err := mountHandler(pattern, h)
	if err != nil {
		return err
	}
	if err := requestConcurrently(ctx, mux, pattern); err != nil {
		return fmt.Errorf("before Run: %w", err)
	}
	c, err := fx.startAndReceiveFirst(ctx)
	defer func() { _ = c.stop() }()
	if err != nil {
		return err
	}
	if err := requestConcurrently(ctx, mux, pattern); err != nil {
		return fmt.Errorf("during Run: %w", err)
	}
	if err := c.stopCleanly(); err != nil {
		return err
	}
	if err := requestConcurrently(ctx, mux, pattern); err != nil {
		return fmt.Errorf("after Run: %w", err)
	}
	return nil
}

func mountHandler(pattern string, h http.Handler) (mux *http.ServeMux, err error) {
	defer recoverAsError(&err)
	mux = http.NewServeMux()
	mux.Handle(pattern, h)
	return mux, nil
}

// recoverAsError turns a panic into an error.
func recoverAsError(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("panic: %v", p)
	}
}

// requestConcurrently makes four requests at the same time.
func requestConcurrently(ctx context.Context, h http.Handler, pattern string) error {
	method, path, found := strings.Cut(pattern, " ")
	if !found {
		method, path = http.MethodGet, pattern
	}
	path = strings.TrimSuffix(path, "{$}")
	var group errgroup.Group
	for range 4 {
		group.Go(func() (err error) {
			w := httptest.NewRecorder()
			if !returnsInTime(func() {
				defer recoverAsError(&err)
				h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, method, path, http.NoBody))
			}) {
				return fmt.Errorf("%s %s is not answered", method, path)
			}
			return err
		})
	}
	return group.Wait()
}

func closeMayBeRepeated(_ context.Context, fx fixture) error {
	closer, err := optionalInterface[channels.Closer](fx)
	if err != nil {
		return err
	}
	for i := range 2 {
		if err := closer.Close(); err != nil {
			return fmt.Errorf("close for the %d. time: %w", i+1, err)
		}
	}
	return nil
}

func closeLosesNothing(ctx context.Context, fx fixture) error {
	closer, err := optionalInterface[channels.Closer](fx, "Restart")
	if err != nil {
		return err
	}
	c, err := fx.startAndReceiveFirst(ctx)
	defer func() { _ = c.stop() }()
	if err == nil {
		err = c.stopCleanly()
	}
	if err != nil {
		return err
	}
	fx.UserSends("second") // received only after the restart
	if err := closer.Close(); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	next := fx.Restart()
	if r, ok := next.(channels.Resumer); ok {
		all := c.received.messages()
		r.Resume(all[len(all)-1].Cursor)
	}
	again := fx.withChannel(next).startCollecting(ctx, c.received.messages()...)
	defer func() { _ = again.stop() }()
	if err := again.waitForText("second"); err != nil {
		return err
	}
	if got := again.received.texts(); !slices.Equal(got, []string{"second"}) {
		return fmt.Errorf("after the restart %q was received, want second", got)
	}
	return nil
}
