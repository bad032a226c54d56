package discordtest

import (
	"cmp"
	"crypto/rand"
	"slices"
	"time"

	"nanobot/channels/channelstest/fakenet"
)

// Interaction is a slash command or a press of a button, with the bot's response so far.
type Interaction struct {
	ID           string
	Token        string
	ChannelID    string
	UserID       string
	Command      string // of a slash command
	CustomID     string // of a button or a select menu
	Type         int    // of the response: 4 message, 5 deferred message, 6 deferred update, 7 update; 0 if there is none yet
	MessageID    string // of the response
	Followups    []string
	ResponseTime time.Duration // from the interaction to the response
}

type interaction struct {
	Interaction
	kind      int
	createdAt time.Time
	offset    time.Duration // of the clock when it was created
	message   *Message      // the message with the button
	loading   bool          // the message of the response is deferred
}

// The kinds of interactions, the deadline of the first response, and of all responses. For the
// first one, only AdvanceClock makes time pass.
const (
	slashCommand   = 2
	componentPress = 3

	answerDeadline = 3 * time.Second
	tokenLifetime  = 15 * time.Minute
)

// createInteraction adds an interaction and dispatches its event, which needs no intents.
func (s *Server) createInteraction(ch *channel, user string, data map[string]any, i *interaction) Interaction {
	i.ID, i.Token, i.ChannelID, i.UserID = s.newID(), rand.Text()+rand.Text(), ch.ID, user
	i.createdAt, i.offset = s.Now(), s.ClockOffset()
	s.interactions[i.Token] = i
	event := map[string]any{
		"id": i.ID, "application_id": s.ApplicationID, "type": i.kind, "token": i.Token, "version": 1, "data": data,
		"channel_id": ch.ID, "channel": ch.Channel, "locale": cmp.Or(s.userByID(user).Locale, "en-US"), "app_permissions": "2251799813685247",
		"entitlements": []any{}, "attachment_size_limit": s.uploadLimit(ch.GuildID), "context": 0,
		"authorizing_integration_owners": map[string]string{"0": ch.GuildID},
	}
	if ch.GuildID == "" {
		event["user"], event["context"] = s.userByID(user), 1
	} else {
		event["guild_id"], event["guild_locale"] = ch.GuildID, "en-US"
		event["member"] = map[string]any{
			"user": s.userByID(user), "roles": []string{}, "joined_at": s.Now().UTC(), "permissions": "0", "deaf": false, "mute": false,
		}
	}
	if i.message != nil {
		event["message"] = s.messageFor(i.message, intentContent)
	}
	s.dispatch("INTERACTION_CREATE", 0, event)
	return i.Interaction
}

// Interaction returns the current state of an interaction.
func (s *Server) Interaction(id string) (found Interaction) {
	s.Lock()
	defer s.Unlock()
	return s.interaction(id)
}

func (s *Server) interaction(id string) (found Interaction) {
	for _, i := range s.interactions {
		if i.ID == id {
			found = i.Interaction
			found.Followups = slices.Clone(i.Followups)
		}
	}
	return found
}

// AwaitInteraction waits until the bot has responded to an interaction, and fails the test after
// WaitLimit.
func (s *Server) AwaitInteraction(t fakenet.TB, id string) (found Interaction) {
	t.Helper()
	if !s.AwaitFor(WaitLimit, func() bool { found = s.interaction(id); return found.Type != 0 }) {
		t.Fatalf("the interaction %s was not answered within %s", id, WaitLimit)
	}
	return found
}
