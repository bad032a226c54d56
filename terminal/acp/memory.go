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

// maxPast limits the past sessions that are stored per chat.
const maxPast = 50

// sessionRecord is a chat's session in the chat's memory.
type sessionRecord struct {
	Session string `json:"session"`
	Agent   string `json:"agent"` // hash of the agent's command
}

// conversation is what a chat remembers until /new: its session in the agent's own folder, and
// those in other places.
type conversation struct {
	sessionRecord
	Places map[string]string `json:"places,omitempty"` // sessions by terminal.ExecEnv.Place
}

// pastSession is a session that a chat has had, with what was chosen in it.
type pastSession struct {
	sessionRecord
	Chosen []chosenSetting `json:"chosen,omitempty"`
}

// sessionMemory is what a chat remembers of its sessions with one agent.
type sessionMemory struct {
	terminal.Memory
	agent string // hash of the agent's command
	place string // of the turn, see terminal.ExecEnv
}

// hashCommand returns a short hash of a command. The command itself may contain secrets.
func hashCommand(command string) string {
	sum := sha256.Sum256([]byte(command))
	return hex.EncodeToString(sum[:8])
}

// current returns the session that the chat had with this agent in this place, or "".
func (m sessionMemory) current(ctx context.Context) (session string, err error) {
	c, err := m.loadConversation(ctx)
	if m.place != "" {
		return c.Places[m.place], err
	}
	return c.Session, err
}

// loadConversation returns the sessions that the chat had with this agent.
func (m sessionMemory) loadConversation(ctx context.Context) (c conversation, err error) {
	s, err := m.Load(ctx, terminal.ConversationMemory)
	if err != nil {
		return c, fmt.Errorf("read what is known of the conversation: %w", err)
	}
	_ = json.Unmarshal([]byte(s), &c) // an invalid value counts as empty
	if c.Agent != m.agent {
		c = conversation{sessionRecord: sessionRecord{Agent: m.agent}}
	}
	return c, nil
}

// setCurrent stores the chat's session. stored is false if the memory keeps nothing, as with
// `nanobot run`.
func (m sessionMemory) setCurrent(ctx context.Context, id string, chosen []chosenSetting) (stored bool, err error) {
	ctx = context.WithoutCancel(ctx)
	if err := m.addSession(ctx, id, chosen); err != nil {
		return false, err
	}
	c, err := m.loadConversation(ctx)
	if err != nil {
		return false, err
	}
	switch {
	case m.place == "":
		c.Session = id
	case c.Places == nil:
		c.Places = map[string]string{m.place: id}
	default:
		c.Places[m.place] = id
	}
	if err := m.saveJSON(ctx, terminal.ConversationMemory, c); err != nil {
		return false, err
	}
	got, err := m.current(ctx)
	return got == id, err
}

// addSession records that this chat has had a session.
func (m sessionMemory) addSession(ctx context.Context, id string, chosen []chosenSetting) error {
	if err := m.Save(context.WithoutCancel(ctx), terminal.SessionMemory(id), "1"); err != nil {
		return fmt.Errorf("remember the conversation: %w", err)
	}
	return m.storePast(ctx, id, chosen)
}

// loadPast returns the sessions that the chat has had with any agent, newest first.
func (m sessionMemory) loadPast(ctx context.Context) (all []pastSession, err error) {
	s, err := m.Load(ctx, terminal.LastingMemory)
	if err != nil {
		return nil, fmt.Errorf("read what is known of earlier conversations: %w", err)
	}
	_ = json.Unmarshal([]byte(s), &all) // an invalid value counts as empty
	return all, nil
}

// storePast stores a session, with what was chosen in it, as the newest of the chat's past
// sessions.
func (m sessionMemory) storePast(ctx context.Context, id string, chosen []chosenSetting) error {
	ctx = context.WithoutCancel(ctx)
	all, err := m.loadPast(ctx)
	if err != nil {
		return err
	}
	newest := pastSession{sessionRecord{Session: id, Agent: m.agent}, chosen}
	if len(all) > 0 && all[0].sessionRecord == newest.sessionRecord && slices.Equal(all[0].Chosen, newest.Chosen) {
		return nil
	}
	all = slices.DeleteFunc(all, func(p pastSession) bool { return p.sessionRecord == newest.sessionRecord })
	all = slices.Insert(all, 0, newest)
	return m.saveJSON(ctx, terminal.LastingMemory, all[:min(len(all), maxPast)])
}

func (m sessionMemory) saveJSON(ctx context.Context, key terminal.MemoryKey, value any) error {
	text, err := json.Marshal(value)
	if err == nil {
		err = m.Save(ctx, key, string(text))
	}
	if err != nil {
		return fmt.Errorf("remember the conversation: %w", err)
	}
	return nil
}

// loadChosen returns what was chosen in a session of this chat; "": in the newest one, from which a
// new session inherits it.
func (m sessionMemory) loadChosen(ctx context.Context, id string) ([]chosenSetting, error) {
	all, err := m.loadPast(ctx)
	for _, p := range all {
		if p.Agent == m.agent && (id == "" || p.Session == id) {
			return p.Chosen, nil
		}
	}
	return nil, err
}
