package discord

import (
	"context"
	"errors"
	"net/http"

	"github.com/bwmarrin/discordgo"

	"nanobot/channels"
)

// The checks that Examine makes.
const (
	checkToken   = Name + ".token"
	checkIntents = Name + ".intents"
	checkClock   = Name + ".clock"
)

// The application flags of the Message Content Intent: for verified bots, and for bots on few
// guilds.
const readsMessages, readsMessagesLimited = 1 << 18, 1 << 19

// Examine checks whether Discord accepts the token and whether the Message Content Intent is on.
func (c *Channel) Examine(ctx context.Context, _ channels.ExamineOptions) []channels.Finding {
	defer c.api.http.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var app struct {
		Name  string `json:"name"`
		Flags int    `json:"flags"`
	}
	err := c.api.call(ctx, route{name: getApplication}, &app, func(l library) (any, error) {
		me := discordgo.EndpointApplication("@me") // Session.Application takes no context, and asks an older route
		return l.RequestWithBucketID(http.MethodGet, me, nil, me, l.options...)
	})
	var apiErr *apiError
	if errors.As(err, &apiErr) && apiErr.Status == http.StatusUnauthorized {
		return []channels.Finding{{
			Check: checkToken, Status: channels.Bad, Detail: "Discord rejects the token: " + apiErr.Error(),
			Fix: "make a new one in the Developer Portal → your application → Bot → Reset Token, and put it where " +
				"channels.discord.token says",
		}}
	}
	if err != nil {
		fix := "check the network, the proxy variables and channels.discord.apiBase, and try again"
		if errors.As(err, &apiErr) && apiErr.RetryAfter > 0 {
			fix = "wait as long as it says, and try again"
		}
		return []channels.Finding{{Check: checkToken, Status: channels.Bad, Detail: err.Error(), Fix: fix}}
	}
	skew, _ := c.api.http.ClockSkew()
	return []channels.Finding{
		{Check: checkToken, Status: channels.Good, Detail: "the application is " + app.Name},
		intentsFinding(app.Flags),
		channels.ClockSkewFinding(checkClock, skew),
	}
}

func intentsFinding(flags int) channels.Finding {
	if flags&(readsMessages|readsMessagesLimited) != 0 {
		return channels.Finding{
			Check: checkIntents, Status: channels.Good,
			Detail: "the Message Content Intent is switched on",
		}
	}
	return channels.Finding{
		Check: checkIntents, Status: channels.Bad,
		Detail: "the Message Content Intent is switched off, so Discord refuses the connection",
		Fix:    "switch on Developer Portal → your application → Bot → Privileged Gateway Intents → Message Content Intent",
	}
}
