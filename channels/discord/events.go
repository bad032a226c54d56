package discord

import (
	"context"
	"encoding/json"
	"maps"
	"time"

	"go.uber.org/zap"
)

// happen takes in one event.
func (in *intake) happen(ctx context.Context, e event) {
	var err error
	switch e.name {
	case "READY":
		err = decoded(e, func(r ready) { in.begin(ctx, r) })
	case "RESUMED":
		in.c.log.Info("connected again")
	case "GUILD_CREATE":
		err = decoded(e, in.arrive)
	case "GUILD_UPDATE":
		err = decoded(e, in.c.world.addGuild)
	case "GUILD_DELETE":
		err = decoded(e, in.leave)
	case "CHANNEL_CREATE", "CHANNEL_UPDATE", "THREAD_CREATE", "THREAD_UPDATE":
		err = decoded(e, func(p place) {
			in.c.world.add(p)
			in.c.world.open(p.ID)
		})
	case "CHANNEL_DELETE", "THREAD_DELETE":
		err = decoded(e, func(p place) {
			in.abandon(p.ID)
			in.c.world.drop(p.ID)
		})
	case "THREAD_LIST_SYNC":
		err = decoded(e, func(s server) {
			for _, p := range s.Threads {
				in.c.world.add(p)
			}
		})
	case "MESSAGE_CREATE":
		err = decoded(e, func(m message) { in.hear(ctx, &m) })
	case "INTERACTION_CREATE":
		if e.use != nil {
			in.interact(ctx, e.use)
		} else {
			err = decoded(e, func(interaction) {}) // of a kind that we do not offer, or it is told what is wrong with it
		}
	}
	if err != nil {
		in.c.log.Error("undecodable event skipped", zap.String("event", e.name), zap.Int("bytes", len(e.data)), zap.Error(err))
	}
}

func decoded[T any](e event, do func(T)) error {
	var t T
	if err := json.Unmarshal(e.data, &t); err != nil {
		return err
	}
	do(t)
	return nil
}

// ready is how a new session begins.
type ready struct {
	User   user     `json:"user"`
	Guilds []server `json:"guilds"`
	App    struct {
		ID flake `json:"id"`
	} `json:"application"`
}

// begin begins a session of which we do not know what was said before. The servers come one by one.
func (in *intake) begin(ctx context.Context, r ready) {
	in.c.log.Info("connected", zap.String("bot", r.User.Username), zap.Int("servers", len(r.Guilds)))
	in.c.world.introduce(r.User.ID)
	if in.since.IsZero() {
		in.m.begin(in.c.api.theirs(in.began))
		in.from = in.m.mark
	} else {
		in.from = in.mark(nil)
	}
	in.since = time.Now()
	clear(in.caught)
	for _, s := range r.Guilds {
		if _, ok := in.awaited[s.ID]; !ok {
			in.awaited[s.ID] = in.from
		}
	}
	maps.DeleteFunc(in.awaited, func(id, _ flake) bool { return !r.has(id) })
	for id, l := range in.lines {
		if l.past != nil { // it goes on to the end, which a call that is under way may not reach any more
			in.caught[id] = true
			l.unhold()
		}
	}
	for _, c := range in.m.chats {
		in.recall(c.id, c.thread, in.from)
	}
	if !in.greeted {
		in.greeted = true
		in.side.Go(func() error { in.c.register(ctx, r.App.ID); return nil })
		in.lookUp(ctx)
	}
}

func (r ready) has(guild flake) bool {
	for _, s := range r.Guilds {
		if s.ID == guild {
			return true
		}
	}
	return false
}

// arrive takes in a server. One that we have just been invited to has no past for us.
func (in *intake) arrive(s server) {
	if s.Unavailable {
		return
	}
	in.c.world.addGuild(s)
	from, ok := in.awaited[s.ID]
	delete(in.awaited, s.ID)
	if !ok {
		return
	}
	for _, places := range [][]place{s.Channels, s.Threads} {
		for _, p := range places {
			if p.Last > from && hasMessages(p.Type) {
				in.recall(p.ID, isThread(p.Type), from)
			}
		}
	}
}

// leave takes note that a server is gone: for good, or because of an outage.
func (in *intake) leave(s server) {
	if s.Unavailable {
		in.awaited[s.ID], in.since = in.mark(nil), time.Now()
		maps.DeleteFunc(in.caught, func(id flake, _ bool) bool { return in.c.world.isIn(id, s.ID) })
		return
	}
	delete(in.awaited, s.ID)
	for id := range in.lines {
		if in.c.world.isIn(id, s.ID) {
			in.abandon(id)
		}
	}
	in.c.world.dropGuild(s.ID)
}

// note keeps the mark when there was no message to keep it with for a while. That waits for no
// message, and no message for it.
func (in *intake) note(ctx context.Context) {
	if in.c.keep == nil || in.since.IsZero() || in.keeping || in.m.saved < in.m.listed {
		return
	}
	mark := in.mark(nil)
	if mark <= in.kept || mark.back(noteEvery) < in.kept {
		return
	}
	in.keeping = true
	cursor := in.m.cursor(mark)
	in.aside(ctx, func() func() {
		err := in.c.keep(ctx, cursor)
		return func() {
			in.keeping = false
			if err != nil {
				in.c.log.Debug("cursor not kept", zap.Error(err))
				return
			}
			in.m.mark, in.kept = max(in.m.mark, mark), max(in.kept, mark)
		}
	})
}

// noteEvery is how far the mark moves before it is kept without a message.
const noteEvery = 10 * time.Minute
