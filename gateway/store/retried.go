package store

import (
	"context"
	"fmt"

	"nanobot/channels"
)

// maxRetried is how many of a chat's last messages are searched for one that can be run again.
const maxRetried = 20

// Retried returns the message of a chat that /retry runs again: the last one that had a turn, or
// has one, and whose sender has access. It reports false if there is none.
func Retried(ctx context.Context, s interface {
	Recent(ctx context.Context, chat channels.Chat, n int) ([]Inbound, error)
}, admits func(ctx context.Context, in channels.Incoming) (bool, error), chat channels.Chat,
) (Inbound, bool, error) {
	inbounds, err := s.Recent(ctx, chat, maxRetried)
	if err != nil {
		return Inbound{}, false, fmt.Errorf("read last messages: %w", err)
	}
	for _, inbound := range inbounds {
		if inbound.Started.IsZero() {
			continue
		}
		if ok, err := admits(ctx, inbound.In); ok || err != nil {
			return inbound, ok, err
		}
	}
	return Inbound{}, false, nil
}
