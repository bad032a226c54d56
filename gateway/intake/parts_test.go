package intake_test

import (
	"testing"

	"nanobot/channels"
)

// part is a part of a message of a person, and whole the message itself, with the same id.
func (r *rig) part(user, group string) (part, whole channels.Incoming) {
	part = r.message(user, "")
	part.Part, part.Raw = &channels.Part{Group: group}, []byte("raw")
	whole = part
	whole.Text, whole.Part = "whole", &channels.Part{Group: group, Last: true}
	return part, whole
}

// gathered is how many parts wait.
func (r *rig) gathered() int {
	r.t.Helper()
	parts, err := r.store.Parts(r.t.Context(), "net")
	if err != nil {
		r.t.Fatal(err)
	}
	return len(parts)
}

func TestAPartWaitsAndItsWholeMessageIsAMessage(t *testing.T) {
	simulate(t, func(r *rig) {
		first, whole := r.part("ann", "g")
		second, _ := r.part("ann", "g")
		second.Cursor = "12"
		r.receive(first)
		r.receive(second)
		r.has("ann")
		r.same("parts", r.gathered(), 2)
		r.receive(whole)
		r.has("ann", "whole running")
		r.same("parts", r.gathered(), 0)
		r.receive(second)
		r.same("parts that come again", r.gathered(), 0)
		cursor, err := r.store.Cursor(r.t.Context(), "net")
		r.same("the cursor", cursor, "12")
		r.same("the error", err, error(nil))
	})
}

func TestAStrangersPartsAreRefusedWithTheWholeMessage(t *testing.T) {
	simulate(t, func(r *rig) {
		part, whole := r.part("eve", "g")
		r.receive(part)
		r.same("records", r.decisions(), []string(nil))
		r.receive(whole, private)
		r.same("records of the whole", r.decisions(), []string{"denied code"})
		r.same("parts", r.gathered(), 0)
		r.receive(part)
		r.same("parts that come again", r.gathered(), 0)
	})
}

func TestAPartCountsNothingForTheRateAndItsWholeMessageCounts(t *testing.T) {
	simulate(t, func(r *rig) {
		r.settings.RatePerMinute = 1
		for range 3 {
			part, _ := r.part("ann", "g")
			r.receive(part)
		}
		_, whole := r.part("ann", "g")
		r.receive(whole)
		r.has("ann", "whole running")
		_, next := r.part("ann", "h")
		r.receive(next, "That is more than 1 messages a minute.")
		r.same("parts", r.gathered(), 0)
	})
}
