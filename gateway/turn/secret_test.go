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
		r := newFixture(t, nil)
		r.Reload(turn.Settings{Agents: defaultAgentOnly(&passwordRunner{})})
		failures := 2
		r.disk.fail = func(method string) error {
			if failures--; method == "EraseText" && failures >= 0 {
				return errors.New("disk full")
			}
			return nil
		}
		inbound := store.Inbound{ID: 7, In: channels.Incoming{Chat: ann, User: channels.User{ID: "stranger"}, Text: "hunter2"}}
		r.NewTurn(inbound, &r.slot).Run(t.Context())
		r.stop()
		checkEqual(t, "recorded", r.disk.ends, []string{"erased", "7 dead revoked []"})
	})
}
