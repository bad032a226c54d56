package gateway_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/channels/telegram"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/gateway/store"
	"nanobot/gateway/store/postgres"
	"nanobot/gateway/store/postgres/bottest"
	"nanobot/internal/musttest"
	"nanobot/internal/postgrestest"
	"nanobot/internal/wanttest"
	"nanobot/terminal/rich"
)

func TestASimpleTurnMakesAtMostSixCallsOfTheStore(t *testing.T) {
	t.Parallel()
	fx, api := newTelegramFixture(t, echo)
	checkTurnCalls(t, fx, api)
}

func TestASimpleTurnBesideAnotherMemberMakesAtMostSixCallsOfTheStore(t *testing.T) {
	t.Parallel()
	postgrestest.Require(t)
	fx, api := newTelegramFixture(t, echo)
	bot := bottest.Lend(t)
	writeShared(t, filepath.Join(fx.dir, ".nanobot"), bot)
	other := musttest.Get(postgres.Open(t.Context(), postgres.Options{
		URL: postgrestest.URL(t), Bot: bot, Name: "other", TTL: time.Hour, Dir: t.TempDir(), Spool: t.TempDir(),
	}))(t)
	t.Cleanup(func() { musttest.Do(t, other.Close()) })
	checkTurnCalls(t, fx, api)
	beat := musttest.Get(other.Beat(t.Context(), false))(t)
	wanttest.Equal(t, "the other member finds one", beat.Others, true)
}

// checkTurnCalls counts the calls of a turn of a new gateway.
func checkTurnCalls(t *testing.T, fx *fixture, api *telegramtest.Server) {
	t.Helper()
	api.AddUser(telegramtest.User{ID: 7})
	fx.protocol = rich.Protocol{}
	fx.settings.AllowFrom[telegram.Name] = []string{"*"}
	var counting *countingStore
	fx.wrapStore = func(s store.Store) store.Store {
		counting = &countingStore{inner: s}
		return counting
	}
	fx.start()
	chat := channels.Chat{Channel: telegram.Name, ID: "7"}
	turn := func(text string) (calls []string) {
		api.UserSends(7, text)
		awaitTelegramText(t, api, 7, "you said "+text)
		fx.awaitTrue("the end of the turn", func() bool {
			recent := musttest.Get(counting.inner.Recent(t.Context(), chat, 1))(t)
			return len(recent) == 1 && recent[0].State == store.Done
		})
		fx.awaitReceipts()
		// The beats are not the turn's, and a process is recorded in a file of this machine.
		return slices.DeleteFunc(counting.takeCalls(), func(method string) bool {
			return method == "Beat" || method == "Hints" || method == "SetProcess"
		})
	}
	turn("one")
	if calls := turn("two"); len(calls) > 6 {
		t.Errorf("a simple turn makes %d calls: %q", len(calls), calls)
	}
}
