package pace

import (
	"testing"
	"testing/synctest"
	"time"

	"nanobot/internal/wanttest"
)

func TestAChatIsForgottenAlsoIfItsLastCallWasRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(false)
		refused := false
		for range 2 * chatBurst {
			returned, err := p.Wait(t.Context(), 7, 1, Class{Transient: true, Edit: true})
			if refused = err != nil; !refused {
				returned()
			}
		}
		wanttest.Equal(t, "refused", refused, true)
		time.Sleep(10 * chatIdleTime)
		returned, err := p.Wait(t.Context(), 8, 1, Class{})
		wanttest.Equal(t, "error", err, nil)
		returned()
		wanttest.Equal(t, "chats", len(p.chats), 1)
	})
}
