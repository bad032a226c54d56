package discord

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"go.uber.org/zap"
)

// handleEvent processes one gateway event.
func (in *receiver) handleEvent(ctx context.Context, e event) {
	var err error
	switch e.name {
	case "READY":
		err = decodeEvent(e, func(r ready) { in.handleReady(ctx, r) })
	case "RESUMED":
		in.c.log.Info("reconnected")
	case "GUILD_CREATE":
		err = decodeEvent(e, in.handleGuildCreate)
	case "GUILD_UPDATE":
		err = decodeEvent(e, in.c.guilds.addGuild)
	case "GUILD_DELETE":
		err = decodeEvent(e, in.handleGuildDelete)
	case "CHANNEL_CREATE", "CHANNEL_UPDATE", "THREAD_CREATE", "THREAD_UPDATE":
		err = decodeEvent(e, func(ch channelObject) {
			in.c.guilds.addChannel(ch)
			in.c.guilds.setUnreadable(ch.ID, false)
		})
	case "CHANNEL_DELETE", "THREAD_DELETE":
		err = decodeEvent(e, func(ch channelObject) {
			in.cancelHistorySearch(ch.ID)
			in.c.guilds.removeChannel(ch.ID)
		})
	case "THREAD_LIST_SYNC":
		err = decodeEvent(e, func(g guildObject) {
			for _, ch := range g.Threads {
				in.c.guilds.addChannel(ch)
			}
		})
	case "MESSAGE_CREATE":
		err = decodeEvent(e, func(m message) { in.handleMessage(ctx, &m) })
	case "MESSAGE_UPDATE":
		err = decodeEvent(e, func(m message) { in.handleEdit(ctx, &m) })
	case "MESSAGE_DELETE", "MESSAGE_DELETE_BULK":
		err = decodeEvent(e, func(d deletion) { in.handleDeletion(ctx, d) })
	case "INTERACTION_CREATE":
		if e.interaction != nil {
			in.handleInteraction(ctx, e.interaction)
		} else {
			err = decodeEvent(e, func(interaction) {}) // an unsupported type, or undecodable: then the error is logged
		}
	}
	if err != nil {
		in.c.log.Error("undecodable event skipped", zap.String("event", e.name), zap.Int("bytes", len(e.data)),
			zap.Error(err))
	}
}

func decodeEvent[T any](e event, do func(T)) error {
	var t T
	if err := json.Unmarshal(e.data, &t); err != nil {
		return err
	}
	do(t)
	return nil
}

// ready is the payload of a READY event.
type ready struct {
	User   user          `json:"user"`
	Guilds []guildObject `json:"guilds"`
	App    struct {
		ID snowflake `json:"id"`
	} `json:"application"`
}

// handleReady handles the start of a new session. Messages before it may have been missed. The
// guilds follow in GUILD_CREATE events.
func (in *receiver) handleReady(ctx context.Context, r ready) {
	in.c.log.Info("connected", zap.String("bot", r.User.Username), zap.Int("servers", len(r.Guilds)))
	in.c.guilds.setBotID(r.User.ID)
	if in.sessionStart.IsZero() {
		in.state.initWatermark(in.c.api.discordTime(in.startedAt))
		in.missedSince = in.state.watermark
	} else {
		in.missedSince = in.watermark(nil)
	}
	in.sessionStart = time.Now()
	clear(in.searched)
	for _, g := range r.Guilds {
		if _, ok := in.pendingGuilds[g.ID]; !ok {
			in.pendingGuilds[g.ID] = in.missedSince
		}
	}
	maps.DeleteFunc(in.pendingGuilds, func(id, _ snowflake) bool {
		return !slices.ContainsFunc(r.Guilds, func(g guildObject) bool { return g.ID == id })
	})
	for id, q := range in.queues {
		if q.history != nil { // the running call may miss the newest messages, so the search is repeated
			in.searched[id] = true
			q.dropLiveMessages()
		}
	}
	for _, c := range in.state.chats {
		in.startHistorySearch(c.id, c.thread, in.missedSince)
	}
	if !in.startupDone {
		in.startupDone = true
		in.background.Go(func() error { in.c.keepCommandsRegistered(ctx, r.App.ID); return nil })
		in.searchDirectMessages(ctx)
	}
}

// handleGuildCreate adds a guild and searches the history of its channels. A guild that has just
// added the bot has no missed messages.
func (in *receiver) handleGuildCreate(g guildObject) {
	if g.Unavailable {
		return
	}
	in.c.guilds.addGuild(g)
	from, ok := in.pendingGuilds[g.ID]
	delete(in.pendingGuilds, g.ID)
	if !ok {
		return
	}
	for _, list := range [][]channelObject{g.Channels, g.Threads} {
		for _, ch := range list {
			if ch.Last > from && hasMessages(ch.Type) {
				in.startHistorySearch(ch.ID, isThread(ch.Type), from)
			}
		}
	}
}

// handleGuildDelete removes a guild that the bot has left, or waits for one that has an outage.
func (in *receiver) handleGuildDelete(g guildObject) {
	if g.Unavailable {
		in.pendingGuilds[g.ID], in.sessionStart = in.watermark(nil), time.Now()
		maps.DeleteFunc(in.searched, func(id snowflake, _ bool) bool { return in.c.guilds.isInGuild(id, g.ID) })
		return
	}
	delete(in.pendingGuilds, g.ID)
	for id := range in.queues {
		if in.c.guilds.isInGuild(id, g.ID) {
			in.cancelHistorySearch(id)
		}
	}
	in.c.guilds.removeGuild(g.ID)
}

// saveCursor stores the watermark in the background when it has moved by cursorInterval since it
// was last stored.
func (in *receiver) saveCursor(ctx context.Context) {
	if in.c.saveCursor == nil || in.sessionStart.IsZero() || in.savingCursor ||
		in.state.savedVersion < in.state.chatsVersion {
		return
	}
	mark := in.watermark(nil)
	if mark <= in.savedWatermark || mark.minus(cursorInterval) < in.savedWatermark {
		return
	}
	in.savingCursor = true
	cursor := in.state.formatCursor(mark)
	in.runInBackground(ctx, func() func() {
		err := in.c.saveCursor(ctx, cursor)
		return func() {
			in.savingCursor = false
			if err != nil {
				in.c.log.Debug("cursor not stored", zap.Error(err))
				return
			}
			in.state.watermark, in.savedWatermark = max(in.state.watermark, mark), max(in.savedWatermark, mark)
		}
	})
}

// cursorInterval is how far the watermark moves before it is stored without a message.
const cursorInterval = 10 * time.Minute
