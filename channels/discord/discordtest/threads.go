package discordtest

import (
	"encoding/json"
	"net/http"
	"slices"
)

// threadDraft is a thread in a request.
type threadDraft struct {
	Name      string          `json:"name"`
	Archive   *int            `json:"auto_archive_duration"`
	Slow      *int            `json:"rate_limit_per_user"`
	Type      *int            `json:"type"`
	Invitable *bool           `json:"invitable"`
	Tags      []string        `json:"applied_tags"`
	Message   json.RawMessage `json:"message"` // of a post in a forum
}

func (s *Server) decodeThread(c *Call) (threadDraft, error) {
	d, err := decodeBody[threadDraft](s, c.Route, c.Body)
	if err != nil {
		return d, err
	}
	if err := checkLengths("thread", []lengthLimit{{"name", d.Name, 1, 100}}); err != nil {
		return d, err
	}
	if d.Archive != nil && !slices.Contains([]int{60, 1440, 4320, 10080}, *d.Archive) {
		return d, fieldError("auto_archive_duration", "BASE_TYPE_CHOICES", "Value must be one of (60, 1440, 4320, 10080).")
	}
	return d, nil
}

var errWrongChannelType = violationError(http.StatusBadRequest, 50024, "Cannot execute action on this channel type")

// startThreadFromMessage starts a thread at a message, whose ID the thread gets.
func (s *Server) startThreadFromMessage(c *Call) (any, error) {
	m, err := s.messageOf(c)
	if err != nil {
		return nil, err
	}
	parent := s.channels[m.ChannelID]
	if parent.Type != TextChannel {
		return nil, errWrongChannelType
	}
	if s.channels[m.ID] != nil {
		return nil, expectedError(http.StatusBadRequest, 160004, "A thread has already been created for this message")
	}
	d, err := s.decodeThread(c)
	if err != nil {
		return nil, err
	}
	thread := s.addThread(parent, m.ID, d.Name, s.Bot.ID)
	m.Flags |= FlagHasThread
	m.Thread = &thread.Channel
	s.dispatchMessage("MESSAGE_UPDATE", m)
	s.addSystemMessage(thread, Message{
		Author: m.Author, Type: TypeThreadStarter,
		Reference: &Reference{MessageID: m.ID, ChannelID: parent.ID, GuildID: parent.GuildID},
	})
	return thread.Channel, nil
}

// startThread starts a thread without a message, or a post in a forum.
func (s *Server) startThread(c *Call) (any, error) {
	parent, err := s.visibleChannel(c.Args["channel_id"])
	if err != nil {
		return nil, err
	}
	d, err := s.decodeThread(c)
	switch {
	case err != nil:
		return nil, err
	case parent.Type == ForumChannel:
		return s.startPost(c, parent, d)
	case parent.Type != TextChannel:
		return nil, errWrongChannelType
	}
	thread := s.addThread(parent, s.newID(), d.Name, s.Bot.ID)
	thread.Type = PrivateThread // the default of Discord
	if d.Type != nil {
		thread.Type = *d.Type
	}
	if thread.Type == PublicThread {
		s.addSystemMessage(parent, Message{
			Author: s.Bot, Content: d.Name, Type: TypeThreadCreated,
			Reference: &Reference{ChannelID: thread.ID, GuildID: thread.GuildID},
		})
	}
	return thread.Channel, nil
}

// startPost creates a post in a forum: a thread whose first message has the thread's ID.
func (s *Server) startPost(c *Call, forum *channel, d threadDraft) (any, error) {
	first, err := decodeBody[draft](s, c.Route, d.Message)
	if err != nil {
		return nil, err
	}
	m := &Message{ID: s.newID(), Author: s.Bot, Call: c.ID}
	if err := s.applyDraft(c, forum, "message.", first, m); err != nil {
		return nil, err
	}
	thread := s.addThread(forum, m.ID, d.Name, s.Bot.ID)
	s.addBotMessage(c, thread, m)
	return struct {
		Channel
		Message Message `json:"message"`
	}{thread.Channel, s.restView(m)}, nil
}

// addSystemMessage adds a message of Discord itself to a channel.
func (s *Server) addSystemMessage(ch *channel, m Message) {
	s.appendMessage(ch, &m)
	s.dispatchMessage("MESSAGE_CREATE", &m)
}
