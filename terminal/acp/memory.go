package acp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"nanobot/terminal"
	"nanobot/terminal/acp/view"
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

// sessionState is what a chat remembers of a session for the agent's next process.
type sessionState struct {
	Chosen []chosenSetting `json:"chosen,omitempty"`
	Cost   *view.Cost      `json:"cost,omitempty"` // what turns have reported; nil: unknown
}

// isWorthStoring reports whether a turn has changed more than nothing.
func (s sessionState) isWorthStoring() bool {
	return len(s.Chosen) > 0 || s.Cost != nil && s.Cost.Amount > 0
}

// pastSession is a session that a chat has had.
type pastSession struct {
	sessionRecord
	sessionState
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
func (m sessionMemory) setCurrent(ctx context.Context, id string, state sessionState) (stored bool, err error) {
	ctx = context.WithoutCancel(ctx)
	if err := m.addSession(ctx, id, state); err != nil {
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
func (m sessionMemory) addSession(ctx context.Context, id string, state sessionState) error {
	if err := m.Save(context.WithoutCancel(ctx), terminal.SessionMemory(id), "1"); err != nil {
		return fmt.Errorf("remember the conversation: %w", err)
	}
	return m.storePast(ctx, id, state)
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

// storePast stores a session as the newest of the chat's past sessions.
func (m sessionMemory) storePast(ctx context.Context, id string, state sessionState) error {
	ctx = context.WithoutCancel(ctx)
	all, err := m.loadPast(ctx)
	if err != nil {
		return err
	}
	newest := pastSession{sessionRecord{Session: id, Agent: m.agent}, state}
	if len(all) > 0 && reflect.DeepEqual(all[0], newest) {
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

// loadState returns what is remembered of a session of this chat; "": of the newest one, from which
// a new session inherits what was chosen.
func (m sessionMemory) loadState(ctx context.Context, id string) (sessionState, error) {
	all, err := m.loadPast(ctx)
	for _, p := range all {
		if p.Agent == m.agent && (id == "" || p.Session == id) {
			return p.sessionState, nil
		}
	}
	return sessionState{}, err
}
