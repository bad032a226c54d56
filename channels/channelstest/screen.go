package channelstest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"nanobot/channels"
)

// withScreen returns the message with a screen.
func withScreen(m channels.Message, s *channels.Screen) channels.Message {
	m.Screen = s
	return m
}

// screenOf returns a screen with rows of narrow characters and the cursor after the last of them.
func screenOf(cols int, rows ...string) *channels.Screen {
	s := &channels.Screen{Cols: cols}
	for i, row := range rows {
		n := len([]rune(row))
		if i < len(rows)-1 {
			s.Rows = append(s.Rows, []channels.ScreenRun{{Text: row + strings.Repeat(" ", cols-n), Width: cols}})
			continue
		}
		s.Cursor = &channels.ScreenCell{Col: n, Row: i}
		s.Rows = append(s.Rows, []channels.ScreenRun{{Text: row, Width: n}, {Text: " ", Width: 1}, {Text: strings.Repeat(" ", cols-n-1), Width: cols - n - 1}})
	}
	return s
}

// fullScreen returns a screen of 160 columns and 40 rows with characters that are hard to measure
// or to quote. The last row has the word "bottom".
func fullScreen() *channels.Screen {
	s := &channels.Screen{Cols: 160}
	rows := []string{
		strings.Repeat("日本", 40), strings.Repeat("👍🏽", 80), strings.Repeat("```", 53) + "x", strings.Repeat("e\u0301", 160), strings.Repeat("│", 160),
		strings.Repeat("<b>&amp;", 20), strings.Repeat("~~~ ", 40), strings.Repeat("𝔸", 160), strings.Repeat("\\*_[](x)", 20),
	}
	for i := range 39 {
		s.Rows = append(s.Rows, []channels.ScreenRun{{Text: rows[i%len(rows)], Width: 160}})
	}
	s.Rows = append(s.Rows, []channels.ScreenRun{{Text: "bottom" + strings.Repeat(" ", 154), Width: 160}})
	return s
}

func screensFit(ctx context.Context, fx fixture) error {
	for _, m := range []channels.Message{
		withScreen(channels.Message{Text: "at work"}, fullScreen()),
		withScreen(channels.Message{}, fullScreen()),
		withScreen(channels.Message{Text: strings.Repeat("a long **story** ", 2000)}, fullScreen()),
		withScreen(channels.Message{}, screenOf(10, "", "")),
	} {
		m.Chat, m.Kind = fx.Chat, channels.Progress
		plan, err := fx.Channel.Plan(m)
		if err != nil || len(plan) > 1 {
			return errors.Join(fmt.Errorf("progress with a screen is planned as %d calls", len(plan)), err)
		}
		for _, o := range plan { // the local terminal shows no screens
			if _, err := fx.Channel.Send(ctx, o); err != nil {
				return fmt.Errorf("send a screen: %w", err)
			}
		}
	}
	return nil
}

func screensFollowText(ctx context.Context, fx fixture) error {
	for _, size := range []int{400, 3000} {
		text := numberedText(size)
		sent, err := fx.planAndSend(ctx, withScreen(fx.newAnswer(text), fullScreen()))
		if err != nil {
			return err
		}
		all := fx.normalize(strings.Join(textsOf(sent), "\n"))
		at := strings.Index(all, fx.normalize(text))
		if at < 0 {
			return fmt.Errorf("%d bytes above a screen did not arrive whole: %.200q", size, all)
		}
		if !strings.Contains(all[at:], fx.normalize("bottom")) {
			return fmt.Errorf("the last row of the screen did not arrive: %.200q", all[at:])
		}
	}
	return nil
}
