package chats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"nanobot/channels"
)

// Migrations are the groups that became supergroups. Telegram gives such a group a new ID, numbers
// its messages again and refuses calls to the old ID. For the gateway the chat keeps its old ID,
// and with it its history, folder and queue; only calls use the new ID.
type Migrations struct {
	memory channels.Memory // nil: nothing is loaded
	saveMu sync.Mutex      // locked while saving, so that the newest state is saved last
	mu     sync.Mutex
	loaded bool
	newIDs map[int64]int64 // old ID → new ID, for calls
	oldIDs map[int64]int64 // new ID → old ID, for the gateway; this map is stored
}

// migrationsKey is the memory key of the migrations, as JSON.
const migrationsKey = "moved"

// NewMigrations returns the migrations with some that are known, by their new IDs.
func NewMigrations(known map[int64]int64) *Migrations {
	v := &Migrations{newIDs: map[int64]int64{}, oldIDs: map[int64]int64{}}
	v.add(known)
	return v
}

// SetMemory sets where the migrations are stored. It must be called before any other method.
func (v *Migrations) SetMemory(m channels.Memory) { v.memory = m }

func (v *Migrations) add(from map[int64]int64) {
	for to, from := range from {
		v.newIDs[from], v.oldIDs[to] = to, from
	}
}

// Load adds the migrations of earlier runs. It reads the memory once.
func (v *Migrations) Load(ctx context.Context) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.loaded || v.memory == nil {
		return nil
	}
	kept, err := v.memory.Load(ctx, migrationsKey)
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

// Record records a migration that a service message has announced. It lasts after Save.
func (v *Migrations) Record(from, to int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.newIDs[from], v.oldIDs[to] = to, from
}

// Save stores the recorded migrations.
func (v *Migrations) Save(ctx context.Context) error {
	if err := v.Load(ctx); err != nil {
		return err
	}
	v.saveMu.Lock()
	defer v.saveMu.Unlock()
	v.mu.Lock()
	b, err := json.Marshal(v.oldIDs)
	v.mu.Unlock()
	if err == nil {
		err = v.memory.Save(ctx, migrationsKey, string(b))
	}
	if err != nil {
		return fmt.Errorf("keep which groups have moved: %w", err)
	}
	return nil
}

// RecordNewID records the new ID from a refused call. Messages of the supergroup keep its new ID,
// because some may have been received with it already.
func (v *Migrations) RecordNewID(from, to int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.newIDs[from] = to
}

// OriginalID returns the ID that the gateway uses for a chat, or 0 if that is the chat's own.
func (v *Migrations) OriginalID(chat int64) int64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.oldIDs[chat]
}

// CurrentID returns the ID to which calls for a chat go. If the migrations cannot be loaded,
// Telegram refuses the call and returns the new ID.
func (v *Migrations) CurrentID(ctx context.Context, chat int64) int64 {
	_ = v.Load(ctx)
	v.mu.Lock()
	defer v.mu.Unlock()
	if to, ok := v.newIDs[chat]; ok {
		return to
	}
	return chat
}

// ErrMigrated is the error of a change to a message from before the migration.
var ErrMigrated error = &channels.SendError{Err: errors.New("the message stayed behind in a group that became a " +
	"supergroup"), Permanent: true}
