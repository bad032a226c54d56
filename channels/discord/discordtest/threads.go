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
	Message   json.RawMessage `json:"message"` // of a forum's post
}

func (s *Server) readThread(c *Call) (threadDraft, error) {
	d, err := decode[threadDraft](s, c.Route, c.Body)
	if err != nil {
		return d, err
	}
	if err := lengths("thread", []length{{"name", d.Name, 1, 100}}); err != nil {
		return d, err
	}
	if d.Archive != nil && !slices.Contains([]int{60, 1440, 4320, 10080}, *d.Archive) {
		return d, malformed("auto_archive_duration", "BASE_TYPE_CHOICES", "Value must be one of (60, 1440, 4320, 10080).")
	}
	return d, nil
}

var wrongChannelType = forbid(http.StatusBadRequest, 50024, "Cannot execute action on this channel type")

// threadFrom starts a thread under a message, of which it has the id.
func (s *Server) threadFrom(c *Call) (any, error) {
	m, err := s.message(c)
	if err != nil {
		return nil, err
	}
	parent := s.channels[m.ChannelID]
	if parent.Type != TextChannel {
		return nil, wrongChannelType
	}
	if s.channels[m.ID] != nil {
		return nil, refuse(http.StatusBadRequest, 160004, "A thread has already been created for this message")
	}
	d, err := s.readThread(c)
	if err != nil {
		return nil, err
	}
	thread := s.thread(parent, m.ID, d.Name, s.Bot.ID)
	m.Flags |= FlagHasThread
	m.Thread = &thread.Channel
	s.announce("MESSAGE_UPDATE", m)
	s.notice(thread, Message{
		Author: m.Author, Type: TypeThreadStarter,
		Reference: &Reference{MessageID: m.ID, ChannelID: parent.ID, GuildID: parent.GuildID},
	})
	return thread.Channel, nil
}

// startThread starts a thread of its own, or a post in a forum.
func (s *Server) startThread(c *Call) (any, error) {
	parent, err := s.reach(c.Args["channel_id"])
	if err != nil {
		return nil, err
	}
	d, err := s.readThread(c)
	switch {
	case err != nil:
		return nil, err
	case parent.Type == ForumChannel:
		return s.startPost(c, parent, d)
	case parent.Type != TextChannel:
		return nil, wrongChannelType
	}
	thread := s.thread(parent, s.id(), d.Name, s.Bot.ID)
	thread.Type = PrivateThread // what it is without a type
	if d.Type != nil {
		thread.Type = *d.Type
	}
	if thread.Type == PublicThread {
		s.notice(parent, Message{
			Author: s.Bot, Content: d.Name, Type: TypeThreadCreated,
			Reference: &Reference{ChannelID: thread.ID, GuildID: thread.GuildID},
		})
	}
	return thread.Channel, nil
}

// startPost makes a post in a forum: a thread whose first message has its id.
func (s *Server) startPost(c *Call, forum *channel, d threadDraft) (any, error) {
	first, err := decode[draft](s, c.Route, d.Message)
	if err != nil {
		return nil, err
	}
	m := &Message{ID: s.id(), Author: s.Bot, Call: c.ID}
	if err := s.compose(c, forum, "message.", first, m); err != nil {
		return nil, err
	}
	thread := s.thread(forum, m.ID, d.Name, s.Bot.ID)
	s.post(c, thread, m)
	return struct {
		Channel
		Message Message `json:"message"`
	}{thread.Channel, s.view(m)}, nil
}

// notice puts a message of Discord's own into a channel.
func (s *Server) notice(ch *channel, m Message) {
	s.add(ch, &m)
	s.announce("MESSAGE_CREATE", &m)
}
