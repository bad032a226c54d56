package intake

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/retry"
	"nanobot/gateway/store"
)

const (
	// accessEvery is how often the store is asked for changes that an operator's tool has made: who
	// was let in, and who shut out.
	accessEvery = 500 * time.Millisecond
	// forgetEvery is how often what strangers left is looked for.
	forgetEvery = time.Minute
)

// Welcome welcomes the people whom an operator lets in, until ctx ends, and forgets refused people
// whose time has passed.
func (i *Intake) Welcome(ctx context.Context) error {
	forget := time.NewTicker(forgetEvery)
	defer forget.Stop()
	tick := time.NewTicker(accessEvery)
	defer tick.Stop()
	for {
		var err error
		select {
		case <-tick.C:
			err = i.welcome(ctx, store.Person{})
		case <-forget.C:
			err = i.o.Store.PruneCodes(ctx, CodeLife)
		case <-ctx.Done():
			return nil
		}
		if err != nil && ctx.Err() == nil {
			i.o.Log.Warn("cannot look after pairings, will retry", zap.Error(err))
			retry.Sleep(ctx, time.Second)
		}
	}
}

// welcome tells a paired user who was let in, or all of them for the zero Person, and takes what
// they wrote last, each once: a gateway that dies in between leaves the rest to the next one.
func (i *Intake) welcome(ctx context.Context, who store.Person) error {
	i.welcoming.Lock()
	defer i.welcoming.Unlock()
	pairings, err := i.o.Store.PairingsToGreet(ctx, who)
	if err != nil {
		return err
	}
	for _, pairing := range pairings {
		if i.o.Channels[pairing.Channel] == nil || pairing.Message == nil {
			continue // it can be done when the channel is enabled again
		}
		if err := i.welcomeOne(ctx, pairing); err != nil {
			return err
		}
	}
	return nil
}

func (i *Intake) welcomeOne(ctx context.Context, pairing store.Pairing) error {
	who := store.Person{Channel: pairing.Channel, User: pairing.User.ID}
	if !pairing.Told {
		parts, err := i.planAnswer(*pairing.Message, channels.Message{Text: "You have been let in."})
		if err != nil {
			return err
		}
		told, err := i.o.Store.Greet(ctx, who, parts)
		if err != nil || !told { // revoked meanwhile
			return err
		}
		i.o.Outbox.Wake(pairing.Message.Chat)
	}
	if err := i.route(ctx, *pairing.Message); err != nil {
		return fmt.Errorf("receive the message of user %s of %s: %w", who.User, who.Channel, err)
	}
	return i.o.Store.ForgetMessage(ctx, who)
}
