package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

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

// liveScreens are the records of the live screens of chats.
type liveScreens struct {
	box   *Outbox
	store store.Memories
	log   *zap.Logger

	mu      sync.Mutex
	locked  map[channels.Chat]chan struct{} // closed when the screen can be changed again
	covered map[channels.Chat]bool          // the locked screens that newer messages are below of

	// absent are chats without a live screen, at most maxAbsent. They need no look into the store.
	absent sync.Map
	count  atomic.Int64 // of absent
}

const maxAbsent = 4096

// lock returns the live screen of a chat and keeps others from changing it until unlock is called.
// It returns none when ctx has ended.
func (l *liveScreens) lock(ctx context.Context, chat channels.Chat) (s liveScreen, unlock func()) {
	for ctx.Err() == nil {
		done := make(chan struct{})
		l.mu.Lock()
		other := l.locked[chat]
		if other == nil {
			l.locked[chat] = done
		}
		l.mu.Unlock()
		if other == nil {
			return l.read(ctx, chat), func() {
				l.mu.Lock()
				defer l.mu.Unlock()
				if l.covered[chat] {
					l.cover(ctx, chat)
				}
				delete(l.covered, chat)
				delete(l.locked, chat)
				close(done)
			}
		}
		select {
		case <-other:
		case <-ctx.Done():
		}
	}
	return liveScreen{}, func() {}
}

