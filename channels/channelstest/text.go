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

// StripLayout is a text without white space and without the lines that open and close code, which a cut
// may add.
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

// StripMarkup is a text of which only letters, digits and pictures are left: what rendering Markdown
// does not touch.
func StripMarkup(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= '\u2500' && r <= '\u259f': // box drawing, of which tables may be made
			return -1
		case unicode.In(r, unicode.L, unicode.N, unicode.M, unicode.So, unicode.Cf), r >= '🏻' && r <= '🏿':
			return r
		}
		return -1
	}, StripLayout(text))
}

func (s Subject) normal(text string) string {
	if s.Normalize != nil {
		return s.Normalize(text)
	}
	return StripLayout(text)
}

// arrived says what is missing of a text: all of it must be in the calls' texts, in order, or in
// one file that stands for a text too long for the chat.
func (s Subject) arrived(want string, sent []SentCall) error {
	for i, text := range texts(sent) {
		if !utf8.ValidString(text) {
			return fmt.Errorf("call %d of %d cuts a character: %q", i+1, len(sent), text)
		}
	}
	want = s.normal(want)
	for _, f := range files(sent) {
		if s.normal(f.Content) == want {
			return nil
		}
	}
	return difference(want, s.normal(strings.Join(texts(sent), "\n")))
}

// difference shows the place where two texts part.
func difference(want, got string) error {
	if want == got {
		return nil
	}
	i := 0
	for i < min(len(want), len(got)) && want[i] == got[i] {
		i++
	}
	return fmt.Errorf("of %d bytes %d arrived; after %d it should go on with %.40q and does with %.40q",
		len(want), len(got), i, want[i:], got[i:])
}

// arrives delivers each text as a message of its own.
func (b bench) arrives(ctx context.Context, samples ...string) error {
	for _, text := range samples {
		m := b.say(text)
		sent, err := b.deliver(ctx, m)
		if err == nil {
			err = b.arrived(text, sent)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", brief(m), err)
		}
	}
	return nil
}

// everyKindArrives asks only that the text is in what arrives: a network may mark progress and
// failures.
func everyKindArrives(ctx context.Context, b bench) error {
	for _, kind := range []channels.Kind{channels.Progress, channels.Answer, channels.Failure} {
		m := channels.Message{Chat: b.Chat, Kind: kind, Text: "this is " + string(kind), Code: "E1"}
		sent, err := b.deliver(ctx, m)
		if err != nil {
			return err
		}
		if got := b.normal(strings.Join(texts(sent), "\n")); !strings.Contains(got, b.normal(m.Text)) {
			return fmt.Errorf("%s arrived as %q", brief(m), got)
		}
	}
	return nil
}

// textArrives tries lengths on both sides of the limits that networks have: 1024, 2000, 4096.
func textArrives(ctx context.Context, b bench) error {
	var samples []string
	for _, n := range []int{
		1, 2, 99, 100, 101, 1023, 1024, 1025, 1999, 2000, 2001, 4095, 4096, 4097, 8191, 8193, b.longest / 20, b.longest,
	} {
		samples = append(samples, numbered(n), unbroken(n))
	}
	return b.arrives(ctx, samples...)
}

func codeArrives(ctx context.Context, b bench) error {
	return b.arrives(ctx, code(1), code(130), code(3000),
		"```\nnever closed\n"+numbered(5000),
		"````md\n```\ninner\n```\n````",
		"~~~\n"+numbered(3000)+"\n~~~",
		"`a` and ``b`c``")
}

func tablesArrive(ctx context.Context, b bench) error {
	return b.arrives(ctx, table(1), table(60), table(400))
}

// clustersStayWhole looks at each call by itself, since a cut cluster is whole again when calls are
// joined.
func clustersStayWhole(ctx context.Context, b bench) error {
	for _, text := range []string{clusters(1), clusters(700), clusters(3000)} {
		sent, err := b.deliver(ctx, b.say(text))
		if err != nil {
			return err
		}
		parts := texts(sent)
		for _, f := range files(sent) {
			if b.normal(f.Content) == b.normal(text) {
				parts = []string{f.Content}
			}
		}
		var got []string
		for _, part := range parts {
			got = append(got, graphemes(b.normal(part))...)
		}
		if !slices.Equal(got, graphemes(b.normal(text))) {
			return fmt.Errorf("characters were cut: %w", errors.Join(cut(text, got)...))
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

// cut names the first characters that are not among those of the original.
func cut(original string, got []string) []error {
	var out []error
	for _, c := range got {
		if len(out) < 3 && !slices.Contains(graphemes(original), c) {
			out = append(out, fmt.Errorf("%+q", c))
		}
	}
	return out
}
