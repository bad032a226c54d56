package gateway

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"

	"nanobot/gateway/retry"
	"nanobot/gateway/store"
)

const (
	// accessEvery is how often the store is asked for changes that an operator's tool has made: who was let in, and who shut out.
	accessEvery = 500 * time.Millisecond
	// forgetEvery is how often what strangers left is looked for.
	forgetEvery = time.Minute
)

// welcomeGuests welcomes those whom an operator lets in, until ctx ends, and forgets strangers whose time has passed.
func (g *Gateway) welcomeGuests(ctx context.Context) error {
	forget := time.NewTicker(forgetEvery)
	defer forget.Stop()
	tick := time.NewTicker(accessEvery)
	defer tick.Stop()
	for {
		var err error
		select {
		case <-tick.C:
			err = g.welcome(ctx, store.Person{})
		case <-forget.C:
			err = g.o.Store.ForgetStrangers(ctx, CodeLife)
		case <-ctx.Done():
			return nil
		}
		if err != nil && ctx.Err() == nil {
			g.o.Log.Warn("cannot look after guests, will retry", zap.Error(err))
			retry.Sleep(ctx, time.Second)
		}
	}
}

// welcome tells a guest who was let in, or all of them for the zero Person, and takes what they wrote last, each once: a gateway that dies
// in between leaves the rest to the next one.
func (g *Gateway) welcome(ctx context.Context, who store.Person) error {
	g.welcoming.Lock()
	defer g.welcoming.Unlock()
	guests, err := g.o.Store.Unwelcomed(ctx, who)
	if err != nil {
		return err
	}
	for _, guest := range guests {
		if g.o.Channels[guest.Channel] == nil || guest.Message == nil {
			continue // it can be done when the channel is enabled again
		}
		if err := g.welcomeOne(ctx, guest); err != nil {
			return err
		}
	}
	return nil
}

func (g *Gateway) welcomeOne(ctx context.Context, guest store.Guest) error {
	who := store.Person{Channel: guest.Channel, User: guest.User.ID}
	if !guest.Told {
		parts, err := g.planAnswer(*guest.Message, "You have been let in.")
		if err != nil {
			return err
		}
		told, err := g.o.Store.Tell(ctx, who, parts)
		if err != nil || !told { // revoked meanwhile
			return err
		}
		g.outbox.Wake(guest.Message.Chat)
	}
	if err := g.take(ctx, *guest.Message); err != nil {
		return fmt.Errorf("receive the message of user %s of %s: %w", who.User, who.Channel, err)
	}
	return g.o.Store.Welcomed(ctx, who)
}