// moveDown records that there is a newer message below the live screen of a chat. It does not wait
// for a call about the screen.
func (l *liveScreens) moveDown(ctx context.Context, chat channels.Chat) {
	if l.isAbsent(ctx, chat) {
		return // as in most chats
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.locked[chat] != nil {
		l.covered[chat] = true
		return
	}
	l.cover(ctx, chat)
}

// isAbsent reports whether a chat has no live screen. The chat is added to absent before the store
// is read, so that a screen that is recorded meanwhile is not missed.
func (l *liveScreens) isAbsent(ctx context.Context, chat channels.Chat) bool {
	if _, known := l.absent.LoadOrStore(chat, true); known {
		return true
	}
	if l.count.Add(1) > maxAbsent {
		l.absent.Clear()
		l.count.Store(0)
	}
	value, err := l.store.Recall(ctx, chat, store.ScreenMemory)
	if value != "" || err != nil {
		l.absent.Delete(chat)
	}
	return value == "" && err == nil
}

// cover stores that there is a newer message below the live screen of a chat.
func (l *liveScreens) cover(ctx context.Context, chat channels.Chat) {
	if s := l.read(ctx, chat); s.ID != "" && !s.Below {
		s.Below = true
		l.record(ctx, chat, s)
	}
}

// read returns the live screen of a chat. A screen that cannot be read is treated as none.
func (l *liveScreens) read(ctx context.Context, chat channels.Chat) (s liveScreen) {
	value, err := l.store.Recall(context.WithoutCancel(ctx), chat, store.ScreenMemory)
	if err == nil && value != "" {
		err = json.Unmarshal([]byte(value), &s)
	}
	if err != nil {
		l.log.Warn("cannot read which message is the live screen", zap.Stringer("chat", chat), zap.Error(err))
	}
	return s
}

// record stores which message is the live screen of a chat.
func (l *liveScreens) record(ctx context.Context, chat channels.Chat, s liveScreen) {
	value := ""
	if s.ID != "" {
		encoded, _ := json.Marshal(s) // strings and booleans can always be encoded
		value = string(encoded)
	}
	if err := l.store.Remember(context.WithoutCancel(ctx), chat, store.ScreenMemory, value); err != nil {
		l.log.Warn("live screen not recorded", zap.Stringer("chat", chat), zap.Error(err))
	}
	l.absent.Delete(chat)
}

// recordShown records the message that now is the live screen of a chat. One without buttons is the
// last: the next is a new message.
func (l *liveScreens) recordShown(ctx context.Context, old, now liveScreen, out channels.Outgoing) {
	if len(out.Buttons) == 0 {
		now = liveScreen{}
	}
	if now != old {
		l.record(ctx, out.Chat, now)
	}
}

// MoveScreenDown is called when there is a newer message below the live screen of a chat: the next
// screen is sent below it.
func (box *Outbox) MoveScreenDown(ctx context.Context, chat channels.Chat) {
	box.screens.moveDown(ctx, chat)
}

// EndScreen removes the live screen of a chat, because another message shows the terminal, or
// because the turn that it shows has ended, whose inbound message is run; 0: any turn. ended is
// when the turn has ended whose last message may still replace the screen; zero: none will.
func (box *Outbox) EndScreen(ctx context.Context, chat channels.Chat, run int64, ended time.Time) {
	if !ended.IsZero() {
		box.spawn(func(ctx context.Context, task *backgroundTask) {
			box.removals.awaitAnswersUntil(ctx, task, chat, ended.Add(replaceTimeout))
			box.EndScreen(ctx, chat, run, time.Time{})
		})
		return
	}
	shows := func(s liveScreen) bool { return s.ID != "" && (run == 0 || s.Run == run) }
	old := box.screens.read(ctx, chat)
	if !shows(old) {
		return
	}
	id := messageID{chat, old.ID}
	box.replacements.expect(id)
	box.replacements.remove(id)
	if now := box.screens.read(ctx, chat); now.ID != old.ID || !shows(now) { // it was changed meanwhile
		box.replacements.forget(id)
		return
	}
	removed := store.Transient{Chat: chat, ID: old.ID}
	box.recordTransient(ctx, removed)
	box.EndBoard(EndedBoard{Board: removed, Ended: time.Now().Add(-maxEndDelay)})
	box.spawn(func(ctx context.Context, _ *backgroundTask) {
		s, unlock := box.screens.lock(ctx, chat)
		defer unlock()
		if s.ID == old.ID {
			box.screens.record(ctx, chat, liveScreen{})
		}
	})
}

// errSuperseded says that something newer is shown instead.
var errSuperseded = &channels.SendError{Err: errors.New("something newer is shown"), Permanent: true}

// show shows a screen of a running turn as the live screen of its chat, and returns the ID of
// its message. The last message of the turn may have been sent while this call waited, so that
// t.Current reports false, or the turn has ended.
func (l *liveScreens) show(ctx context.Context, ch channels.Channel, t Transient) (string, error) {
	editor, ok := ch.(channels.Editor)
	if !ok {
		return "", fmt.Errorf("channel %s edits no messages", t.Out.Chat.Channel)
	}
	waiting, cancel := context.WithCancel(ctx) // for the last message of the turn, whose call may hang
	defer cancel()
	if t.Over != nil {
		defer context.AfterFunc(t.Over, cancel)()
	}
	old, unlock := l.lock(waiting, t.Out.Chat)
	defer unlock()
	if waiting.Err() != nil || !t.Current() {
		return "", errSuperseded
	}
	if old.ID != "" && !old.Below {
		if old.Run != t.Inbound { // before the screen has a Stop button
			old.Run = t.Inbound
			l.record(ctx, t.Out.Chat, old)
		}
		err := l.box.replacements.unlessRemoved(ctx, messageID{t.Out.Chat, old.ID}, func(ctx context.Context) error {
			return l.box.edit(ctx, editor, old.ID, t)
		})
		var se *channels.SendError
		if err == nil || !errors.As(err, &se) || !se.Permanent || se.Closed {
			return old.ID, err
		}
	}
	replaced := store.Transient{Chat: t.Out.Chat, ID: old.ID}
	if old.ID != "" {
		l.box.recordTransient(ctx, replaced) // before the record of the new one, so that a crash leaves none
	}
	var receipt channels.Receipt
	err := l.box.Call(t.Out.Chat, func() (err error) {
		receipt, err = ch.Send(ctx, t.Out)
		return err
	})
	if err != nil {
		return "", err
	}
	l.recordShown(ctx, old, liveScreen{ID: receipt.ID, Run: t.Inbound}, t.Out)
	if old.ID != "" {
		l.box.Remove(replaced)
	}
	return receipt.ID, nil
}
