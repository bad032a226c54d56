package turn_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/gateway/turn"
	"nanobot/terminal"
)

// passwordRunner is a runner whose program reads a password.
type passwordRunner struct{ fakeRunner }

func (*passwordRunner) ReadsSecret(terminal.ControlRequest) bool { return true }

func (d *fakeStore) EraseText(context.Context, int64) ([]store.Transient, error) {
	if err := d.failure("EraseText"); err != nil {
		return nil, err
	}
	d.ends = append(d.ends, "erased")
	return nil, nil
}

func TestThePasswordOfAPersonWithoutAccessIsErasedAlsoAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t, nil)
		fx.Reload(turn.Settings{Agents: defaultAgentOnly(&passwordRunner{})})
		failures := 2
		fx.disk.fail = func(method string) error {
			if failures--; method == "EraseText" && failures >= 0 {
				return errors.New("disk full")
			}
			return nil
		}
		inbound := store.Inbound{ID: 7, In: channels.Incoming{Chat: ann, User: channels.User{ID: "stranger"}, Text: "hunter2"}}
		fx.NewTurn(inbound, &fx.slot).Run(t.Context())
		fx.stop()
		checkEqual(t, "recorded", fx.disk.ends, []string{"erased", "7 dead revoked []"})
	})
}
