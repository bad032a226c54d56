package discord

import (
	"context"
	"time"
)

// chatsKey is the storage key of the list of known chats.
const chatsKey = "chats"

// loadChats loads the list of known chats, and reports false if ctx ends first. Earlier versions
// kept the list in the cursor: it is then stored before any cursor without it.
func (in *receiver) loadChats(ctx context.Context) bool {
	m := in.state
	if in.c.store == nil || m.chatsLoaded {
		return true
	}
	var list string
	err := in.chatsRetrier.Do(ctx, func() (err error) {
		list, err = in.c.store.Load(ctx, chatsKey)
		return err
	})
	if err != nil {
		return false
	}
	in.chatsRetrier.Reset()
	earlier := m.formatChats()
	m.chats = nil
	m.addChats(list)
	stored := len(m.chats)
	m.addChats(earlier)
	if len(m.chats) > stored {
		m.chatsVersion++
	}
	m.chatsLoaded = true
	return true
}

// saveChats stores the list of known chats when it has a new one. The first message of a new chat
// waits for that, so that after a crash its history is searched. One list is stored at a time, with
// all chats that were added meanwhile.
func (in *receiver) saveChats(ctx context.Context) {
	if in.c.store == nil {
		in.state.savedVersion = in.state.chatsVersion
		return
	}
	if in.savingChats || in.state.savedVersion == in.state.chatsVersion || time.Now().Before(in.saveChatsAt) {
		return
	}
	in.savingChats, in.saveChatsAt = true, time.Time{}
	version, list := in.state.chatsVersion, in.state.formatChats()
	in.runInBackground(ctx, func() func() {
		err := in.c.store.Save(ctx, chatsKey, list)
		return func() {
			in.savingChats = false
			if err != nil {
				in.saveChatsAt = time.Now().Add(in.chatsRetrier.Next(err))
				return
			}
			in.chatsRetrier.Reset()
			in.state.savedVersion = version
		}
	})
}
