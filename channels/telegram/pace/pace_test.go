package pace_test

import (
	"testing"
	"testing/synctest"
	"time"

	"nanobot/channels/telegram/pace"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

func TestAChatIsForgottenAlsoIfACallThatWasRefusedIsNotTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pace.New(false)
		edit := pace.Class{Transient: true, Edit: true}
		for {
			returned, err := p.Wait(t.Context(), 7, 1, edit)
			if err != nil {
				break
			}
			returned()
		}
		time.Sleep(time.Hour)
		musttest.Get(p.Wait(t.Context(), 8, 1, edit))(t)()
		wanttest.Equal(t, "chats", p.Chats(), 1)
	})
}

func TestACallThatTakesLongIsNotForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pace.New(false)
		returned := musttest.Get(p.Wait(t.Context(), simulatedGroup, 1, pace.Class{}))(t)
		time.Sleep(time.Hour)
		musttest.Get(p.Wait(t.Context(), 8, 1, pace.Class{}))(t)()
		wanttest.Equal(t, "chats", p.Chats(), 2)
		returned()
	})
}

func TestMenusThatGiveWayAreSetOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, began := pace.New(false), time.Now()
		p.AwaitQuiet(t.Context())
		wanttest.Equal(t, "wait of the first", time.Since(began), 0)
		p.AwaitQuiet(t.Context())
		if took := time.Since(began); took == 0 || took > time.Second {
			t.Errorf("the second waited %s", took)
		}
	})
}
