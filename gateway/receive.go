package gateway

import (
	"context"
	"fmt"
	"strings"

	"nanobot/channels"
	"nanobot/gateway/events"
	"nanobot/gateway/outbox"
	"nanobot/gateway/store"
)

// receive takes a message from a channel. When it returns nil the message is on disk, and will be worked on once, or its sender is not
// admitted.
func (g *Gateway) receive(ctx context.Context, in channels.Incoming) error {
	for {
		ok, err := g.knows(ctx, in.Chat.Channel, in.User.ID)
		if err != nil {
			return err
		}
		if ok {
			break
		}
		if refused, err := g.refuse(ctx, in); refused || err != nil {
			return err
		}
	}
	if !g.listed(in.Chat.Channel, in.User.ID) { // what they wrote before they were let in goes first
		if err := g.welcome(ctx, store.Person{Channel: in.Chat.Channel, User: in.User.ID}); err != nil {
			return err
		}
	}
	return g.take(ctx, in)
}

// take is receive for a message of somebody who is admitted.
func (g *Gateway) take(ctx context.Context, in channels.Incoming) error {
	if answer, ok := g.limit(in); !ok {
		return g.settle(ctx, in, answer)
	}
	if c, args, ok := parseCommand(in); ok {
		return g.obey(ctx, in, c, args)
	}
	if answered, err := g.answer(ctx, in); answered || err != nil {
		return err
	}
	if in.Press != "" {
		return g.pressed(ctx, in)
	}
	return g.enlist(ctx, in)
}

// settle stores a message that needs no turn, with what is said to it, if anything.
func (g *Gateway) settle(ctx context.Context, in channels.Incoming, text string) error {
	_, err := g.conclude(ctx, store.Arrival{In: in, Cursor: in.Cursor, Settle: true}, text)
	return err
}

// conclude is settle for a message that asks for something to be changed. It reports false for one that was concluded before.
func (g *Gateway) conclude(ctx context.Context, a store.Arrival, text string) (bool, error) {
	in := a.In
	var err error
	if text != "" {
		if a.Answer, err = g.planAnswer(in, text); err != nil {
			return false, err
		}
	}
	_, verdict, err := g.o.Store.Receive(ctx, a)
	if err != nil {
		return false, fmt.Errorf("store message: %w", err)
	}
	if verdict == store.Settled && text != "" {
		g.outbox.Wake(in.Chat)
	}
	if a.Restart != 0 {
		g.lanes.Wake()
	}
	return verdict == store.Settled, nil
}

// planAnswer cuts the gateway's own answer to a message into network calls.
func (g *Gateway) planAnswer(in channels.Incoming, text string) ([]channels.Outgoing, error) {
	parts, err := g.o.Channels[in.Chat.Channel].Plan(channels.Message{Chat: in.Chat, Kind: channels.Answer, Text: text, ReplyTo: in.ID})
	if err != nil {
		return nil, fmt.Errorf("plan answer: %w", err)
	}
	return parts, nil
}

// enlist puts a message in its chat's lane, by the rule for messages that come while a turn runs.
func (g *Gateway) enlist(ctx context.Context, in channels.Incoming) error {
	set := g.set()
	t := g.running(in.Chat)
	if t != nil {
		switch set.WhileRunning {
		case "reject":
			return g.settle(ctx, in, "I am still working on your last message. Send it again later, or /stop.")
		case "inject":
			return g.injectInto(ctx, t, in)
		}
	}
	waiting := 0
	if t != nil || g.lanes.Full() {
		var err error
		if waiting, err = g.o.Store.Waiting(ctx, in.Chat); err != nil {
			return fmt.Errorf("count waiting messages: %w", err)
		}
		if set.QueueLimit > 0 && waiting >= set.QueueLimit {
			return g.settle(ctx, in, fmt.Sprintf("%d messages are waiting already, which is all I keep. /stop clears them.", waiting))
		}
	}
	item, verdict, err := g.accept(ctx, store.Arrival{In: in})
	// Who only waits for an agent to be free, as they often do for a moment, is not told.
	if err != nil || verdict != store.Queued || t == nil {
		return err
	}
	if set.WhileRunning == "interrupt" {
		t.cancel(errInterrupted)
		return nil
	}
	note := channels.Message{
		Chat: in.Chat, Kind: channels.Answer, Text: fmt.Sprintf("Queued, number %d in line.", waiting+1), ReplyTo: in.ID,
		Buttons: []channels.Button{{Label: "Cancel", Data: fmt.Sprintf("cancel:%d", item.ID)}},
	}
	return g.outbox.Post(ctx, &outbox.Message{Message: note, About: item.ID})
}

// accept stores a message and starts its turn if that can begin at once.
func (g *Gateway) accept(ctx context.Context, a store.Arrival) (store.Item, store.Verdict, error) {
	a.Cursor = a.In.Cursor
	item, verdict, err := g.lanes.Accept(ctx, a)
	if err == nil && verdict == store.Queued {
		g.tell(events.Event{What: events.Queued, Chat: a.In.Chat, Item: item.ID})
	}
	return item, verdict, err
}

// injectInto hands a message to the turn that runs. It stays pending until that turn has ended, so that it gets a turn of its own if this
// one takes no more, does not read it, or is cut off. It passes none that waits.
func (g *Gateway) injectInto(ctx context.Context, t *turn, in channels.Incoming) error {
	item, verdict, err := g.accept(ctx, store.Arrival{In: in})
	if err != nil || verdict != store.Queued {
		return err
	}
	waiting, err := g.o.Store.Waiting(ctx, in.Chat)
	if err == nil && waiting == t.handed()+1 {
		t.add(item)
	}
	return nil // it is safe, and gets a turn of its own
}

// parseCommand recognises the gateway's own commands. A press on a button of ours is one too.
func parseCommand(in channels.Incoming) (c command, args string, ok bool) {
	word, args := commandWord(in)
	c, ok = commands[word]
	return c, args, ok && (!c.button || in.Press != "")
}

// commandWord is what would be a command, and what follows it.
func commandWord(in channels.Incoming) (word, args string) {
	text := in.Text
	if in.Press != "" {
		text = in.Press
	}
	word, args, _ = strings.Cut(strings.TrimSpace(text), " ")
	if name, data, found := strings.Cut(word, ":"); in.Press != "" && found {
		word, args = "/"+name, data
	}
	return strings.ToLower(word), strings.TrimSpace(args)
}
