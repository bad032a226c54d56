package acp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"nanobot/terminal"
)

// maxPast limits the past sessions that are stored per chat.
const maxPast = 50

// sessionRecord is a chat's session in the chat's memory.
type sessionRecord struct {
	Session string `json:"session"`
	Agent   string `json:"agent"` // hash of the agent's command
}

// hashCommand returns a short hash of a command. The command itself may contain secrets.
func hashCommand(command string) string {
	sum := sha256.Sum256([]byte(command))
	return hex.EncodeToString(sum[:8])
}

// storedSession returns the session that the chat had with this agent, or "".
func (p *Protocol) storedSession(ctx context.Context, m terminal.Memory) (session string, err error) {
	s, err := m.Load(ctx)
	if err != nil {
		return "", fmt.Errorf("read what is known of the conversation: %w", err)
	}
	var known sessionRecord
	_ = json.Unmarshal([]byte(s), &known) // an invalid value counts as empty
	if known.Agent != p.commandHash {
		return "", nil
	}
	return known.Session, nil
}

// recordSession records that this chat has had a session.
func (x *turn) recordSession(ctx context.Context, s *session) error {
	if err := x.t.Memory.AddChatSession(context.WithoutCancel(ctx), s.id); err != nil {
		return fmt.Errorf("remember the conversation: %w", err)
	}
	return x.addPastSession(ctx, s)
}

// storeSession stores the chat's session. stored is false if the memory keeps nothing, as with
// `nanobot run`.
func (x *turn) storeSession(ctx context.Context, s *session) (stored bool, err error) {
	ctx = context.WithoutCancel(ctx)
	if err := x.recordSession(ctx, s); err != nil {
		return false, err
	}
	text, err := json.Marshal(sessionRecord{Session: s.id, Agent: x.commandHash})
	if err == nil {
		err = x.t.Memory.Save(ctx, string(text))
	}
	if err != nil {
		return false, fmt.Errorf("remember the conversation: %w", err)
	}
	got, err := x.storedSession(ctx, x.t.Memory)
	return got == s.id, err
}
