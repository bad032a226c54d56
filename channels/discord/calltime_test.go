package discord_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/discord"
	"nanobot/channels/discord/discordtest"
	"nanobot/internal/musttest"
)

func TestACallThatIsNotAnsweredEndsAfterFifteenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := musttest.Get(discord.New(discord.Options{
			Token: discordtest.DefaultToken, Folder: channelstest.ChatFolders(t.TempDir()),
			Client: &http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
				<-req.Context().Done()
				return nil, req.Context().Err()
			})},
		}))(t)
		began := time.Now()
		_, err := ch.Send(t.Context(), channels.Outgoing{Chat: chatOf("1234567890"), Text: "x"})
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took != 15*time.Second {
			t.Errorf("it took %s (%v)", took, err)
		}
	})
}
