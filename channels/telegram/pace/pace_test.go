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

func TestACallThatWaitsIsNotRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, edit := pace.New(false), pace.Class{Transient: true, Edit: true}
		for {
			returned, err := p.Wait(t.Context(), 7, 1, edit)
			if err != nil {
				break
			}
			returned()
		}
		began := time.Now()
		edit.Waits = true
		musttest.Get(p.Wait(t.Context(), 7, 1, edit))(t)()
		if took := time.Since(began); took == 0 || took > 5*time.Second {
			t.Errorf("it waited %s for room", took)
		}
		p.Block(7, time.Minute, true)
		began = time.Now()
		musttest.Get(p.Wait(t.Context(), 7, 1, edit))(t)()
		wanttest.Equal(t, "the wait for the end of a block", time.Since(began), time.Minute)
	})
}

func TestMenusThatGiveWayAreSetOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, began := pace.New(false), time.Now()
		musttest.Do(t, p.GiveWay(t.Context(), 0, pace.Menu))
		wanttest.Equal(t, "wait of the first", time.Since(began), 0)
		musttest.Do(t, p.GiveWay(t.Context(), 0, pace.Menu))
		if took := time.Since(began); took == 0 || took > time.Second {
			t.Errorf("the second waited %s", took)
		}
	})
}
