package discordtest

import (
	"regexp"
	"slices"
	"strings"
)

// allowedMentions limits whom a message notifies. Nil allows all mentions.
type allowedMentions struct {
	Parse   []string `json:"parse"`
	Users   []string `json:"users"`
	Roles   []string `json:"roles"`
	Replied bool     `json:"replied_user"`
}

func (a *allowedMentions) check(field string) error {
	if a == nil {
		return nil
	}
	for _, kind := range a.Parse {
		if !slices.Contains([]string{"users", "roles", "everyone"}, kind) {
			return fieldError(field+".parse", "BASE_TYPE_CHOICES", "Value must be one of ('users', 'roles', 'everyone').")
		}
	}
	for kind, ids := range map[string][]string{"users": a.Users, "roles": a.Roles} {
		if len(ids) > 100 {
			return fieldError(field+"."+kind, "BASE_TYPE_MAX_LENGTH", "Must be 100 or fewer in length.")
		}
		if len(ids) > 0 && slices.Contains(a.Parse, kind) {
			return fieldError(field, "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE", "parse and %s are mutually exclusive", kind)
		}
	}
	return nil
}

func (a *allowedMentions) permits(kind string) bool {
	return a == nil || slices.Contains(a.Parse, kind)
}

var (
	userMention = regexp.MustCompile(`<@!?(\d+)>`)
	roleMention = regexp.MustCompile(`<@&(\d+)>`)
)

// setMentions determines whom a message notifies.
func (s *Server) setMentions(a *allowedMentions, m *Message) {
	m.Mentions, m.MentionRoles = []User{}, []string{}
	m.MentionEveryone = a.permits("everyone") && (strings.Contains(m.Content, "@everyone") || strings.Contains(m.Content, "@here"))
	add := func(id string) {
		if u, ok := s.users[id]; ok && !slices.Contains(m.Mentions, u) {
			m.Mentions = append(m.Mentions, u)
		}
	}
	for _, id := range userMention.FindAllStringSubmatch(m.Content, -1) {
		if a.permits("users") || slices.Contains(a.Users, id[1]) {
			add(id[1])
		}
	}
	for _, id := range roleMention.FindAllStringSubmatch(m.Content, -1) {
		if a.permits("roles") || slices.Contains(a.Roles, id[1]) {
			m.MentionRoles = append(m.MentionRoles, id[1])
		}
	}
	if to := s.referenced(m); to != nil && (a == nil || a.Replied) {
		add(to.Author.ID)
	}
	m.Pinged = m.MentionEveryone || len(m.Mentions)+len(m.MentionRoles) > 0
}

// referenced returns the message that m replies to, or nil.
func (s *Server) referenced(m *Message) *Message {
	if m.Reference == nil {
		return nil
	}
	if ch := s.channels[m.Reference.ChannelID]; ch != nil {
		return ch.find(m.Reference.MessageID)
	}
	return nil
}
