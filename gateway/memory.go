package gateway

import (
	"context"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// channelMemory is the storage of one channel. Its values are memories of a chat without an ID,
// which no network has.
type channelMemory struct {
	store   store.Store
	channel string
	idle    func(chat channels.Chat) bool
}

var _ channels.Memory = channelMemory{}

func (m channelMemory) Load(ctx context.Context, key string) (string, error) {
	return m.store.Recall(ctx, channels.Chat{Channel: m.channel}, key)
}

func (m channelMemory) Save(ctx context.Context, key, value string) error {
	return m.store.Remember(ctx, channels.Chat{Channel: m.channel}, key, value)
}

func (m channelMemory) Parts(ctx context.Context) ([]channels.Incoming, error) {
	return m.store.Parts(ctx, m.channel)
}

func (m channelMemory) DropParts(ctx context.Context, chat channels.Chat, group string) error {
	return m.store.DropParts(ctx, chat, group)
}

func (m channelMemory) Known(ctx context.Context, chat channels.Chat, id string) (bool, error) {
	return m.store.Known(ctx, chat, id)
}

func (m channelMemory) Idle(chat channels.Chat) bool { return m.idle(chat) }
