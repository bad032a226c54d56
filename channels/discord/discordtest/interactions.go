package discordtest

import (
	"crypto/rand"
	"slices"
	"testing"
	"time"
)

// Interaction is a slash command or the press of a button, and how the bot has answered it so far.
type Interaction struct {
	ID           string
	Token        string
	ChannelID    string
	UserID       string
	Command      string // of a slash command
	CustomID     string // of a button or a select menu
	Type         int    // of the answer: 4 message, 5 later, 6 changes nothing now, 7 changes the message; 0: none yet
	MessageID    string // of the answer's message
	Followups    []string
	ResponseTime time.Duration // from the interaction to the answer
}

type interaction struct {
	Interaction
	kind    int
	made    time.Time
	on      *Message // that has the button
	loading bool     // the answer's message is still to come
}

// The kinds of interaction, and how long one can be answered first and at all.
const (
	slashCommand = 2
	press        = 3

	answerTime = 3 * time.Second
	tokenLife  = 15 * time.Minute
)

// interact makes an interaction and tells of it. It needs no intents.
func (s *Server) interact(ch *channel, user string, data map[string]any, i *interaction) Interaction {
	i.ID, i.Token, i.ChannelID, i.UserID, i.made = s.id(), rand.Text()+rand.Text(), ch.ID, user, s.now()
	s.actions[i.Token] = i
	event := map[string]any{
		"id": i.ID, "application_id": s.ApplicationID, "type": i.kind, "token": i.Token, "version": 1, "data": data,
		"channel_id": ch.ID, "channel": ch.Channel, "locale": "en-US", "app_permissions": "2251799813685247",
		"entitlements": []any{}, "attachment_size_limit": s.uploadLimit(ch.GuildID), "context": 0,
		"authorizing_integration_owners": map[string]string{"0": ch.GuildID},
	}
	if ch.GuildID == "" {
		event["user"], event["context"] = s.user(user), 1
	} else {
		event["guild_id"], event["guild_locale"] = ch.GuildID, "en-US"
		event["member"] = map[string]any{
			"user": s.user(user), "roles": []string{}, "joined_at": s.now().UTC(), "permissions": "0", "deaf": false, "mute": false,
		}
	}
	if i.on != nil {
		event["message"] = s.shape(i.on, intentContent)
	}
	s.dispatch("INTERACTION_CREATE", 0, event)
	return i.Interaction
}

// Interaction returns an interaction as it is now.
func (s *Server) Interaction(id string) (found Interaction) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.interaction(id)
}

func (s *Server) interaction(id string) (found Interaction) {
	for _, i := range s.actions {
		if i.ID == id {
			found = i.Interaction
			found.Followups = slices.Clone(i.Followups)
		}
	}
	return found
}

// AwaitInteraction waits until the bot has answered an interaction, and fails the test if it does
// not.
func (s *Server) AwaitInteraction(t testing.TB, id string) (found Interaction) {
	t.Helper()
	if !s.await(WaitLimit, func() bool { found = s.interaction(id); return found.Type != 0 }) {
		t.Fatalf("the interaction %s is not answered after %s", id, WaitLimit)
	}
	return found
}
