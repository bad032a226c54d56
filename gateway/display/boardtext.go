package display

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
func (c Content) isEmpty() bool { return c.Text == "" && c.Screen == nil }

// looksSame reports whether two messages look the same in the chat.
func looksSame(a, b *channels.Outgoing) bool {
	return b != nil && a.Text == b.Text && bytes.Equal(a.Form, b.Form) && slices.Equal(a.Buttons, b.Buttons)
}

// render returns the message to show; nil: nothing to show. At the end of the turn, the fold is all
// that is shown.
func (b *board) render() *channels.Outgoing {
	b.mu.Lock()
	now, due, unsendable, stopping, answer := b.content, b.due, b.unsendable, b.stopping, b.answer
	b.mu.Unlock()
	if stopping {
		now, due = Content{Text: b.d.o.Words.Text(words.Stopping)}, true
	}
	if unsendable || now.Fold != nil || now.isEmpty() && (!due || b.d.o.NotStarted()) { // it is not working yet
		return nil
	}
	if now.isEmpty() && answer.replacesBoard(b.id != "") {
		return nil
	}
	if b.id == "" && !now.TakenOver && b.hidden() {
		return nil
	}
	took := b.d.o.Elapsed()
	if took < min(b.d.o.Delay, clockInterval) { // most turns end before it matters
		took = 0
	}
	in := b.d.o.Inbound.In
	if stopping {
		out := planBoard(b.d.o.Channel, channels.Message{
			Chat: in.Chat, ReplyTo: in.ID, Language: in.User.Language,
			Kind: channels.Progress, Text: "⏳ " + now.Text,
		})
		if out != nil {
			out.Urgent = true
		}
		return out
	}
	m := channels.Message{
		Chat: in.Chat, ReplyTo: in.ID, Language: in.User.Language, Kind: channels.Progress,
		Text: now.describe(b.d.o.Words, took, b.d.o.AwaitsPerson()), Screen: now.Screen, Buttons: now.Buttons,
	}
	if answer != growingAnswer { // which has the button
		m.Buttons = append(now.Buttons[:len(now.Buttons):len(now.Buttons)], b.d.stopButton())
	}
	out := planBoard(b.d.o.Channel, m)
	if out != nil {
		out.Live = now.Live
	}
	return out
}

// stopButton returns the button that stops the turn.
func (d *Display) stopButton() channels.Button {
	return channels.Button{
		Label: d.o.Words.Text(words.ButtonStop), Data: press.Stop(d.o.Inbound.ID),
		Role: channels.Stops,
	}
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
func (c Content) describe(w words.Words, took time.Duration, awaits bool) string {
	text := c.Text
	switch {
	case !c.isEmpty():
	case awaits:
		return w.Text(words.WaitingForYou)
	default:
		text = w.Text(words.Working)
	}
	if c.Screen == nil && !awaits {
		text = "⏳ " + text
	}
	var state []string
	if c.Step > 0 && took > 0 {
		state = append(state, w.Text(words.BoardStep, c.Step))
	}
	switch {
	case awaits && c.Screen == nil:
		state = append(state, w.Text(words.BoardWaiting))
	case awaits:
	case c.Screen != nil && took >= clockInterval: // it may be redrawn often, the time is not
		state = append(state, Duration(took.Truncate(clockInterval)))
	case c.Screen == nil && took > 0:
		state = append(state, Duration(took))
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
