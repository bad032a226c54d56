package acp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"nanobot/terminal"
)

// maxPast is how many of its sessions are remembered of a chat.
const maxPast = 50

// memo is what is remembered of a chat.
type memo struct {
	Session string `json:"session"`
	Agent   string `json:"agent"` // whose session it is
}

// fingerprint is what an agent's command is remembered by; the command itself may hold secrets.
func fingerprint(command string) string {
	sum := sha256.Sum256([]byte(command))
	return hex.EncodeToString(sum[:8])
}

// remembered returns the session that the chat had with this agent; "" when there was none.
func (p *Protocol) remembered(ctx context.Context, m terminal.Memory) (session string, err error) {
	s, err := m.Load(ctx)
	if err != nil {
		return "", fmt.Errorf("read what is known of the conversation: %w", err)
	}
	var known memo
	_ = json.Unmarshal([]byte(s), &known) // what is not ours is as good as nothing
	if known.Agent != p.agent {
		return "", nil
	}
	return known.Session, nil
}

// remember makes a session the chat's. It says whether the memory is one that keeps anything.
func (x *turn) remember(ctx context.Context, session string) (kept bool, err error) {
	ctx = context.WithoutCancel(ctx)
	if err := x.had(ctx, session); err != nil {
		return false, err
	}
	s, err := json.Marshal(memo{Session: session, Agent: x.agent})
	if err == nil {
		err = x.t.Memory.Save(ctx, string(s))
	}
	if err != nil {
		return false, fmt.Errorf("remember the conversation: %w", err)
	}
	got, err := x.remembered(ctx, x.t.Memory)
	return got == session, err
}

// past returns the sessions that the chat has had, with any agent and the newest first.
func (x *turn) past(ctx context.Context) (all []memo, err error) {
	s, err := x.t.Memory.LoadLasting(ctx)
	if err != nil {
		return nil, fmt.Errorf("read what is known of earlier conversations: %w", err)
	}
	_ = json.Unmarshal([]byte(s), &all) // what is not ours is as good as nothing
	return all, nil
}

// had remembers that the chat has had a session, as its newest.
func (x *turn) had(ctx context.Context, session string) error {
	ctx = context.WithoutCancel(ctx)
	all, err := x.past(ctx)
	if err != nil {
		return err
	}
	newest := memo{Session: session, Agent: x.agent}
	if len(all) > 0 && all[0] == newest {
		return nil
	}
	all = slices.DeleteFunc(all, func(m memo) bool { return m == newest })
	all = slices.Insert(all, 0, newest)
	s, err := json.Marshal(all[:min(len(all), maxPast)])
	if err == nil {
		err = x.t.Memory.SaveLasting(ctx, string(s))
	}
	if err != nil {
		return fmt.Errorf("remember the conversation: %w", err)
	}
	return nil
}
