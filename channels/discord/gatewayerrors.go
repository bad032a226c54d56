package discord

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/gorilla/websocket"
)

const wrongToken = "Discord rejects the token: check channels.discord.token and apiBase; a new token is made in the " +
	"Developer Portal → your application → Bot → Reset Token"

// remedies tell the operator what to do after a permanent close code of the gateway.
var remedies = map[int]string{
	4004: wrongToken,
	4010: "Discord rejects the shard that this version requests; use a newer nanobot",
	4011: "the bot is on more servers than one connection may serve, and nanobot opens only one; remove the bot from " +
		"some servers",
	4012: "Discord no longer supports the API version that this nanobot uses; use a newer nanobot",
	4013: "Discord does not know the intents that this nanobot requests; use a newer nanobot",
	4014: "Discord does not let the bot read messages: switch on Developer Portal → your application → Bot → " +
		"Privileged Gateway Intents → Message Content Intent",
}

// permanentError returns an error for the operator if a retry cannot help, or nil.
func permanentError(err error) error {
	var c *websocket.CloseError
	if errors.As(err, &c) && remedies[c.Code] != "" {
		return fmt.Errorf("%s: the gateway closed the connection with %d %s", remedies[c.Code], c.Code, c.Text)
	}
	var apiErr *apiError
	if errors.As(err, &apiErr) && apiErr.Status == http.StatusUnauthorized {
		return fmt.Errorf("%s: %w", wrongToken, apiErr)
	}
	return nil
}
