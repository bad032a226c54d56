package discord_test

import (
	"net/http"
	"testing"

	"nanobot/channels/channelstest"
	"nanobot/channels/discord"
)

// closingTransport counts how often its idle connections are closed.
type closingTransport struct {
	http.RoundTripper
	closed int
}

func (c *closingTransport) CloseIdleConnections() { c.closed++ }

func TestIdleConnectionsAreClosed(t *testing.T) {
	network := &closingTransport{}
	ch, err := discord.New(discord.Options{Token: "MTE.abc.def", Folder: channelstest.ChatFolders(""), Client: &http.Client{Transport: network}})
	if err != nil {
		t.Fatal(err)
	}
	if ch.CloseIdleConnections(); network.closed != 1 {
		t.Errorf("they were closed %d times", network.closed)
	}
}
