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

// handlerAnswers asks only for an answer: what it says is the channel's own matter.
func handlerAnswers(ctx context.Context, b bench) error {
	mounter, err := as[channels.Mounter](b)
	if err != nil {
		return err
	}
	pattern, h := mounter.Mount()
	if pattern == "" {
		return errNotApplicable
	}
	mux, err := mounted(pattern, h)
	if err != nil {
		return err
	}
	if err := answers(ctx, mux, pattern); err != nil {
		return fmt.Errorf("before Run: %w", err)
	}
	c, err := b.receiveFirst(ctx)
	defer func() { _ = c.stop() }()
	if err != nil {
		return err
	}
	if err := answers(ctx, mux, pattern); err != nil {
		return fmt.Errorf("during Run: %w", err)
	}
	if err := c.end(); err != nil {
		return err
	}
	if err := answers(ctx, mux, pattern); err != nil {
		return fmt.Errorf("after Run: %w", err)
	}
	return nil
}

func mounted(pattern string, h http.Handler) (mux *http.ServeMux, err error) {
	defer recovered(&err)
	mux = http.NewServeMux()
	mux.Handle(pattern, h)
	return mux, nil
}

// recovered makes an error of a panic.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("panic: %v", p)
	}
}

// answers makes some requests at the same time.
func answers(ctx context.Context, h http.Handler, pattern string) error {
	method, path, found := strings.Cut(pattern, " ")
	if !found {
		method, path = http.MethodGet, pattern
	}
	path = strings.TrimSuffix(path, "{$}")
	var group errgroup.Group
	for range 4 {
		group.Go(func() (err error) {
			w := httptest.NewRecorder()
			if !returns(func() {
				defer recovered(&err)
				h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, method, path, http.NoBody))
			}) {
				return fmt.Errorf("%s %s is not answered", method, path)
			}
			return err
		})
	}
	return group.Wait()
}

func closeMayBeRepeated(_ context.Context, b bench) error {
	closer, err := as[channels.Closer](b)
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

func closeLosesNothing(ctx context.Context, b bench) error {
	closer, err := as[channels.Closer](b)
	if err == nil {
		err = required(b.Restart != nil, "Restart")
	}
	if err != nil {
		return err
	}
	c, err := b.receiveFirst(ctx)
	defer func() { _ = c.stop() }()
	if err == nil {
		err = c.end()
	}
	if err != nil {
		return err
	}
	b.UserSends("second") // which nobody receives before the end
	if err := closer.Close(); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	next := b.Restart()
	if r, ok := next.(channels.Resumer); ok {
		all := c.heard.messages()
		r.Resume(all[len(all)-1].Cursor)
	}
	again := b.on(next).converse(ctx, c.heard.messages()...)
	defer func() { _ = again.stop() }()
	if err := again.hear("second"); err != nil {
		return err
	}
	if got := again.heard.texts(); !slices.Equal(got, []string{"second"}) {
		return fmt.Errorf("after the restart second was to be received, and %q was", got)
	}
	return nil
}
