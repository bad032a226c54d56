package gateway_test

import (
	"context"
	"fmt"
	"testing"

	"nanobot/channels/telegram"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/gateway/store"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal/rich"
)

// holdingStore is a store that stores the messages of one chat later than those of others.
type holdingStore struct {
	store.Store
	held   string // the ID of the chat
	stored chan struct{}
}

func (h holdingStore) Receive(ctx context.Context, request store.ReceiveRequest) (store.ReceiveResult, error) {
	if request.In.Chat.ID == h.held {
		<-h.stored
	}
	return h.Store.Receive(ctx, request)
}

func TestNoCursorIsStoredBeforeAMessageOfAnEarlierUpdate(t *testing.T) {
	t.Parallel()
	const first, album, outsider, last = 7, 8, 9, 20
	fx, api := newTelegramFixture(t, echo)
	api.SetFloodControl(telegramtest.FloodLimits{})
	fx.protocol = rich.Protocol{}
	release := make(chan struct{})
	fx.wrapStore = func(s store.Store) store.Store { return holdingStore{s, fmt.Sprint(first), release} }
	var ids []string
	for user := first; user <= last; user++ {
		api.AddUser(telegramtest.User{ID: int64(user)})
		ids = append(ids, fmt.Sprint(user))
	}
	fx.settings.AllowFrom[telegram.Name] = append(ids[:2:2], ids[3:]...) // without the outsider
	api.UserSends(first, "/whoami")
	picture := telegramtest.Media{Kind: "photo", Content: telegramtest.PNG(30, 30), Width: 30, Height: 30}
	api.UserSendsAlbum(telegramtest.UserPost{Chat: album, Text: "look"}, picture, picture)
	for user := outsider; user <= last; user++ {
		edited := api.UserSends(int64(user), "/whoami")
		api.UserEdits(int64(user), edited.ID, "/status")
	}
	fx.start()
	awaitTelegramText(t, api, outsider, "nanobot pair")
	awaitTelegramText(t, api, last, "user id")
	fx.awaitTrue("the parts of the album", func() bool { return len(musttest.Get(fx.store.Parts(t.Context(), telegram.Name))(t)) == 2 })
	wanttest.Equal(t, "the cursor beside a message that is not stored", musttest.Get(fx.store.Cursor(t.Context(), telegram.Name))(t), "")
	close(release)
	awaitTelegramText(t, api, first, "user id")
	api.UserSends(last, "one more")
	awaitTelegramText(t, api, last, "you said one more")
	if musttest.Get(fx.store.Cursor(t.Context(), telegram.Name))(t) == "" {
		t.Error("there is no cursor after all messages were stored")
	}
}
