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

// migrations are the groups that became supergroups. Telegram gives such a group a new ID, numbers
// its messages again and refuses calls to the old ID. For the gateway the chat keeps its old ID,
// and with it its history, folder and queue; only calls use the new ID.
type migrations struct {
	saveMu sync.Mutex // locked while saving, so that the newest state is saved last
	mu     sync.Mutex
	loaded bool
	newIDs map[int64]int64 // old ID → new ID, for calls
	oldIDs map[int64]int64 // new ID → old ID, for the gateway; this map is stored
}

// migrationsKey is the memory key of the migrations, as JSON.
const migrationsKey = "moved"

func newMigrations(from map[int64]int64) *migrations {
	v := &migrations{newIDs: map[int64]int64{}, oldIDs: map[int64]int64{}}
	v.add(from)
	return v
}

func (v *migrations) add(from map[int64]int64) {
	for to, from := range from {
		v.newIDs[from], v.oldIDs[to] = to, from
	}
}

// load adds the migrations of earlier runs. It reads the memory once.
func (v *migrations) load(ctx context.Context, memory channels.Memory) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.loaded || memory == nil {
		return nil
	}
	kept, err := memory.Load(ctx, migrationsKey)
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

// migration returns the migration in a service message. Both the group and the supergroup receive
// one.
func (m *message) migration() (from, to int64, ok bool) {
	switch {
	case m.MigrateTo != 0:
		return m.Chat.ID, m.MigrateTo, true
	case m.MigrateFrom != 0:
		return m.MigrateFrom, m.Chat.ID, true
	}
	return 0, 0, false
}

// resolveChat records the migration in an update, and sets the original chat of its messages. It is
// called for one update after the other, in order.
func (v *migrations) resolveChat(u *update) {
	m := u.Message
	if u.CallbackQuery != nil {
		m = u.CallbackQuery.Message
	}
	if m == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if from, to, ok := m.migration(); ok {
		v.newIDs[from], v.oldIDs[to] = to, from
	}
	for ; m != nil; m = m.ReplyTo {
		m.originalChat = v.oldIDs[m.Chat.ID]
	}
}

// saveIfMigrated stores the migrations if a message contains one. When it returns nil, the messages
// may be confirmed.
func (v *migrations) saveIfMigrated(ctx context.Context, memory channels.Memory, messages ...*message) error {
	for _, m := range messages {
		if _, _, ok := m.migration(); ok {
			return v.saveAll(ctx, memory)
		}
	}
	return nil
}

func (v *migrations) saveAll(ctx context.Context, memory channels.Memory) error {
	if err := v.load(ctx, memory); err != nil {
		return err
	}
	v.saveMu.Lock()
	defer v.saveMu.Unlock()
	v.mu.Lock()
	b, err := json.Marshal(v.oldIDs)
	v.mu.Unlock()
	if err == nil {
		err = memory.Save(ctx, migrationsKey, string(b))
	}
	if err != nil {
		return fmt.Errorf("keep which groups have moved: %w", err)
	}
	return nil
}

// recordNewID records the new ID from a refused call. Messages of the supergroup keep its new ID,
// because some may have been received with it already.
func (v *migrations) recordNewID(from, to int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.newIDs[from] = to
}

// currentID returns the ID to which calls for a chat go.
func (v *migrations) currentID(chat int64) int64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	if to, ok := v.newIDs[chat]; ok {
		return to
	}
	return chat
}

// currentChat returns the ID to which calls for a chat go. If the migrations cannot be loaded,
// Telegram refuses the call and returns the new ID.
func (c *Channel) currentChat(ctx context.Context, chat int64) int64 {
	_ = c.migrations.load(ctx, c.memory)
	return c.migrations.currentID(chat)
}

// errMigrated is the error of a change to a message from before the migration.
var errMigrated = errors.New("the message stayed behind in a group that became a supergroup")

// messageID returns the gateway's ID of a message: its number, with the chat before it if that
// differs from the original chat. A number alone would mean a message from before the migration.
func messageID(home, chat int64, number int) string {
	if chat == home {
		return strconv.Itoa(number)
	}
	return fmt.Sprintf("%d/%d", chat, number)
}

// parseMessageID returns the chat and the number of a message.
func parseMessageID(home int64, id string) (chat int64, number int, err error) {
	chat = home
	if _, rest, found := strings.Cut(id, botSeparator); found {
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
		return 0, 0, fmt.Errorf("%q is not a Telegram message", id)
	}
	return chat, number, nil
}
