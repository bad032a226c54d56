package channelstest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"nanobot/channels"
	"nanobot/internal/words"
)

func fileLimitIsStated(_ context.Context, fx fixture) error {
	limiter, err := optionalInterface[channels.FileLimiter](fx)
	if err != nil {
		return err
	}
	before := len(fx.Sent())
	most, phrase := limiter.FileLimit(fx.Chat, "")
	if most <= 0 || phrase == "" {
		return fmt.Errorf("the limit is %d bytes, with the phrase %q", most, phrase)
	}
	if again, then := limiter.FileLimit(fx.Chat, ""); again != most || then != phrase {
		return fmt.Errorf("the limit is %q, and then %q", phrase, then)
	}
	if sent := fx.Sent(); len(sent) > before {
		return fmt.Errorf("FileLimit sends %+v", sent[before:])
	}
	return nil
}

// wordsFollowLanguage checks the words about the limit of files, which most channels have.
func wordsFollowLanguage(_ context.Context, fx fixture) error {
	user, err := optionalInterface[channels.WordsUser](fx)
	if err != nil {
		return err
	}
	limiter, err := optionalInterface[channels.FileLimiter](fx)
	if err != nil {
		return err
	}
	user.SetWords(words.New(words.Settings{}))
	_, english := limiter.FileLimit(fx.Chat, "en")
	_, german := limiter.FileLimit(fx.Chat, "de-AT")
	if english != "" && english == german {
		return fmt.Errorf("the phrase is %q in English and in German", english)
	}
	return nil
}

// fileLimitIsPlanned checks only the plan, because no test sends gigabytes.
func fileLimitIsPlanned(_ context.Context, fx fixture) error {
	limiter, err := optionalInterface[channels.FileLimiter](fx)
	if err != nil {
		return err
	}
	f, err := fx.writeFile("limit", "data.bin")
	if err != nil {
		return err
	}
	f.Size, _ = limiter.FileLimit(fx.Chat, "")
	plan, err := fx.Channel.Plan(fx.newAnswer("", f))
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

func typerOf(fx fixture) (channels.Typer, error) {
	return optionalInterface[channels.Typer](fx, "TypingCount")
}

func typingIsShown(ctx context.Context, fx fixture) error {
	typer, err := typerOf(fx)
	if err != nil {
		return err
	}
	sent, shown := len(fx.Sent()), fx.TypingCount()
	if err := typer.Typing(ctx, fx.Chat); err != nil {
		return fmt.Errorf("typing: %w", err)
	}
	if n := fx.TypingCount() - shown; n != 1 {
		return fmt.Errorf("one Typing is shown %d times", n)
	}
	if all := fx.Sent(); len(all) > sent {
		return fmt.Errorf("Typing sends %+v", all[sent:])
	}
	return nil
}

func typingEnds(ctx context.Context, fx fixture) error {
	typer, err := typerOf(fx)
	if err != nil {
		return err
	}
	shown := fx.TypingCount()
	over, cancel := context.WithCancel(ctx)
	cancel()
	if !returnsInTime(func() { _ = typer.Typing(over, fx.Chat) }) {
		return errors.New("Typing with a cancelled context does not return")
	}
	if fx.TypingCount() > shown {
		return errors.New("Typing with a cancelled context is shown")
	}
	return nil
}

func sendAfterClosing(ctx context.Context, fx fixture) error {
	keeper, err := optionalInterface[channels.ConnectionKeeper](fx)
	if err != nil {
		return err
	}
	for _, text := range []string{"before", "after"} {
		o, err := fx.planSingleCall(text)
		if err != nil {
			return err
		}
		if _, err := fx.Channel.Send(ctx, o); err != nil {
			return fmt.Errorf("send %s: %w", text, err)
		}
		keeper.CloseIdleConnections()
	}
	return nil
}

func sendIsIdempotent(ctx context.Context, fx fixture) error {
	repeater, err := optionalInterface[channels.Repeater](fx)
	if err != nil {
		return err
	}
	if !repeater.Repeatable() {
		return errNotApplicable
	}
	o, err := fx.planSingleCall("once")
	if err != nil {
		return err
	}
	before := len(fx.Sent())
	ids := map[string]bool{}
	for _, key := range []string{"key-1", "key-1", "key-2", "key-1"} {
		o.Key = key
		receipt, err := fx.Channel.Send(ctx, o)
		if err != nil {
			return fmt.Errorf("send with %s: %w", key, err)
		}
		ids[key+" "+receipt.ID] = true
	}
	if n := len(fx.Sent()) - before; n != 2 || len(ids) != 2 {
		return fmt.Errorf("four sends with two keys made %d messages with the receipts %v", n, ids)
	}
	if !repeater.Repeatable() {
		return errors.New("Repeatable does not give the same answer each time")
	}
	return nil
}

func chatsAreChecked(_ context.Context, fx fixture) error {
	checker, err := optionalInterface[channels.ChatChecker](fx)
	if err != nil {
		return err
	}
	if err := checker.CheckChat(fx.Chat.ID); err != nil {
		return fmt.Errorf("CheckChat refuses the chat %s: %w", fx.Chat, err)
	}
	// The last ones might be read as the same number.
	for _, id := range []string{"", " ", "0", "general", "#general", "@ann", "../x", fx.Chat.ID + "\n", "+" + fx.Chat.ID, "0" + fx.Chat.ID} {
		if checker.CheckChat(id) == nil {
			return fmt.Errorf("CheckChat accepts %q", id)
		}
	}
	return nil
}

func parentIsNoTopic(_ context.Context, fx fixture) error {
	locator, err := optionalInterface[channels.ChatLocator](fx)
	if err != nil {
		return err
	}
	parent, topic, group := locator.LocateChat(fx.Chat.ID)
	if (parent == "") != (topic == "") {
		return fmt.Errorf("%s is the topic %q of %q", fx.Chat, topic, parent)
	}
	if above, number, groupAbove := locator.LocateChat(parent); parent != "" && (above+number != "" || groupAbove != group) {
		return fmt.Errorf("%s is a topic of %s, which is the topic %q of %q", fx.Chat, parent, number, above)
	}
	return nil
}

func linksAreAddresses(_ context.Context, fx fixture) error {
	linker, err := optionalInterface[channels.Linker](fx)
	if err != nil {
		return err
	}
	for _, group := range []bool{false, true} {
		for _, id := range []string{"", "x", "(1)", "-1", "1 2"} {
			if link := linker.LinkMessage(fx.Chat, group, id); link != "" {
				return fmt.Errorf("the message %q has the address %q", id, link)
			}
		}
		if link := linker.LinkMessage(channels.Chat{Channel: fx.Chat.Channel, ID: "x"}, group, "1"); link != "" {
			return fmt.Errorf("a message of no chat has the address %q", link)
		}
		link := linker.LinkMessage(fx.Chat, group, "1")
		if link != "" && !strings.HasPrefix(link, "https://") || strings.ContainsAny(link, " ()<>[]") {
			return fmt.Errorf("%q is no address", link)
		}
	}
	return nil
}
