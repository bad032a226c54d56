package discordtest

import (
	"net/http"
)

// gatewayURL returns the URL of the gateway at the address that a bot has called, which may be a
// proxy's.
func gatewayURL(host string) string { return "ws://" + host + "/gateway/" }

func (s *Server) getGateway(c *Call) (any, error) {
	return map[string]string{"url": gatewayURL(c.Host)}, nil
}

func (s *Server) getGatewayBot(c *Call) (any, error) {
	l := s.gateway.startLimit
	return map[string]any{
		"url": gatewayURL(c.Host), "shards": 1, "session_start_limit": map[string]any{
			"total": l.Total, "remaining": max(l.Remaining, 0), "reset_after": 14_400_000,
			"max_concurrency": l.MaxConcurrency,
		},
	}, nil
}

func (s *Server) getMe(*Call) (any, error) { return s.Bot, nil }

// The flags of an unverified application whose privileged intents are enabled.
const (
	appGatewayMembers = 1 << 15
	appGatewayContent = 1 << 19
)

func (s *Server) getApp(*Call) (any, error) {
	flags := 0
	if s.privilegedIntents&intentContent != 0 {
		flags |= appGatewayContent
	}
	if s.privilegedIntents&intentMembers != 0 {
		flags |= appGatewayMembers
	}
	return map[string]any{
		"id": s.ApplicationID, "name": s.Bot.Username, "description": "", "bot": s.Bot, "flags": flags,
		"bot_public": true, "bot_require_code_grant": false,
	}, nil
}

func (s *Server) openDM(c *Call) (any, error) {
	in, err := decodeBody[struct {
		Recipient string            `json:"recipient_id"`
		Tokens    []string          `json:"access_tokens"`
		Nicks     map[string]string `json:"nicks"`
	}](s, c.Route, c.Body)
	if err != nil {
		return nil, err
	}
	if _, ok := s.users[in.Recipient]; !ok || in.Recipient == s.Bot.ID {
		return nil, expectedError(http.StatusBadRequest, 50033, "Invalid Recipient(s)")
	}
	return s.dmChannel(in.Recipient).Channel, nil
}

func (s *Server) guildOf(c *Call) (*guild, error) {
	g := s.guilds[c.Args["guild_id"]]
	if g == nil {
		return nil, unknownGuild
	}
	if s.denied[g.ID] {
		return nil, missingAccess
	}
	return g, nil
}

func (s *Server) getChannel(c *Call) (any, error) {
	ch, err := s.visibleChannel(c.Args["channel_id"])
	if err != nil {
		return nil, err
	}
	return ch.Channel, nil
}

func (s *Server) startTyping(c *Call) (any, error) {
	ch, err := s.writableChannel(c.Args["channel_id"])
	if err != nil {
		return nil, err
	}
	ch.typingCount++
	return nil, nil
}
