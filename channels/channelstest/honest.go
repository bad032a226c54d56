package channelstest

import (
	"context"
	"fmt"
	"strings"

	"nanobot/channels"
)

// nothingTurns sends characters by which a text or a name shows something else than it is. Arabic
// and Hebrew need the others of their kind, so those must arrive, closed in the line where they
// were opened.
func nothingTurns(ctx context.Context, b bench) error {
	if b.ForPrograms {
		return errNotApplicable
	}
	fine := "שלום \u2067אב (12)\u2069, \u200eabc"
	texts := []string{"run photo\u202egnp.exe", "\u202dabc", "**a\u202e** b", "`a\u202e` b", "```\na\u202e\n```", "| a\u202e | b |\n| --- | --- |\n| 1 | 2 |", "[a\u202e](https://a.example)"}
	for _, text := range append(texts, "\u2067open\nnext", "shut\u2069", fine) {
		sent, err := b.deliver(ctx, b.say(text))
		if err != nil {
			return err
		}
		for _, s := range sent {
			if strings.ContainsAny(s.Text, "\u202d\u202e") {
				return fmt.Errorf("%+q arrived as %+q, which turns the direction", text, s.Text)
			}
			for line := range strings.Lines(s.Text) {
				if opened, shut := strings.Count(line, "\u2067"), strings.Count(line, "\u2069"); opened != shut {
					return fmt.Errorf("%+q arrived as %+q, where %d isolates are opened and %d closed", text, line, opened, shut)
				}
			}
			if text == fine && !strings.Contains(s.Text, fine) {
				return fmt.Errorf("%+q, in which nothing is wrong, arrived as %+q", text, s.Text)
			}
		}
	}
	files, err := b.files("turned", "photo\u202egnp.exe", "\u200ftxt.\u200fexe")
	if err != nil {
		return err
	}
	sent, err := b.deliver(ctx, b.say("", files...))
	if err != nil {
		return err
	}
	for _, s := range sent {
		for _, f := range s.Files {
			if strings.ContainsFunc(f.Name+s.Text, channels.IsBidiControl) {
				return fmt.Errorf("a file arrived as %+q, which turns the direction of its name", f.Name)
			}
		}
	}
	return nil
}

// linksAreHonest asks only that people can read where a link leads: a network may show that in its
// own way.
func linksAreHonest(ctx context.Context, b bench) error {
	for _, text := range []string{
		"go to [https://bank.example](https://evil.example) now", "[**bank.example**](<https://evil.example>)", "[bank](https://evil.example).example", "> [bank.example](https://evil.example)",
	} {
		sent, err := b.deliver(ctx, b.say(text))
		if err != nil {
			return err
		}
		for _, s := range sent {
			if !strings.Contains(s.Text, "evil.example") {
				return fmt.Errorf("%q arrived as %q, which hides where it leads", text, s.Text)
			}
		}
	}
	return nil
}
