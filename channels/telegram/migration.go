package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"nanobot/channels"
)

// moves are the groups that became supergroups. Telegram gives such a group another id, numbers its
// messages anew and refuses what is sent to the old id. To the people in it, it is the same chat.
// So it stays the same for the gateway: it keeps its old id, and with it its history, its folder
// and what waits in it, and only calls go to the new one.
type moves struct {
	saving sync.Mutex // held while they are saved, so that the last state is saved last
	mu     sync.Mutex
	loaded bool
	to     map[int64]int64 // where calls go instead
	from   map[int64]int64 // by which id a supergroup is known to the gateway; this is what is kept
}

// movesKey is where the moves are in the channel's memory, as JSON.
const movesKey = "moved"

func newMoves(from map[int64]int64) *moves {
	v := &moves{to: map[int64]int64{}, from: map[int64]int64{}}
	v.add(from)
	return v
}

func (v *moves) add(from map[int64]int64) {
	for to, from := range from {
		v.to[from], v.from[to] = to, from
	}
}

// load adds what earlier runs have kept. It reads the memory once.
func (v *moves) load(ctx context.Context, memory channels.Memory) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.loaded || memory == nil {
		return nil
	}
	kept, err := memory.Load(ctx, movesKey)
	from := map[int64]int64{}
	if err == nil && kept != "" {
		err = json.Unmarshal([]byte(kept), &from)
	}
	if err != nil {
		return fmt.Errorf("read which groups have moved: %w", err)
	}
	v.add(from)
	v.loaded = true
	return nil
}

// moved returns what a service message says of a move. Both the group and the supergroup get one.
func (m *message) moved() (from, to int64, ok bool) {
	switch {
	case m.MigrateTo != 0:
		return m.Chat.ID, m.MigrateTo, true
	case m.MigrateFrom != 0:
		return m.MigrateFrom, m.Chat.ID, true
	}
	return 0, 0, false
}

// locate learns from an update what it says of a move, and notes in its messages by which id their
// chat is known. It is called for one update after the other, in their order.
func (v *moves) locate(u *update) {
	m := u.Message
	if u.Press != nil {
		m = u.Press.Message
	}
	if m == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if from, to, ok := m.moved(); ok {
		v.to[from], v.from[to] = to, from
	}
	for ; m != nil; m = m.ReplyTo {
		m.home = v.from[m.Chat.ID]
	}
}

// save makes durable what messages say of a move. When it returns nil they may be confirmed.
func (v *moves) save(ctx context.Context, memory channels.Memory, messages ...*message) error {
	for _, m := range messages {
		if _, _, ok := m.moved(); ok {
			return v.saveAll(ctx, memory)
		}
	}
	return nil
}

func (v *moves) saveAll(ctx context.Context, memory channels.Memory) error {
	if err := v.load(ctx, memory); err != nil {
		return err
	}
	v.saving.Lock()
	defer v.saving.Unlock()
	v.mu.Lock()
	b, err := json.Marshal(v.from)
	v.mu.Unlock()
	if err == nil {
		err = memory.Save(ctx, movesKey, string(b))
	}
	if err != nil {
		return fmt.Errorf("keep which groups have moved: %w", err)
	}
	return nil
}

// redirect notes what a refused call says of a move. For what comes from the supergroup it is too
// late: it may have been received under its own id already.
func (v *moves) redirect(from, to int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.to[from] = to
}

// current returns where calls to a chat go.
func (v *moves) current(chat int64) int64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	if to, ok := v.to[chat]; ok {
		return to
	}
	return chat
}

// current returns where calls to a chat go. If it cannot be read which groups have moved, Telegram
// refuses the call and says where the chat is.
func (c *Channel) current(ctx context.Context, chat int64) int64 {
	_ = c.moves.load(ctx, c.memory)
	return c.moves.current(chat)
}

// errMoved says that a message cannot be changed any more.
var errMoved = errors.New("the message stayed behind in a group that became a supergroup")

// messageID names a message for the gateway, which knows its chat as home: by its number, with the
// chat before it if that is another one. A number alone would mean a message from before the move.
func messageID(home, chat int64, number int) string {
	if chat == home {
		return strconv.Itoa(number)
	}
	return fmt.Sprintf("%d/%d", chat, number)
}

// parseMessageID returns the chat in which a message is, and its number.
func parseMessageID(home int64, id string) (chat int64, number int, err error) {
	chat = home
	if _, rest, found := strings.Cut(id, botMark); found {
		id = rest
	}
	if before, after, found := strings.Cut(id, "/"); found {
		chat, err = strconv.ParseInt(before, 10, 64)
		id = after
	}
	if err == nil {
		number, err = strconv.Atoi(id)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("%q is no message of Telegram's", id)
	}
	return chat, number, nil
}
