package channelstest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"nanobot/channels"
)

// sendProgress plans and sends a progress message.
func (fx fixture) sendProgress(ctx context.Context, text string) (channels.Receipt, error) {
	o, err := fx.planProgress(text)
	if err != nil {
		return channels.Receipt{}, err
	}
	return fx.Channel.Send(ctx, o)
}

// planProgress plans a progress message, which must be one call.
func (fx fixture) planProgress(text string) (channels.Outgoing, error) {
	plan, err := fx.Channel.Plan(channels.Message{Chat: fx.Chat, Kind: channels.Progress, Text: text})
	if err != nil || len(plan) != 1 {
		return channels.Outgoing{}, errors.Join(fmt.Errorf("progress %q is planned as %d calls", text, len(plan)), err)
	}
	return plan[0], nil
}

// checkVisible compares the texts that the chat shows with the texts that it should show.
func (fx fixture) checkVisible(want ...string) error {
	var got []string
	for _, text := range fx.VisibleTexts() {
		got = append(got, fx.normalize(text))
	}
	for i, text := range want {
		want[i] = fx.normalize(text)
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("the chat should show %q and shows %q", want, got)
	}
	return nil
}

// sendEditable sends progress messages and returns the Editor and their IDs.
func sendEditable(ctx context.Context, fx fixture, texts ...string) (channels.Editor, []string, error) {
	editor, err := optionalInterface[channels.Editor](fx, "VisibleTexts")
	if err != nil {
		return nil, nil, err
	}
	_ = fx.VisibleTexts() // a network that must be watched is watched from now on
	var ids []string
	for _, text := range texts {
		receipt, err := fx.sendProgress(ctx, text)
		if err != nil {
			return nil, nil, err
		}
		ids = append(ids, receipt.ID)
	}
	return editor, ids, fx.checkVisible(slices.Clone(texts)...)
}

func editChangesOne(ctx context.Context, fx fixture) error {
	editor, ids, err := sendEditable(ctx, fx, "alpha", "beta")
	if err != nil {
		return err
	}
	for i, text := range []string{"gamma", "delta"} {
		o, err := fx.planProgress(text)
		if err != nil {
			return err
		}
		if err := editor.Edit(ctx, ids[i], o); err != nil {
			return fmt.Errorf("edit: %w", err)
		}
	}
	return fx.checkVisible("gamma", "delta")
}

func editMayChangeNothing(ctx context.Context, fx fixture) error {
	editor, ids, err := sendEditable(ctx, fx, "alpha")
	if err != nil {
		return err
	}
	o, err := fx.planProgress("alpha")
	if err != nil {
		return err
	}
	for range 2 {
		if err := editor.Edit(ctx, ids[0], o); err != nil {
			return fmt.Errorf("edit without a change: %w", err)
		}
	}
	return fx.checkVisible("alpha")
}

func editOfRemovedIsRefused(ctx context.Context, fx fixture) error {
	editor, ids, err := sendEditable(ctx, fx, "alpha", "beta")
	if err != nil {
		return err
	}
	o, err := fx.planProgress("gamma")
	if err != nil {
		return err
	}
	if err := editor.Remove(ctx, fx.Chat, ids[0]); err != nil {
		return fmt.Errorf("remove: %w", err)
	}
	if err := editor.Edit(ctx, ids[0], o); !isPermanent(err) {
		return fmt.Errorf("editing a removed message returns %w, which is no *SendError with Permanent", errOrNil(err))
	}
	return fx.checkVisible("beta")
}

// errNil stands for a nil error in an error text.
var errNil = errors.New("nil")

func errOrNil(err error) error {
	if err == nil {
		return errNil
	}
	return err
}

