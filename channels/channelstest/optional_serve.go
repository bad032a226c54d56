package channelstest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
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

// streams connects some operators.
func (b bench) streams(n int) []Stream {
	var all []Stream
	for range n {
		all = append(all, b.Stream())
	}
	return all
}

// ended reports whether a stream ends.
func (s Stream) ended() bool {
	_, open := s.Next("an event that never comes")
	return !open
}

func streaming(b bench) (channels.Streamer, error) {
	streamer, err := as[channels.Streamer](b)
	if err == nil {
		err = required(b.Stream != nil, "Stream")
	}
	return streamer, err
}

func hangUpEndsStreams(_ context.Context, b bench) error {
	streamer, err := streaming(b)
	if err != nil {
		return err
	}
	streamer.HangUp() // with nobody connected
	all := b.streams(3)
	if !returns(streamer.HangUp) {
		return errors.New("HangUp does not return")
	}
	for i, s := range all {
		if !returns(func() { _ = s.ended() }) {
			return fmt.Errorf("stream %d of %d does not end", i+1, len(all))
		}
	}
	return nil
}

func streamsMayReturn(_ context.Context, b bench) error {
	streamer, err := streaming(b)
	if err != nil {
		return err
	}
	b.Stream()
	streamer.HangUp()
	again := b.Stream()
	defer again.Close()
	publisher, ok := b.Channel.(channels.Publisher)
	if !ok {
		return nil
	}
	publisher.Publish("probe", map[string]any{"n": "1"})
	if _, open := again.Next("probe"); !open {
		return errors.New("a stream that began after HangUp is closed")
	}
	return nil
}

func publishing(b bench) (channels.Publisher, error) {
	publisher, err := as[channels.Publisher](b)
	if err == nil {
		err = required(b.Stream != nil, "Stream")
	}
	return publisher, err
}

func watchedIsTrue(_ context.Context, b bench) error {
	publisher, err := publishing(b)
	if err != nil {
		return err
	}
	if publisher.Watched() {
		return errors.New("no operator is connected, and Watched is true")
	}
	for range 2 {
		all := b.streams(2)
		all[0].Close()
		if !publisher.Watched() {
			return errors.New("an operator is connected, and Watched is false")
		}
		all[1].Close()
		if !eventually(func() bool { return !publisher.Watched() }) {
			return errors.New("all operators have disconnected, and Watched is true")
		}
	}
	return nil
}

func eventsArriveInOrder(_ context.Context, b bench) error {
	publisher, err := publishing(b)
	if err != nil {
		return err
	}
	all := b.streams(2)
	var want []string
	for i := range 50 {
		want = append(want, strconv.Itoa(i))
		publisher.Publish("probe", map[string]any{"n": want[i]})
	}
	for _, s := range all {
		var got []string
		for range want {
			data, open := s.Next("probe")
			if !open {
				break
			}
			got = append(got, fmt.Sprint(data["n"]))
		}
		s.Close()
		if !slices.Equal(got, want) {
			return fmt.Errorf("of the events %q an operator saw %q", want, got)
		}
	}
	return nil
}

func eventsAreNotStored(_ context.Context, b bench) error {
	publisher, err := publishing(b)
	if err != nil {
		return err
	}
	before := len(b.Sent())
	publisher.Publish("probe", map[string]any{"n": "early"})
	s := b.Stream()
	defer s.Close()
	publisher.Publish("probe", map[string]any{"n": "late"})
	if data, _ := s.Next("probe"); data["n"] != "late" {
		return fmt.Errorf("an operator who came later was shown %v", data)
	}
	if sent := b.Sent(); len(sent) > before {
		return fmt.Errorf("Publish sends %+v", sent[before:])
	}
	return nil
}

func publishDoesNotWait(_ context.Context, b bench) error {
	publisher, err := publishing(b)
	if err != nil {
		return err
	}
	s := b.Stream() // which nobody reads
	defer s.Close()
	if !returns(func() {
		for range 5000 {
			publisher.Publish("probe", map[string]any{"n": "1"})
		}
	}) {
		return errors.New("Publish waits for an operator who does not read")
	}
	return nil
}

