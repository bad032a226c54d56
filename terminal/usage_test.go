package terminal_test

import (
	"testing"

	"nanobot/internal/wanttest"
	"nanobot/terminal"
)

func TestUsageFramesAreReportedAndNotShown(t *testing.T) {
	b := newTurnFixture(t, "rich", frame(object{"type": "message", "text": "a"})+
		frame(object{"type": "usage", "input_tokens": 1200, "output_tokens": 30, "cost": 0.25, "model": "big\x1b[1m"})+
		frame(object{"type": "usage", "input_tokens": 1e3, "text": "not shown"})+
		`echo '{"type":"usage","cost":-Infinity}'`+"\n"+frame(object{"type": "message", "text": "b"}))
	var got []terminal.Usage
	b.chat.OnReport = func(r terminal.Report) {
		if u, ok := r.(terminal.Usage); ok {
			got = append(got, u)
		}
	}
	var shown []string
	for _, f := range b.run().frames {
		shown = append(shown, f.Text)
	}
	wanttest.EqualSlices(t, "reported", got, []terminal.Usage{
		{Model: "big", InputTokens: 1200, OutputTokens: 30, Cost: 0.25}, {InputTokens: 1000},
	})
	wanttest.EqualSlices(t, "shown", shown, []string{"a", "b"})
}
