package intake

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/access"
	"nanobot/gateway/retry"
	"nanobot/gateway/store"
	"nanobot/internal/words"
)

const (
	// pruneInterval is how often expired pairing codes are removed.
	pruneInterval = time.Minute
)

// WelcomeAdmitted greets newly admitted people and handles their last messages, until ctx ends. It
// also removes expired pairing codes.
func (i *Intake) WelcomeAdmitted(ctx context.Context) error {
	prune := time.NewTicker(pruneInterval)
	defer prune.Stop()
	poll := time.NewTicker(access.PollInterval)
	defer poll.Stop()
	for {
		var err error
		select {
		case <-poll.C:
			err = i.welcomePaired(ctx, store.Person{})
		case <-prune.C:
			err = i.o.Store.PruneCodes(ctx, CodeLifetime)
		case <-ctx.Done():
			return nil
		}
		if err != nil && ctx.Err() == nil {
			i.o.Log.Warn("cannot check pairings, will retry", zap.Error(err))
			retry.Sleep(ctx, time.Second)
		}
	}
}

// welcomePaired greets a newly admitted person, or all of them for the zero Person, and handles
// their last message. Each is done once, also across a crash: the next run of the gateway
// continues.
func (i *Intake) welcomePaired(ctx context.Context, who store.Person) error {
	i.welcomeMu.Lock()
	defer i.welcomeMu.Unlock()
	pairings, err := i.o.Store.PairingsToGreet(ctx, who)
	if err != nil {
		return err
	}
	for _, pairing := range pairings {
		if i.o.Channels[pairing.Channel] == nil || pairing.Message == nil {
			// There is no message to answer, or the channel is disabled: then it is done when the
			// channel is enabled again.
			continue
		}
		if err := i.welcomePerson(ctx, pairing); err != nil {
			return err
		}
	}
	return nil
}

func (i *Intake) welcomePerson(ctx context.Context, pairing store.Pairing) error {
	who := store.Person{Channel: pairing.Channel, User: pairing.User.ID}
	if !pairing.Greeted {
		parts, err := i.planAnswer(*pairing.Message, channels.Message{Text: i.words(*pairing.Message).Text(words.AccessGranted)})
		if err != nil {
			return err
		}
		greeted, err := i.o.Store.Greet(ctx, who, parts)
		if err != nil || !greeted { // access was revoked in the meantime
			return err
		}
		i.o.Outbox.Wake(pairing.Message.Chat)
	}
	if err := i.route(ctx, *pairing.Message); err != nil {
		return fmt.Errorf("receive the message of user %s of %s: %w", who.User, who.Channel, err)
	}
	return i.o.Store.ForgetMessage(ctx, who)
}
