package channelstest

import (
	"context"
	"errors"
	"fmt"

	"nanobot/channels"
)

func fileLimitIsStated(_ context.Context, b bench) error {
	limiter, err := as[channels.FileLimiter](b)
	if err != nil {
		return err
	}
	before := len(b.Sent())
	most, words := limiter.FileLimit(b.Chat)
	if most <= 0 || words == "" {
		return fmt.Errorf("the limit is %d bytes, said as %q", most, words)
	}
	if again, phrase := limiter.FileLimit(b.Chat); again != most || phrase != words {
		return fmt.Errorf("the limit is %q, and then %q", words, phrase)
	}
	if sent := b.Sent(); len(sent) > before {
		return fmt.Errorf("to know the limit %+v was sent", sent[before:])
	}
	return nil
}

// fileLimitIsPlanned looks only at the plan: no test sends gigabytes.
func fileLimitIsPlanned(_ context.Context, b bench) error {
	limiter, err := as[channels.FileLimiter](b)
	if err != nil {
		return err
	}
	f, err := b.file("limit", "data.bin")
	if err != nil {
		return err
	}
	f.Size, _ = limiter.FileLimit(b.Chat)
	plan, err := b.Channel.Plan(b.say("", f))
	if err != nil {
		return fmt.Errorf("plan a file of %d bytes: %w", f.Size, err)
	}
	for _, o := range plan {
		for _, m := range o.Media {
			if m.Path == f.Path {
				return nil
			}
		}
	}
	return fmt.Errorf("a file of %d bytes, which is the limit, is not in the plan %+v", f.Size, plan)
}

func typing(b bench) (channels.Typer, error) {
	typer, err := as[channels.Typer](b)
	if err == nil {
		err = required(b.TypingCount != nil, "TypingCount")
	}
	return typer, err
}

func typingIsShown(ctx context.Context, b bench) error {
	typer, err := typing(b)
	if err != nil {
		return err
	}
	sent, shown := len(b.Sent()), b.TypingCount()
	if err := typer.Typing(ctx, b.Chat); err != nil {
		return fmt.Errorf("typing: %w", err)
	}
	if n := b.TypingCount() - shown; n != 1 {
		return fmt.Errorf("one Typing is shown %d times", n)
	}
	if all := b.Sent(); len(all) > sent {
		return fmt.Errorf("Typing sends %+v", all[sent:])
	}
	return nil
}

func typingEnds(ctx context.Context, b bench) error {
	typer, err := typing(b)
	if err != nil {
		return err
	}
	shown := b.TypingCount()
	over, cancel := context.WithCancel(ctx)
	cancel()
	if !returns(func() { _ = typer.Typing(over, b.Chat) }) {
		return errors.New("Typing with a cancelled context does not return")
	}
	if b.TypingCount() > shown {
		return errors.New("Typing with a cancelled context is shown")
	}
	return nil
}

func sendIsIdempotent(ctx context.Context, b bench) error {
	repeater, err := as[channels.Repeater](b)
	if err != nil {
		return err
	}
	if !repeater.Repeatable() {
		return errNotApplicable
	}
	o, err := b.one("once")
	if err != nil {
		return err
	}
	before := len(b.Sent())
	ids := map[string]bool{}
	for _, key := range []string{"key-1", "key-1", "key-2", "key-1"} {
		o.Key = key
		receipt, err := b.Channel.Send(ctx, o)
		if err != nil {
			return fmt.Errorf("send with %s: %w", key, err)
		}
		ids[key+" "+receipt.ID] = true
	}
	if n := len(b.Sent()) - before; n != 2 || len(ids) != 2 {
		return fmt.Errorf("four sends with two keys made %d messages with the receipts %v", n, ids)
	}
	if !repeater.Repeatable() {
		return errors.New("Repeatable does not give the same answer each time")
	}
	return nil
}
