package intake_test

import (
	"testing"

	"nanobot/channels"
)

// newParts returns a part of a message of a person, and the complete message with the same ID.
func (r *fixture) newParts(user, group string) (part, whole channels.Incoming) {
	part = r.message(user, "")
	part.Part, part.Raw = &channels.Part{Group: group}, []byte("raw")
	whole = part
	whole.Text, whole.Part = "whole", &channels.Part{Group: group, Last: true}
	return part, whole
}

// countParts returns the number of stored parts.
func (r *fixture) countParts() int {
	r.t.Helper()
	parts, err := r.store.Parts(r.t.Context(), "net")
	if err != nil {
		r.t.Fatal(err)
	}
	return len(parts)
}

func TestAPartIsStoredUntilItsMessageIsComplete(t *testing.T) {
	runIntake(t, func(r *fixture) {
		first, whole := r.newParts("ann", "g")
		second, _ := r.newParts("ann", "g")
		second.Cursor = "12"
		r.receive(first)
		r.receive(second)
		r.checkInbounds("ann")
		r.checkEqual("parts", r.countParts(), 2)
		r.receive(whole)
		r.checkInbounds("ann", "whole running")
		r.checkEqual("parts", r.countParts(), 0)
		r.receive(second)
		r.checkEqual("parts that come again", r.countParts(), 0)
		cursor, err := r.store.Cursor(r.t.Context(), "net")
		r.checkEqual("the cursor", cursor, "12")
		r.checkEqual("the error", err, error(nil))
	})
}

func TestOfAPersonWithoutAccessNoPartIsStored(t *testing.T) {
	runIntake(t, func(r *fixture) {
		part, whole := r.newParts("eve", "g")
		part.Cursor = "12"
		r.receive(part)
		r.checkEqual("parts", r.countParts(), 0)
		cursor, err := r.store.Cursor(r.t.Context(), "net")
		r.checkEqual("the cursor", cursor, "12")
		r.checkEqual("the error", err, error(nil))
		r.checkEqual("records", r.decisions(), []string(nil))
		r.receive(whole, private)
		r.checkEqual("records of the whole", r.decisions(), []string{"denied code"})
		r.checkEqual("parts", r.countParts(), 0)
		r.receive(part)
		r.checkEqual("parts that come again", r.countParts(), 0)
	})
}

func TestOnlyTheCompleteMessageCountsTowardsTheRate(t *testing.T) {
	runIntake(t, func(r *fixture) {
		r.settings.RatePerMinute = 1
		for range 3 {
			part, _ := r.newParts("ann", "g")
			r.receive(part)
		}
		_, whole := r.newParts("ann", "g")
		r.receive(whole)
		r.checkInbounds("ann", "whole running")
		_, next := r.newParts("ann", "h")
		r.receive(next, "That is more than 1 messages a minute.")
		r.checkEqual("parts", r.countParts(), 0)
	})
}
