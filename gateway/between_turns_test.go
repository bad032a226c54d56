package gateway_test

import (
	"context"
	"testing"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

// backgroundProtocol has background commands between turns, and stores the last text as a lasting
// memory.
type backgroundProtocol struct{ left map[string]int }

func (l *backgroundProtocol) Turn(_ context.Context, t terminal.Turn) (terminal.Outcome, error) {
	ctx := context.Background()
	passing, _ := t.Memory().Load(ctx, terminal.ConversationMemory)
	lasting, err := t.Memory().Load(ctx, terminal.LastingMemory)
	if err == nil {
		err = t.Memory().Save(ctx, terminal.ConversationMemory, t.Envelope.Text)
	}
	if err == nil {
		err = t.Memory().Save(ctx, terminal.LastingMemory, t.Envelope.Text)
	}
	if err == nil {
		err = t.Emit(terminal.Frame{Kind: terminal.Message, Text: "knew " + passing + "," + lasting})
	}
	return terminal.Outcome{Status: terminal.Done}, err
}

func (l *backgroundProtocol) StopCommands(chat string) (ended int, told bool) {
	ended = l.left[chat]
	delete(l.left, chat)
	return ended, false
}

func TestStopBetweenTurnsEndsBackgroundCommandsOfTheAgent(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, "true")
	fx.protocol = &backgroundProtocol{left: map[string]int{"net:1": 2, "net:2": 1}}
	fx.start()
	fx.net.UserWrites("1", "u", "/stop")
	fx.expect("1", "2 commands stopped.")
	fx.net.UserWrites("1", "u", "/stop")
	fx.expect("1", "2 commands stopped.", "Nothing is running.")
}

func TestLastingMemoriesSurviveANewConversation(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, "true")
	fx.protocol = &backgroundProtocol{}
	fx.start()
	fx.net.UserWrites("1", "u", "one")
	fx.awaitText("1", "knew ,")
	fx.awaitIdle("1")
	fx.net.UserWrites("1", "u", "/new")
	fx.awaitText("1", "This is a new conversation")
	fx.net.UserWrites("1", "u", "two")
	fx.awaitText("1", "knew ,one")
	fx.awaitIdle("1")
	fx.net.UserWrites("1", "u", "three")
	fx.awaitText("1", "knew two,two")
}

func TestEventsReportDroppedMessages(t *testing.T) {
	t.Parallel()
	w := &eventRecorder{}
	fx := newFixture(t, "exec sleep 300")
	fx.watch = w.watch
	fx.start()
	fx.net.UserWrites("1", "u", "work")
	w.await(t, 1, "[started]")
	fx.net.UserWrites("1", "u", "second")
	cancel := fx.awaitText("1", "Queued.").Buttons[0]
	fx.net.UserWrites("1", "u", "third")
	w.await(t, 3, "[queued]")
	fx.net.UserPresses("1", "u", cancel)
	fx.awaitText("1", "Cancelled.")
	w.await(t, 2, "[dropped queued]")
	w.await(t, 3, "[queued]")
	fx.net.UserWrites("1", "u", "/stop all")
	fx.awaitText("1", "dropped")
	w.await(t, 2, "[dropped queued]")
	w.await(t, 3, "[dropped queued]")
}

func TestEventsReportUndeliverableMessages(t *testing.T) {
	t.Parallel()
	w := &eventRecorder{}
	fx := newFixture(t, echo)
	fx.watch = w.watch
	fx.wrapStore = func(s store.Store) store.Store { // an earlier run had another channel
		parts := []channels.Outgoing{{Chat: channels.Chat{Channel: "gone", ID: "1"}, Kind: channels.Answer, Text: "hello"}}
		if _, _, err := s.Enqueue(t.Context(), store.Outbound{Parts: parts}); err != nil {
			t.Fatal(err)
		}
		return s
	}
	fx.start()
	w.await(t, 0, "[failed]")
}
