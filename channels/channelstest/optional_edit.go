package channelstest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"nanobot/channels"
)

// progress plans and sends a text as the gateway shows progress, and returns its receipt.
func (b bench) progress(ctx context.Context, text string) (channels.Receipt, error) {
	o, err := b.passing(text)
	if err != nil {
		return channels.Receipt{}, err
	}
	return b.Channel.Send(ctx, o)
}

// passing is the plan of a progress message.
func (b bench) passing(text string) (channels.Outgoing, error) {
	plan, err := b.Channel.Plan(channels.Message{Chat: b.Chat, Kind: channels.Progress, Text: text})
	if err != nil || len(plan) != 1 {
		return channels.Outgoing{}, errors.Join(fmt.Errorf("progress %q is planned as %d calls", text, len(plan)), err)
	}
	return plan[0], nil
}

// shows compares what the chat shows with what it should.
func (b bench) shows(want ...string) error {
	var got []string
	for _, text := range b.VisibleTexts() {
		got = append(got, b.normal(text))
	}
	for i, text := range want {
		want[i] = b.normal(text)
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("the chat should show %q and shows %q", want, got)
	}
	return nil
}

// editing returns an Editor whose chat shows some progress messages, and their IDs.
func editing(ctx context.Context, b bench, texts ...string) (channels.Editor, []string, error) {
	editor, err := as[channels.Editor](b)
	if err == nil {
		err = required(b.VisibleTexts != nil, "VisibleTexts")
	}
	if err != nil {
		return nil, nil, err
	}
	_ = b.VisibleTexts() // a network that must be watched is watched from now on
	var ids []string
	for _, text := range texts {
		receipt, err := b.progress(ctx, text)
		if err != nil {
			return nil, nil, err
		}
		ids = append(ids, receipt.ID)
	}
	return editor, ids, b.shows(slices.Clone(texts)...)
}

func editChangesOne(ctx context.Context, b bench) error {
	editor, ids, err := editing(ctx, b, "alpha", "beta")
	if err != nil {
		return err
	}
	for i, text := range []string{"gamma", "delta"} {
		o, err := b.passing(text)
		if err != nil {
			return err
		}
		if err := editor.Edit(ctx, ids[i], o); err != nil {
			return fmt.Errorf("edit: %w", err)
		}
	}
	return b.shows("gamma", "delta")
}

func editMayChangeNothing(ctx context.Context, b bench) error {
	editor, ids, err := editing(ctx, b, "alpha")
	if err != nil {
		return err
	}
	o, err := b.passing("alpha")
	if err != nil {
		return err
	}
	for range 2 {
		if err := editor.Edit(ctx, ids[0], o); err != nil {
			return fmt.Errorf("edit without a change: %w", err)
		}
	}
	return b.shows("alpha")
}

func editOfRemovedIsRefused(ctx context.Context, b bench) error {
	editor, ids, err := editing(ctx, b, "alpha", "beta")
	if err != nil {
		return err
	}
	o, err := b.passing("gamma")
	if err != nil {
		return err
	}
	if err := editor.Remove(ctx, b.Chat, ids[0]); err != nil {
		return fmt.Errorf("remove: %w", err)
	}
	if err := editor.Edit(ctx, ids[0], o); !permanent(err) {
		return fmt.Errorf("editing a removed message returns %w, which is no *SendError with Permanent", orNil(err))
	}
	return b.shows("beta")
}

// errNil stands for nil in an error.
var errNil = errors.New("nil")

func orNil(err error) error {
	if err == nil {
		return errNil
	}
	return err
}

func removeDeletesOne(ctx context.Context, b bench) error {
	editor, ids, err := editing(ctx, b, "alpha", "beta", "gamma")
	if err != nil {
		return err
	}
	if err := editor.Remove(ctx, b.Chat, ids[1]); err != nil {
		return fmt.Errorf("remove: %w", err)
	}
	return b.shows("alpha", "gamma")
}

func removeMayBeRepeated(ctx context.Context, b bench) error {
	editor, ids, err := editing(ctx, b, "alpha", "beta")
	if err != nil {
		return err
	}
	for i := range 2 {
		if err := editor.Remove(ctx, b.Chat, ids[0]); err != nil {
			return fmt.Errorf("remove for the %d. time: %w", i+1, err)
		}
	}
	return b.shows("beta")
}

func removeWorksAfterRestart(ctx context.Context, b bench) error {
	_, ids, err := editing(ctx, b, "alpha")
	if err == nil {
		err = required(b.Restart != nil, "Restart")
	}
	if err != nil {
		return err
	}
	if err := b.Restart().(channels.Editor).Remove(ctx, b.Chat, ids[0]); err != nil {
		return fmt.Errorf("remove after a restart: %w", err)
	}
	return b.shows()
}

// replacing returns a Replacer, the ID of an answer that it has sent, and the plan of another.
func replacing(ctx context.Context, b bench) (channels.Replacer, string, channels.Outgoing, error) {
	replacer, err := as[channels.Replacer](b)
	if err == nil {
		err = required(b.VisibleTexts != nil, "VisibleTexts")
	}
	var o, next channels.Outgoing
	if err == nil {
		o, err = b.one("the beginning")
	}
	if err == nil {
		next, err = b.one("the beginning and the end")
	}
	if err != nil {
		return nil, "", next, err
	}
	receipt, err := b.Channel.Send(ctx, o)
	return replacer, receipt.ID, next, err
}

func replaceMayBeRepeated(ctx context.Context, b bench) error {
	replacer, id, o, err := replacing(ctx, b)
	if err != nil {
		return err
	}
	for range 2 {
		receipt, err := replacer.Replace(ctx, id, o)
		if err != nil {
			return fmt.Errorf("replace: %w", err)
		}
		if receipt.ID != id {
			return fmt.Errorf("the receipt of message %s, replaced, is %s", id, receipt.ID)
		}
	}
	return b.shows("the beginning and the end")
}

func replaceOfRemovedIsGone(ctx context.Context, b bench) error {
	replacer, id, o, err := replacing(ctx, b)
	if err != nil {
		return err
	}
	if err := replacer.Remove(ctx, b.Chat, id); err != nil {
		return fmt.Errorf("remove: %w", err)
	}
	if _, err := replacer.Replace(ctx, id, o); !errors.Is(err, channels.ErrGone) || !permanent(err) {
		return fmt.Errorf("replacing a removed message returns %w, which is not ErrGone in a permanent *SendError", orNil(err))
	}
	return b.shows()
}