func removeDeletesOne(ctx context.Context, fx fixture) error {
	editor, ids, err := sendEditable(ctx, fx, "alpha", "beta", "gamma")
	if err != nil {
		return err
	}
	if err := editor.Remove(ctx, fx.Chat, ids[1]); err != nil {
		return fmt.Errorf("remove: %w", err)
	}
	return fx.checkVisible("alpha", "gamma")
}

func removeMayBeRepeated(ctx context.Context, fx fixture) error {
	editor, ids, err := sendEditable(ctx, fx, "alpha", "beta")
	if err != nil {
		return err
	}
	for i := range 2 {
		if err := editor.Remove(ctx, fx.Chat, ids[0]); err != nil {
			return fmt.Errorf("remove for the %d. time: %w", i+1, err)
		}
	}
	return fx.checkVisible("beta")
}

func removeWorksAfterRestart(ctx context.Context, fx fixture) error {
	_, ids, err := sendEditable(ctx, fx, "alpha")
	if err == nil {
		err = fx.requireFields("Restart")
	}
	if err != nil {
		return err
	}
	if err := fx.Restart().(channels.Editor).Remove(ctx, fx.Chat, ids[0]); err != nil {
		return fmt.Errorf("remove after a restart: %w", err)
	}
	return fx.checkVisible()
}

func closedQuestionHasNoButtons(ctx context.Context, fx fixture) error {
	closer, err := optionalInterface[channels.QuestionCloser](fx, "PressButton")
	if err != nil {
		return err
	}
	plan, err := fx.Channel.Plan(channels.Message{
		Chat: fx.Chat, Kind: channels.Answer, Text: "Which one?", Buttons: []channels.Button{{Label: "Red", Data: "red", Stays: true}},
	})
	if err != nil || len(plan) != 1 {
		return errors.Join(fmt.Errorf("a question is planned as %d calls", len(plan)), err)
	}
	receipt, err := fx.Channel.Send(ctx, plan[0])
	for range 2 {
		if err == nil {
			err = closer.CloseQuestion(ctx, fx.Chat, receipt.ID, "no answer")
		}
	}
	if err != nil {
		return fmt.Errorf("close question: %w", err)
	}
	if fx.PressButton("Red") == nil {
		return errors.New("a button of a closed question can be pressed")
	}
	if err := closer.CloseQuestion(ctx, fx.Chat, receipt.ID+"0", "no answer"); !isPermanent(err) {
		return fmt.Errorf("closing an unknown question returns %w, which is not a permanent *SendError", errOrNil(err))
	}
	return nil
}

// sendReplaceable sends an answer and returns the Replacer, the ID of the answer, and the plan of
// another answer.
func sendReplaceable(ctx context.Context, fx fixture) (channels.Replacer, string, channels.Outgoing, error) {
	replacer, err := optionalInterface[channels.Replacer](fx, "VisibleTexts")
	var o, next channels.Outgoing
	if err == nil {
		o, err = fx.planSingleCall("the beginning")
	}
	if err == nil {
		next, err = fx.planSingleCall("the beginning and the end")
	}
	if err != nil {
		return nil, "", next, err
	}
	receipt, err := fx.Channel.Send(ctx, o)
	return replacer, receipt.ID, next, err
}

func replaceMayBeRepeated(ctx context.Context, fx fixture) error {
	replacer, id, o, err := sendReplaceable(ctx, fx)
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
	return fx.checkVisible("the beginning and the end")
}

func replaceOfRemovedIsGone(ctx context.Context, fx fixture) error {
	replacer, id, o, err := sendReplaceable(ctx, fx)
	if err != nil {
		return err
	}
	if err := replacer.Remove(ctx, fx.Chat, id); err != nil {
		return fmt.Errorf("remove: %w", err)
	}
	if _, err := replacer.Replace(ctx, id, o); !errors.Is(err, channels.ErrGone) || !isPermanent(err) {
		return fmt.Errorf("replacing a removed message returns %w, which is not ErrGone in a permanent *SendError", errOrNil(err))
	}
	return fx.checkVisible()
}
