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

// intake runs a subject's channel beside a check.
type intake struct {
	cancel context.CancelFunc
	done   chan error // what Run returned
}

func (b bench) run(ctx context.Context, receive channels.Receive) intake {
	ctx, cancel := context.WithCancel(ctx)
	in := intake{cancel: cancel, done: make(chan error, 1)}
	if b.Memory != nil {
		receive = b.Memory.WrapReceive(receive)
	}
	go func() { in.done <- b.Channel.Run(ctx, receive) }()
	return in
}

var errDeaf = errors.New("its context has ended, and Run does not return")

// stop ends Run's context and waits for Run. It returns what Run returned.
func (in intake) stop() error {
	in.cancel()
	select {
	case err := <-in.done:
		in.done <- err
		return err
	case <-time.After(patience):
		return errDeaf
	}
}

// end is stop for checks of how Run ends.
func (in intake) end() error {
	err := in.stop()
	if err != nil && !errors.Is(err, errDeaf) {
		return fmt.Errorf("its context has ended, and Run returns the error %w", err)
	}
	return err
}

// until waits for a check's condition, which fails if Run returns before.
func (in intake) until(met <-chan struct{}, what string) error {
	select {
	case <-met:
		return nil
	case err := <-in.done:
		in.done <- err
		return errors.Join(fmt.Errorf("Run returned before %s", what), err)
	case <-time.After(patience):
		return fmt.Errorf("waited in vain: %s", what)
	}
}

// heard collects what is received and tells when there is enough of it.
type heard struct {
	mu     sync.Mutex
	all    []channels.Incoming
	wanted int
	enough chan struct{}
}

func listen(wanted int) *heard { return &heard{wanted: wanted, enough: make(chan struct{})} }

func (h *heard) add(m channels.Incoming) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, m)
	if len(h.all) == h.wanted {
		close(h.enough)
	}
}

func (h *heard) receive(_ context.Context, m channels.Incoming) error {
	h.add(m)
	return nil
}

func (h *heard) messages() []channels.Incoming {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.all)
}

func (h *heard) texts() []string {
	var out []string
	for _, m := range h.messages() {
		out = append(out, m.Text)
	}
	return out
}

// hear says some things and returns what was received of them.
func (b bench) hear(ctx context.Context, said ...string) (*heard, error) {
	h := listen(len(said))
	in := b.run(ctx, h.receive)
	defer func() { _ = in.stop() }()
	for _, text := range said {
		b.UserSends(text)
	}
	return h, in.until(h.enough, fmt.Sprintf("all %d messages were received", len(said)))
}

func receivesInOrder(ctx context.Context, b bench) error {
	var said []string
	for i := range 50 {
		said = append(said, fmt.Sprintf("message number %d", i))
	}
	h, err := b.hear(ctx, said...)
	if err != nil {
		return err
	}
	if got := h.texts(); !slices.Equal(got, said) {
		return fmt.Errorf("said were %q, received %q", said, got)
	}
	return nil
}

func incomingIsAddressed(ctx context.Context, b bench) error {
	h, err := b.hear(ctx, "one", "two", "two")
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, m := range h.messages() {
		switch {
		case m.Chat != b.Chat:
			return fmt.Errorf("what was said in %s is received from %s", b.Chat, m.Chat)
		case m.ID == "" || seen[m.ID]:
			return fmt.Errorf("the id %q is empty or was given before", m.ID)
		case m.User.ID == "":
			return errors.New("nobody has said it")
		}
		seen[m.ID] = true
	}
	return nil
}

// failedReceiveIsRepeated lets the first message fail once: it must come again as the same message,
// and before the next one is accepted.
func failedReceiveIsRepeated(ctx context.Context, b bench) error {
	if !b.Redelivers {
		return errNotApplicable
	}
	kept, refused := listen(2), listen(1)
	in := b.run(ctx, func(_ context.Context, m channels.Incoming) error {
		if len(refused.messages()) == 0 {
			refused.add(m)
			return errors.New("the disk is full")
		}
		kept.add(m)
		return nil
	})
	defer func() { _ = in.stop() }()
	b.UserSends("first")
	b.UserSends("second")
	if err := in.until(kept.enough, "the message that failed and the next were received"); err != nil {
		return err
	}
	if got := kept.texts(); !slices.Equal(got, []string{"first", "second"}) {
		return fmt.Errorf("after first had failed once, %q was received", got)
	}
	if was, is := refused.messages()[0].ID, kept.messages()[0].ID; was != is {
		return fmt.Errorf("offered again, message %s is message %s", was, is)
	}
	return nil
}
