package channelstest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"nanobot/channels"
)

// channelRun is a call of Run in the background of a check.
type channelRun struct {
	cancel context.CancelFunc
	done   chan error // has the result of Run
}

func (fx fixture) startRun(ctx context.Context, receive channels.Receive) channelRun {
	ctx, cancel := context.WithCancel(ctx)
	in := channelRun{cancel: cancel, done: make(chan error, 1)}
	if fx.Memory != nil {
		receive = fx.Memory.WrapReceive(receive)
	}
	go func() { in.done <- fx.Channel.Run(ctx, receive) }()
	return in
}

var errRunDoesNotReturn = errors.New("its context has ended, and Run does not return")

// stop cancels the context of Run and returns the result of Run.
func (in channelRun) stop() error {
	in.cancel()
	select {
	case err := <-in.done:
		in.done <- err
		return err
	case <-time.After(waitLimit):
		return errRunDoesNotReturn
	}
}

// stopCleanly is stop for the checks that require a nil result.
func (in channelRun) stopCleanly() error {
	err := in.stop()
	if err != nil && !errors.Is(err, errRunDoesNotReturn) {
		return fmt.Errorf("its context has ended, and Run returns the error %w", err)
	}
	return err
}

// waitFor waits until done is closed. It fails if Run returns before.
func (in channelRun) waitFor(met <-chan struct{}, what string) error {
	select {
	case <-met:
		return nil
	case err := <-in.done:
		in.done <- err
		return errors.Join(fmt.Errorf("Run returned before %s", what), err)
	case <-time.After(waitLimit):
		return fmt.Errorf("timed out before %s", what)
	}
}

// receivedMessages collects messages and closes complete once there are wantCount of them.
type receivedMessages struct {
	mu        sync.Mutex
	all       []channels.Incoming
	wantCount int
	complete  chan struct{}
}

func newReceivedMessages(wanted int) *receivedMessages {
	return &receivedMessages{wantCount: wanted, complete: make(chan struct{})}
}

func (h *receivedMessages) add(m channels.Incoming) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, m)
	if len(h.all) == h.wantCount {
		close(h.complete)
	}
}

func (h *receivedMessages) receive(_ context.Context, m channels.Incoming) error {
	h.add(m)
	return nil
}

func (h *receivedMessages) messages() []channels.Incoming {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.all)
}

func (h *receivedMessages) texts() []string {
	var out []string
	for _, m := range h.messages() {
		out = append(out, m.Text)
	}
	return out
}

// receiveAll makes a user send texts and waits until as many messages are received.
func (fx fixture) receiveAll(ctx context.Context, said ...string) (*receivedMessages, error) {
	h := newReceivedMessages(len(said))
	in := fx.startRun(ctx, h.receive)
	defer func() { _ = in.stop() }()
	for _, text := range said {
		fx.UserSends(text)
	}
	return h, in.waitFor(h.complete, fmt.Sprintf("all %d messages were received", len(said)))
}

func receivesInOrder(ctx context.Context, fx fixture) error {
	var said []string
	for i := range 50 {
		said = append(said, fmt.Sprintf("message number %d", i))
	}
	h, err := fx.receiveAll(ctx, said...)
	if err != nil {
		return err
	}
	if got := h.texts(); !slices.Equal(got, said) {
		return fmt.Errorf("the user sent %q, and %q was received", said, got)
	}
	return nil
}

func incomingHasChatIDAndUser(ctx context.Context, fx fixture) error {
	h, err := fx.receiveAll(ctx, "one", "two", "two")
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, m := range h.messages() {
		switch {
		case m.Chat != fx.Chat:
			return fmt.Errorf("a message in %s is received from %s", fx.Chat, m.Chat)
		case m.ID == "" || seen[m.ID]:
			return fmt.Errorf("the ID %q is empty or was used before", m.ID)
		case m.User.ID == "":
			return errors.New("the message has no user")
		}
		seen[m.ID] = true
	}
	return nil
}

// failedReceiveIsRepeated lets the first message fail once. It must be offered again with the same
// ID, and before the second message.
func failedReceiveIsRepeated(ctx context.Context, fx fixture) error {
	if !fx.Redelivers {
		return errNotApplicable
	}
	accepted, refused := newReceivedMessages(2), newReceivedMessages(1)
	in := fx.startRun(ctx, func(_ context.Context, m channels.Incoming) error {
		if len(refused.messages()) == 0 {
			refused.add(m)
			return errors.New("the disk is full")
		}
		accepted.add(m)
		return nil
	})
	defer func() { _ = in.stop() }()
	fx.UserSends("first")
	fx.UserSends("second")
	if err := in.waitFor(accepted.complete, "the message that failed and the next were received"); err != nil {
		return err
	}
	if got := accepted.texts(); !slices.Equal(got, []string{"first", "second"}) {
		return fmt.Errorf("after first had failed once, %q was received", got)
	}
	if was, is := refused.messages()[0].ID, accepted.messages()[0].ID; was != is {
		return fmt.Errorf("message %s has the ID %s when it is offered again", was, is)
	}
	return nil
}
