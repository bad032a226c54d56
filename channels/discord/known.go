package discord

import (
	"context"
	"time"

	"nanobot/channels/httpclient"
)

// chatsKey is where the list of the known chats is stored.
const chatsKey = "chats"

// loadChats reads the list of the known chats, and reports false when ctx ends before. Earlier
// versions had it in the cursor: it is then stored before any cursor without it is.
func (in *intake) loadChats(ctx context.Context) bool {
	m := in.m
	for in.c.store != nil && !m.loaded {
		list, err := in.c.store.Load(ctx, chatsKey)
		if err != nil {
			if ctx.Err() != nil || !httpclient.Sleep(ctx, in.list.Next(err)) {
				return false
			}
			continue
		}
		in.list.Reset()
		earlier := m.list()
		m.chats = nil
		m.add(list)
		stored := len(m.chats)
		m.add(earlier)
		if len(m.chats) > stored {
			m.listed++
		}
		m.loaded = true
	}
	return true
}

// saveChats stores the list of the known chats when there is a new one. Its first message waits for
// that, so that no crash leaves a chat of which we have heard and do not look into afterwards. One
// list is stored at a time, and holds all chats that have come meanwhile.
func (in *intake) saveChats(ctx context.Context) {
	if in.c.store == nil {
		in.m.saved = in.m.listed
		return
	}
	if in.listing || in.m.saved == in.m.listed || time.Now().Before(in.relist) {
		return
	}
	in.listing, in.relist = true, time.Time{}
	version, list := in.m.listed, in.m.list()
	in.aside(ctx, func() func() {
		err := in.c.store.Save(ctx, chatsKey, list)
		return func() {
			in.listing = false
			if err != nil {
				in.relist = time.Now().Add(in.list.Next(err))
				return
			}
			in.list.Reset()
			in.m.saved = version
		}
	})
}
