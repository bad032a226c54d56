package channelstest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"nanobot/channels"
)

// StripLayout removes white space and the fences of code blocks, which splitting may add.
func StripLayout(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~") {
			continue
		}
		for _, word := range strings.Fields(line) {
			b.WriteString(word)
		}
	}
	return b.String()
}

// StripMarkup keeps only letters, digits and pictographs, which rendering Markdown does not change.
func StripMarkup(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= '\u2500' && r <= '\u259f': // box drawing characters, which tables may use
			return -1
		case unicode.In(r, unicode.L, unicode.N, unicode.M, unicode.So, unicode.Cf), r >= '🏻' && r <= '🏿':
			return r
		}
		return -1
	}, StripLayout(text))
}

func (s Subject) normalize(text string) string {
	if s.Normalize != nil {
		return s.Normalize(text)
	}
	return StripLayout(text)
}

// checkText checks that a text has arrived completely: in the texts of the calls, in order, or in
// one file if it is too long for the chat.
func (s Subject) checkText(want string, sent []SentCall) error {
	for i, text := range textsOf(sent) {
		if !utf8.ValidString(text) {
			return fmt.Errorf("call %d of %d cuts a character: %q", i+1, len(sent), text)
		}
	}
	want = s.normalize(want)
	for _, f := range filesOf(sent) {
		if s.normalize(f.Content) == want {
			return nil
		}
	}
	return compareTexts(want, s.normalize(strings.Join(textsOf(sent), "\n")))
}

// compareTexts describes the first difference of two texts.
func compareTexts(want, got string) error {
	if want == got {
		return nil
	}
	i := 0
	for i < min(len(want), len(got)) && want[i] == got[i] {
		i++
	}
	return fmt.Errorf("%[2]d of %[1]d bytes arrived; byte %[3]d should start %.40[4]q and starts %.40[5]q",
		len(want), len(got), i, want[i:], got[i:])
}

// sendAndCheckTexts sends each text as a message and checks that it arrives.
func (fx fixture) sendAndCheckTexts(ctx context.Context, samples ...string) error {
	for _, text := range samples {
		m := fx.newAnswer(text)
		sent, err := fx.planAndSend(ctx, m)
		if err == nil {
			err = fx.checkText(text, sent)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", describe(m), err)
		}
	}
	return nil
}

// everyKindArrives checks only that the message contains the text, because a network may add a mark
// to progress and failures.
func everyKindArrives(ctx context.Context, fx fixture) error {
	for _, kind := range []channels.Kind{channels.Progress, channels.Answer, channels.Failure} {
		m := channels.Message{Chat: fx.Chat, Kind: kind, Text: "this is " + string(kind), Code: "E1"}
		sent, err := fx.planAndSend(ctx, m)
		if err != nil {
			return err
		}
		if got := fx.normalize(strings.Join(textsOf(sent), "\n")); !strings.Contains(got, fx.normalize(m.Text)) {
			return fmt.Errorf("%s arrived as %q", describe(m), got)
		}
	}
	return nil
}

// textArrives tries lengths on both sides of the limits of networks: 1024, 2000, 4096.
func textArrives(ctx context.Context, fx fixture) error {
	var samples []string
	for _, n := range []int{
		1, 2, 99, 100, 101, 1023, 1024, 1025, 1999, 2000, 2001, 4095, 4096, 4097, 8191, 8193, fx.maxTextBytes / 20, fx.maxTextBytes,
	} {
		samples = append(samples, numberedText(n), unbrokenText(n))
	}
	return fx.sendAndCheckTexts(ctx, samples...)
}

func codeArrives(ctx context.Context, fx fixture) error {
	return fx.sendAndCheckTexts(ctx, codeBlock(1), codeBlock(130), codeBlock(3000),
		"```\nnever closed\n"+numberedText(5000),
		"````md\n```\ninner\n```\n````",
		"~~~\n"+numberedText(3000)+"\n~~~",
		"`a` and ``b`c``")
}

func tablesArrive(ctx context.Context, fx fixture) error {
	return fx.sendAndCheckTexts(ctx, markdownTable(1), markdownTable(60), markdownTable(400))
}

// graphemesStayWhole checks each call separately, because joining the calls would repair a cut
// character.
func graphemesStayWhole(ctx context.Context, fx fixture) error {
	for _, text := range []string{graphemeClusters(1), graphemeClusters(700), graphemeClusters(3000)} {
		sent, err := fx.planAndSend(ctx, fx.newAnswer(text))
		if err != nil {
			return err
		}
		parts := textsOf(sent)
		for _, f := range filesOf(sent) {
			if fx.normalize(f.Content) == fx.normalize(text) {
				parts = []string{f.Content}
			}
		}
		var got []string
		for _, part := range parts {
			got = append(got, graphemes(fx.normalize(part))...)
		}
		if !slices.Equal(got, graphemes(fx.normalize(text))) {
			return fmt.Errorf("characters were cut: %w", errors.Join(unknownGraphemes(text, got)...))
		}
	}
	return nil
}

func graphemes(text string) []string {
	var out []string
	for g := uniseg.NewGraphemes(text); g.Next(); {
		out = append(out, g.Str())
	}
	return out
}

// unknownGraphemes returns up to three characters that are not in the original.
func unknownGraphemes(original string, got []string) []error {
	var out []error
	for _, c := range got {
		if len(out) < 3 && !slices.Contains(graphemes(original), c) {
			out = append(out, fmt.Errorf("%+q", c))
		}
	}
	return out
}
