package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// liveScreen is the message with the live screen of a chat, which outlives turns and restarts.
type liveScreen struct {
	ID    string `json:"id"`              // the network's; "": there is none
	Below bool   `json:"below,omitempty"` // there are newer messages below it, so that it is not edited
	Run   int64  `json:"run,omitempty"`   // the inbound message of the turn that it shows, which its buttons can stop
}

// lockScreen returns the live screen of a chat and keeps others from changing it until unlock is
// called. A screen that cannot be read is treated as none.
func (box *Outbox) lockScreen(ctx context.Context, chat channels.Chat) (s liveScreen, unlock func()) {
	locked := false
	box.await(ctx, func() bool {
		if locked = !box.screens[chat]; locked {
			box.screens[chat] = true
		}
		return locked
	})
	unlock = func() {
		box.mu.Lock()
		defer box.mu.Unlock()
		if locked {
			delete(box.screens, chat)
			box.changed.Broadcast()
		}
	}
	value, err := box.o.Store.Recall(context.WithoutCancel(ctx), chat, store.ScreenMemory)
	if err == nil && value != "" {
		err = json.Unmarshal([]byte(value), &s)
	}
	if err != nil {
		box.o.Log.Warn("cannot read which message is the live screen", zap.Stringer("chat", chat), zap.Error(err))
	}
	return s, unlock
}

// storeScreen stores which message is the live screen of a chat.
func (box *Outbox) storeScreen(ctx context.Context, chat channels.Chat, s liveScreen) {
	value := ""
	if s.ID != "" {
		encoded, _ := json.Marshal(s) // strings and booleans can always be encoded
		value = string(encoded)
	}
	if err := box.o.Store.Remember(context.WithoutCancel(ctx), chat, store.ScreenMemory, value); err != nil {
		box.o.Log.Warn("live screen not recorded", zap.Stringer("chat", chat), zap.Error(err))
	}
}

// recordLive records the message that now is the live screen of a chat. One without buttons is the
// last: the next is a new message.
func (box *Outbox) recordLive(ctx context.Context, old, now liveScreen, out channels.Outgoing) {
	if len(out.Buttons) == 0 {
		now = liveScreen{}
	}
	if now != old {
		box.storeScreen(ctx, out.Chat, now)
	}
}

// ScreenBelow records that there is a newer message below the live screen of a chat: the next
// screen is sent below it.
func (box *Outbox) ScreenBelow(ctx context.Context, chat channels.Chat) {
	if value, err := box.o.Store.Recall(ctx, chat, store.ScreenMemory); value == "" && err == nil {
		return // as in most chats
	}
	s, unlock := box.lockScreen(ctx, chat)
	defer unlock()
	if s.ID != "" && !s.Below {
		s.Below = true
		box.storeScreen(ctx, chat, s)
	}
}

// EndScreen removes the live screen of a chat, because another message shows the terminal, or
// because the turn that it shows was cut off, whose inbound message is run; 0: any turn.
func (box *Outbox) EndScreen(ctx context.Context, chat channels.Chat, run int64) {
	s, unlock := box.lockScreen(ctx, chat)
	defer unlock()
	if s.ID != "" && (run == 0 || s.Run == run) {
		old := store.Transient{Chat: chat, ID: s.ID}
		box.recordTransient(ctx, old)
		box.Remove(old)
		box.storeScreen(ctx, chat, liveScreen{})
	}
}

// errSuperseded says that something newer is shown instead.
var errSuperseded = &channels.SendError{Err: errors.New("something newer is shown"), Permanent: true}

// showLive shows a screen of a running turn as the live screen of its chat, and returns the ID of
// its message. The last message of the turn may have been sent while this call waited; t.Current
// then reports false.
func (box *Outbox) showLive(ctx context.Context, ch channels.Channel, t Transient) (string, error) {
	editor, ok := ch.(channels.Editor)
	if !ok {
		return "", fmt.Errorf("channel %s edits no messages", t.Out.Chat.Channel)
	}
	old, unlock := box.lockScreen(ctx, t.Out.Chat)
	defer unlock()
	if !t.Current() {
		return "", errSuperseded
	}
	if old.ID != "" && !old.Below {
		if old.Run != t.Inbound { // before the screen has a Stop button
			old.Run = t.Inbound
			box.storeScreen(ctx, t.Out.Chat, old)
		}
		err := box.Call(t.Out.Chat, func() error { return editor.Edit(ctx, old.ID, t.Out) })
		var se *channels.SendError
		if err == nil || !errors.As(err, &se) || !se.Permanent || se.Closed {
			return old.ID, err
		}
	}
	replaced := store.Transient{Chat: t.Out.Chat, ID: old.ID}
	if old.ID != "" {
		box.recordTransient(ctx, replaced) // before the record of the new one, so that a crash leaves none
	}
	var receipt channels.Receipt
	err := box.Call(t.Out.Chat, func() (err error) {
		receipt, err = ch.Send(ctx, t.Out)
		return err
	})
	if err != nil {
		return "", err
	}
	box.recordLive(ctx, old, liveScreen{ID: receipt.ID, Run: t.Inbound}, t.Out)
	if old.ID != "" {
		box.Remove(replaced)
	}
	return receipt.ID, nil
}
