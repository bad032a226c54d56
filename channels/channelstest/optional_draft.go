package channelstest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"nanobot/channels"
)

// showDrafts shows drafts of one answer, one after the other, and returns what the chat shows then.
func showDrafts(ctx context.Context, fx fixture, texts ...string) (shown string, err error) {
	drafter, err := optionalInterface[channels.Drafter](fx, "DraftText")
	if err != nil {
		return "", err
	}
	if !drafter.Drafts(fx.Chat) {
		return "", errors.New("Drafts reports false")
	}
	for _, text := range texts {
		o, err := fx.planSingleCall(text)
		if err != nil {
			return "", err
		}
		if err := drafter.Draft(ctx, "key", o); err != nil {
			return "", fmt.Errorf("draft: %w", err)
		}
	}
	return fx.DraftText(), nil
}

func draftIsShown(ctx context.Context, fx fixture) error {
	before := len(fx.Sent())
	shown, err := showDrafts(ctx, fx, "alpha", "alpha beta")
	if err != nil {
		return err
	}
	if fx.normalize(shown) != fx.normalize("alpha beta") {
		return fmt.Errorf("the draft is %q and should be %q", shown, "alpha beta")
	}
	if sent := fx.Sent(); len(sent) > before {
		return fmt.Errorf("Draft sends %+v", sent[before:])
	}
	return nil
}

func messageReplacesDraft(ctx context.Context, fx fixture) error {
	if _, err := showDrafts(ctx, fx, "alpha"); err != nil {
		return err
	}
	o, err := fx.planSingleCall("alpha beta")
	if err != nil {
		return err
	}
	if _, err := fx.Channel.Send(ctx, o); err != nil {
		return fmt.Errorf("send: %w", err)
	}
	if shown := fx.DraftText(); shown != "" {
		return fmt.Errorf("beside the message the chat shows the draft %q", shown)
	}
	return nil
}

// reactToMessage reacts to a message several times, and returns what was shown after each time.
func reactToMessage(ctx context.Context, fx fixture, all ...channels.Reaction) (shown [][]string, err error) {
	reactor, err := optionalInterface[channels.Reactor](fx, "MessageToReact")
	if err != nil {
		return nil, err
	}
	chat, id, reactions := fx.MessageToReact()
	if !reactor.Reacts(chat) {
		return nil, errors.New("Reacts reports false")
	}
	for _, r := range all {
		if err := reactor.React(ctx, chat, id, r); err != nil {
			return nil, fmt.Errorf("react with %q: %w", r, err)
		}
		shown = append(shown, reactions())
	}
	return shown, nil
}

func reactionIsReplaced(ctx context.Context, fx fixture) error {
	shown, err := reactToMessage(ctx, fx, channels.Taken, channels.Finished, channels.Broken, channels.NoReaction)
	if err != nil {
		return err
	}
	var different []string
	for _, s := range shown[:3] {
		if len(s) == 1 && !slices.Contains(different, s[0]) {
			different = append(different, s[0])
		}
	}
	if len(different) != 3 || len(shown[3]) != 0 {
		return fmt.Errorf("the reactions taken, done, failed and none are shown as %q", shown)
	}
	return nil
}

func reactionIsNoMessage(ctx context.Context, fx fixture) error {
	before := len(fx.Sent())
	if _, err := reactToMessage(ctx, fx, channels.Taken, channels.NoReaction); err != nil {
		return err
	}
	if sent := fx.Sent(); len(sent) > before {
		return fmt.Errorf("React sends %+v", sent[before:])
	}
	return nil
}
