package turn

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"nanobot/channels"
	"nanobot/gateway/press"
	"nanobot/internal/words"
)

// isEmpty reports whether there is nothing to show.
func (c boardContent) isEmpty() bool { return c.text == "" && c.screen == nil }

// looksSame reports whether two messages look the same in the chat.
func looksSame(a, b *channels.Outgoing) bool {
	return b != nil && a.Text == b.Text && bytes.Equal(a.Form, b.Form) && slices.Equal(a.Buttons, b.Buttons)
}

// render returns the message to show; nil: nothing to show.
func (b *board) render() *channels.Outgoing {
	b.mu.Lock()
	now, due, unsendable, stopping := b.content, b.due, b.unsendable, b.stopping
	b.mu.Unlock()
	if stopping {
		now, due = boardContent{text: b.t.words.Text(words.Stopping)}, true
	}
	if unsendable || now.isEmpty() && (!due || b.t.lacksResources.Load()) { // then the agent is not working yet
		return nil
	}
	if b.id == "" && !now.takenOver && b.hidden() {
		return nil
	}
	took := b.t.elapsed()
	if took < min(b.t.stage.o.BoardDelay, clockInterval) { // most turns end before it matters
		took = 0
	}
	in := b.t.inbound.In
	if stopping {
		out := planBoard(b.t.ch, channels.Message{Chat: in.Chat, ReplyTo: in.ID, Language: in.User.Language, Kind: channels.Progress, Text: "⏳ " + now.text})
		if out != nil {
			out.Urgent = true
		}
		return out
	}
	return planBoard(b.t.ch, channels.Message{
		Chat: in.Chat, ReplyTo: in.ID, Language: in.User.Language, Kind: channels.Progress,
		Text: now.describe(b.t.words, took, b.t.awaitsPerson()), Screen: now.screen,
		Buttons: append(now.buttons[:len(now.buttons):len(now.buttons)], channels.Button{Label: b.t.words.Text(words.ButtonStop), Data: press.Stop(b.t.inbound.ID)}),
	})
}

// planBoard renders the message of a board, which notifies nobody; nil: the channel cannot.
func planBoard(ch channels.Channel, m channels.Message) *channels.Outgoing {
	m.Silent = true
	parts, err := ch.Plan(m)
	if err != nil || len(parts) == 0 {
		return nil
	}
	return &parts[0]
}

// describe returns the text of a board: the content, and in a longer turn the number of the step
// and how long the turn has worked; 0: a short one. While the turn waits for a person, the text
// does not claim that the agent is working.
func (c boardContent) describe(w words.Words, took time.Duration, awaits bool) string {
	text := c.text
	switch {
	case !c.isEmpty():
	case awaits:
		return w.Text(words.WaitingForYou)
	default:
		text = w.Text(words.Working)
	}
	if c.screen == nil && !awaits {
		text = "⏳ " + text
	}
	var state []string
	if c.step > 0 && took > 0 {
		state = append(state, w.Text(words.BoardStep, c.step))
	}
	switch {
	case awaits && c.screen == nil:
		state = append(state, w.Text(words.BoardWaiting))
	case awaits:
	case c.screen != nil && took >= clockInterval: // it may be redrawn often, the time is not
		state = append(state, durationText(took.Truncate(clockInterval)))
	case c.screen == nil && took > 0:
		state = append(state, durationText(took))
	}
	switch line := strings.Join(state, " · "); {
	case line == "":
		return text
	case strings.Contains(text, "\n"): // in the last line it would seem to be about that line only
		return text + "\n" + line
	default:
		return strings.TrimSpace(text + " (" + line + ")")
	}
}
