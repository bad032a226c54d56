package telegram_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/channels"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

func TestAMenuThatTelegramHasIsNotSetAgainNotEvenAfterARestart(t *testing.T) {
	t.Parallel()
	s, state := telegramtest.New(t), newBotState(t)
	s.AddUser(telegramtest.User{ID: person, FirstName: "Ada"})
	german := channels.Command{Name: "stop", Help: "stop it", HelpIn: map[string]string{"de": "anhalten"}}
	plan := []channels.Command{{Name: "plan", Help: "make a plan"}}
	saved := func() string { return musttest.Get(state.memory.Load(t.Context(), "menu//de"))(t) } // the last one of a start
	shown := 0                                                                                    // commands of the last start
	// check lets a channel set the menus of its start and of a chat, twice.
	check := func(what string, commands, chat []channels.Command, wantSet, wantDeleted int) {
		t.Helper()
		set, deleted := len(s.Calls("setMyCommands")), len(s.Calls("deleteMyCommands"))
		before := saved()
		r := newTestChannelOn(t, s, state)
		r.SetMenu(commands)
		stop := r.start()
		for deadline := time.Now().Add(waitLimit); len(commands) != shown && saved() == before; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: no menu is saved\n%s", what, r.LogText())
			}
		}
		shown = len(commands)
		for range 2 {
			musttest.Do(t, r.SetChatMenu(t.Context(), chatOf("42"), chat))
		}
		s.WaitForCalls(t, "setMyCommands", func(all []telegramtest.Call) bool {
			return len(all) >= set+wantSet && all[len(all)-1].Done
		})
		s.UserSends(person, "hello")
		r.WaitForMessages(1)
		stop()
		wanttest.Equal(t, what+": set, deleted",
			[2]int{len(s.Calls("setMyCommands")) - set, len(s.Calls("deleteMyCommands")) - deleted}, [2]int{wantSet, wantDeleted})
	}
	one := []channels.Command{german}
	check("first start", one, plan, 4, 0) // for all people, and for those who speak German
	check("second start", one, plan, 0, 0)
	check("without commands of the agent", one, nil, 0, 2)
	check("again", one, nil, 0, 0)
	check("with another command", []channels.Command{german, {Name: "new", Help: "begin"}}, nil, 2, 0)
}

func TestAMenuGivesWayToEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch, calls := pacedCalls(t)
		ctx, cancel := context.WithCancel(t.Context())
		var work sync.WaitGroup
		for i := range 40 {
			work.Go(func() { showOften(ctx, ch, chatOf(itoa(1000+i))) })
		}
		time.Sleep(10 * time.Second)
		work.Go(func() {
			if err := ch.SetChatMenu(t.Context(), chatOf("42"), []channels.Command{{Name: "plan", Help: "x"}}); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(30 * time.Second)
		if n := len(calls()["setMyCommands"]); n > 0 {
			t.Errorf("%d menus were set while boards were shown", n)
		}
		cancel()
		time.Sleep(time.Second)
		if n := len(calls()["setMyCommands"]); n != 1 {
			t.Errorf("%d menus were set then", n)
		}
		work.Wait()
	})
}

func TestAMenuThatHasGivenWayForLongIsSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch, calls := pacedCalls(t)
		ctx, cancel := context.WithCancel(t.Context())
		var work sync.WaitGroup
		for i := range 40 {
			work.Go(func() { showOften(ctx, ch, chatOf(itoa(1000+i))) })
		}
		time.Sleep(10 * time.Second)
		began := time.Now()
		musttest.Do(t, ch.SetChatMenu(t.Context(), chatOf("42"), []channels.Command{{Name: "plan", Help: "x"}}))
		if took := time.Since(began); took < 30*time.Second || took > 2*time.Minute || len(calls()["setMyCommands"]) != 1 {
			t.Errorf("it was set after %s", took)
		}
		cancel()
		work.Wait()
	})
}

func TestARefusedMenuOfAChatIsNotToBeTriedAgain(t *testing.T) {
	r := newTestChannel(t)
	for status, permanent := range map[int]bool{400: true, 502: false} {
		r.server.FailNext("setMyCommands", telegramtest.ErrorResponse(status, "Bad Request: chat not found"))
		err := r.SetChatMenu(t.Context(), chatOf("42"), []channels.Command{{Name: "plan", Help: "x"}})
		var se *channels.SendError
		if !errors.As(err, &se) || se.Permanent != permanent {
			t.Errorf("after %d the error is %v", status, err)
		}
	}
}