// sound checks findings of a channel.
func (b bench) sound(found []channels.Finding) error {
	if len(found) == 0 {
		return errors.New("there is no finding")
	}
	for _, f := range found {
		switch {
		case f.Check == "" || f.Detail == "" || !slices.Contains([]channels.Verdict{channels.Good, channels.Doubtful, channels.Bad}, f.Status):
			return fmt.Errorf("the finding %+v is incomplete", f)
		case f.Status != channels.Good && f.Fix == "":
			return fmt.Errorf("the finding %+v does not say what to do", f)
		}
		for _, secret := range b.Secrets {
			if strings.Contains(f.Detail+f.Fix, secret) {
				return fmt.Errorf("the finding %s contains a secret", f.Check)
			}
		}
	}
	return nil
}

// examined returns what a channel finds.
func (b bench) examined(ctx context.Context, e channels.Examination) (found []channels.Finding, err error) {
	x, err := as[channels.Examiner](b)
	if err == nil {
		err = errors.Join(required(b.Restart != nil, "Restart"), required(b.Disconnect != nil, "Disconnect"), required(len(b.Secrets) > 0, "Secrets"))
	}
	if err != nil {
		return nil, err
	}
	if !returns(func() { defer recovered(&err); found = x.Examine(ctx, e) }) {
		return nil, errors.New("Examine does not return")
	}
	if err != nil {
		return nil, err
	}
	return found, b.sound(found)
}

// wrong are the findings that something cannot work.
func wrong(found []channels.Finding) (out []channels.Finding) {
	for _, f := range found {
		if f.Status == channels.Bad {
			out = append(out, f)
		}
	}
	return out
}

func examineChangesNothing(ctx context.Context, b bench) error {
	b.Say("first")
	before := len(b.Sent())
	found, err := b.examined(ctx, channels.Examination{})
	if err != nil {
		return err
	}
	if bad := wrong(found); len(bad) > 0 {
		return fmt.Errorf("nothing is wrong, and found is %+v", bad)
	}
	if sent := b.Sent(); len(sent) > before {
		return fmt.Errorf("Examine sends %+v", sent[before:])
	}
	c := b.on(b.Restart()).converse(ctx)
	defer func() { _ = c.stop() }()
	return c.hear("first")
}

func examineFindsOutage(ctx context.Context, b bench) error {
	if _, err := as[channels.Examiner](b); err != nil {
		return err
	}
	if err := required(b.Disconnect != nil, "Disconnect"); err != nil {
		return err
	}
	b.Disconnect()
	found, err := b.examined(ctx, channels.Examination{})
	if err != nil {
		return err
	}
	if len(wrong(found)) == 0 {
		return fmt.Errorf("the network cannot be reached, and found is %+v", found)
	}
	return nil
}

func examineDisturbsNothing(ctx context.Context, b bench) error {
	if _, err := as[channels.Examiner](b); err != nil {
		return err
	}
	if err := required(b.Restart != nil, "Restart"); err != nil {
		return err
	}
	doctor := b.on(b.Restart()) // another process with the same settings
	c, err := b.receiveFirst(ctx)
	defer func() { _ = c.stop() }()
	if err != nil {
		return err
	}
	found, err := doctor.examined(ctx, channels.Examination{Running: true})
	if err != nil {
		return err
	}
	if bad := wrong(found); len(bad) > 0 {
		return fmt.Errorf("nothing is wrong, and found is %+v", bad)
	}
	b.Say("second")
	if err := c.hear("second"); err != nil {
		return err
	}
	if healthy, ok := b.Channel.(channels.Healthy); ok && healthy.Health() != nil {
		return fmt.Errorf("after Examine the running channel's health is %w", healthy.Health())
	}
	return c.end()
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
	b.Say("second") // which nobody receives before the end
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
