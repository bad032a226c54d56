package store

import "context"

// Members lets several daemons share a state. Each opens a handle of its own, which is one member:
// the owner of what is claimed through it. What a member has claimed, no other member can finish,
// requeue or settle, nor add messages to its turn.
type Members interface {
	// Member returns the name of this handle's member. No two handles have the same, so that a
	// daemon that was started again is another member.
	Member() string
	// Adopt takes over what members that are gone have claimed and not ended, and returns it: it
	// belongs to this member then, and the former owner cannot change it any more. The next Adopt
	// does not return it again. An engine for one daemon takes every other member for gone.
	Adopt(ctx context.Context) (Adopted, error)
}

// Adopted is what Adopt has taken over, oldest first.
type Adopted struct {
	// Inbounds were running. Each has the process of its agent; one without has the Start of the
	// gateway that left it.
	Inbounds []Inbound
	// Deliveries were being sent.
	Deliveries []Delivery
	// Transients are those of turns that no member runs.
	Transients []Transient
}
