package intake_test

import (
	"errors"
	"testing"

	"nanobot/channels"
	"nanobot/internal/musttest"
)

// newParts returns a part of a message of a person, and the complete message with the same ID.
func (fx *fixture) newParts(user, group string) (part, whole channels.Incoming) {
	part = fx.message(user, "")
	part.Part, part.Raw = &channels.Part{Group: group}, []byte("raw")
	whole = part
	whole.Text, whole.Part = "whole", &channels.Part{Group: group, Last: true}
	return part, whole
}

// countParts returns the number of stored parts.
func (fx *fixture) countParts() int {
	fx.t.Helper()
	parts := musttest.Get(fx.store.Parts(fx.t.Context(), "net"))(fx.t)
	return len(parts)
}

func TestAPartIsStoredUntilItsMessageIsComplete(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		first, whole := fx.newParts("ann", "g")
		second, _ := fx.newParts("ann", "g")
		second.Cursor = "12"
		fx.receive(first)
		fx.receive(second)
		fx.checkInbounds("ann")
		fx.checkEqual("parts", fx.countParts(), 2)
		fx.receive(whole)
		fx.checkInbounds("ann", "whole running")
		fx.checkEqual("parts", fx.countParts(), 0)
		fx.checkEqual("the part is known", errors.Is(fx.Receive(fx.t.Context(), second), channels.ErrKnown), true)
		fx.checkEqual("parts that come again", fx.countParts(), 0)
		cursor, err := fx.store.Cursor(fx.t.Context(), "net")
		fx.checkEqual("the cursor", cursor, "12")
		fx.checkEqual("the error", err, error(nil))
	})
}

func TestOfAPersonWithoutAccessNoPartIsStored(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		part, whole := fx.newParts("eve", "g")
		part.Cursor = "12"
		fx.receive(part)
		fx.checkEqual("parts", fx.countParts(), 0)
		cursor, err := fx.store.Cursor(fx.t.Context(), "net")
		fx.checkEqual("the cursor", cursor, "12")
		fx.checkEqual("the error", err, error(nil))
		fx.checkEqual("records", fx.decisions(), []string(nil))
		fx.receive(whole, private)
		fx.checkEqual("records of the whole", fx.decisions(), []string{"denied code"})
		fx.checkEqual("parts", fx.countParts(), 0)
		fx.receive(part)
		fx.checkEqual("parts that come again", fx.countParts(), 0)
	})
}

func TestOnlyTheCompleteMessageCountsTowardsTheRate(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.settings.RatePerMinute = 1
		for range 3 {
			part, _ := fx.newParts("ann", "g")
			fx.receive(part)
		}
		_, whole := fx.newParts("ann", "g")
		fx.receive(whole)
		fx.checkInbounds("ann", "whole running")
		_, next := fx.newParts("ann", "h")
		fx.receive(next, "That is more than 1 messages a minute.")
		fx.checkEqual("parts", fx.countParts(), 0)
	})
}
