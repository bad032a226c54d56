package channelstest

import (
	"context"
	"fmt"
	"strings"

	"nanobot/channels"
)

// directionIsNotReversed sends texts and names with bidirectional control characters. Overrides,
// which disguise a text, must not arrive. Isolates and marks, which Arabic and Hebrew need, must
// arrive, and an isolate must end in the line in which it starts.
func directionIsNotReversed(ctx context.Context, fx fixture) error {
	if fx.ForPrograms {
		return errNotApplicable
	}
	fine := "שלום \u2067אב (12)\u2069, \u200eabc"
	texts := []string{"run photo\u202egnp.exe", "\u202dabc", "**a\u202e** b", "`a\u202e` b", "```\na\u202e\n```", "| a\u202e | b |\n| --- | --- |\n| 1 | 2 |", "[a\u202e](https://a.example)"}
	for _, text := range append(texts, "\u2067open\nnext", "shut\u2069", fine) {
		sent, err := fx.planAndSend(ctx, fx.newAnswer(text))
		if err != nil {
			return err
		}
		for _, s := range sent {
			if strings.ContainsAny(s.Text, "\u202d\u202e") {
				return fmt.Errorf("%+q arrived as %+q, which reverses the direction", text, s.Text)
			}
			for line := range strings.Lines(s.Text) {
				if opened, shut := strings.Count(line, "\u2067"), strings.Count(line, "\u2069"); opened != shut {
					return fmt.Errorf("%+q arrived as %+q, where %d isolates are opened and %d closed", text, line, opened, shut)
				}
			}
			if text == fine && !strings.Contains(s.Text, fine) {
				return fmt.Errorf("%+q, which should not change, arrived as %+q", text, s.Text)
			}
		}
	}
	files, err := fx.writeFiles("turned", "photo\u202egnp.exe", "\u200ftxt.\u200fexe")
	if err != nil {
		return err
	}
	sent, err := fx.planAndSend(ctx, fx.newAnswer("", files...))
	if err != nil {
		return err
	}
	for _, s := range sent {
		for _, f := range s.Files {
			if strings.ContainsFunc(f.Name+s.Text, channels.IsBidiControl) {
				return fmt.Errorf("a file arrived as %+q, which reverses the direction of its name", f.Name)
			}
		}
	}
	return nil
}

// linkTargetsAreShown checks only that the target of a link is visible. The network decides how to
// show it.
func linkTargetsAreShown(ctx context.Context, fx fixture) error {
	for _, text := range []string{
		"go to [https://bank.example](https://evil.example) now", "[**bank.example**](<https://evil.example>)", "[bank](https://evil.example).example", "> [bank.example](https://evil.example)",
	} {
		sent, err := fx.planAndSend(ctx, fx.newAnswer(text))
		if err != nil {
			return err
		}
		for _, s := range sent {
			if !strings.Contains(s.Text, "evil.example") {
				return fmt.Errorf("%q arrived as %q, which hides the target", text, s.Text)
			}
		}
	}
	return nil
}
