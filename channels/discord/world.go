package discord

import (
	"sync"

	"github.com/bwmarrin/discordgo"
)

// world is what we know of where we are: ourselves, the servers, and the channels in which people
// can write. It holds a few words for each of them and nothing else.
type world struct {
	mu     sync.RWMutex
	me     flake
	guilds map[flake]guild
	rooms  map[flake]room
}

// guild is a server.
type guild struct {
	tier int   // how far its members have boosted it, which raises limits
	role flake // the bot's own, which people mention when they mean the bot
}

// room is a channel or a thread of a server.
type room struct {
	guild  flake
	parent flake
	owner  flake // of a thread: who has begun it
	kind   discordgo.ChannelType
	closed bool // we may not read in it
}

func newWorld() *world {
	return &world{guilds: map[flake]guild{}, rooms: map[flake]room{}}
}

func (w *world) introduce(me flake) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.me = me
}

func (w *world) self() flake {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.me
}

func (w *world) room(id flake) (room, bool) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	r, ok := w.rooms[id]
	return r, ok
}

// isIn tells whether a chat is on a server.
func (w *world) isIn(id, guild flake) bool {
	r, ok := w.room(id)
	return ok && r.guild == guild
}

func (w *world) guild(id flake) guild {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.guilds[id]
}

// addGuild takes in a server with its channels and threads.
func (w *world) addGuild(s server) {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := guild{tier: s.Tier, role: w.guilds[s.ID].role}
	for _, r := range s.Roles {
		if r.Tags.Bot != 0 && r.Tags.Bot == w.me {
			g.role = r.ID
		}
	}
	w.guilds[s.ID] = g
	for _, p := range s.Channels {
		w.put(p, s.ID)
	}
	for _, p := range s.Threads {
		w.put(p, s.ID)
	}
}

func (w *world) dropGuild(id flake) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.guilds, id)
	for r, room := range w.rooms {
		if room.guild == id {
			delete(w.rooms, r)
		}
	}
}

func (w *world) add(p place) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.put(p, p.Guild)
}

func (w *world) put(p place, g flake) {
	if p.ID == 0 || g == 0 || !hasMessages(p.Type) {
		return
	}
	w.rooms[p.ID] = room{guild: g, parent: p.Parent, owner: p.Owner, kind: p.Type, closed: w.rooms[p.ID].closed}
}

func (w *world) drop(id flake) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.rooms, id)
}

// close notes that we may not read in a channel, so that we do not ask again; open that we may now.
func (w *world) close(id flake) { w.setClosed(id, true) }
func (w *world) open(id flake)  { w.setClosed(id, false) }

func (w *world) setClosed(id flake, closed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r, ok := w.rooms[id]; ok {
		r.closed = closed
		w.rooms[id] = r
	}
}

// knows tells whether the server of a chat is known.
func (w *world) knows(id flake) bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	_, ok := w.guilds[w.rooms[id].guild]
	return ok
}

// uploadLimit is the largest file that a chat takes. Discord's servers take more the more they are
// boosted.
func (w *world) uploadLimit(id flake) int64 {
	w.mu.RLock()
	defer w.mu.RUnlock()
	switch w.guilds[w.rooms[id].guild].tier {
	case 2:
		return 50 << 20
	case 3:
		return 100 << 20
	}
	return leastUpload
}
