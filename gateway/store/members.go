package store

import "context"

// Members lets several daemons share a state. Each opens a handle of its own, which is one member:
// the owner of what is claimed through it. What a member has claimed, no other member can finish,
// requeue or settle, nor add messages to its turn.
type Members interface {
	// Member returns the name of this handle's member. Names are unique, so that a restarted daemon
	// is another member.
	Member() string
	// Adopt takes over the claimed and unfinished work of members that are gone, and returns it:
	// this member becomes its owner, and the former owner can no longer change it (fencing). The
	// next Adopt does not return it again. An engine for one daemon considers every other member
	// gone.
	Adopt(ctx context.Context) (Adopted, error)
}

// Adopted is the work that Adopt has taken over, oldest first.
type Adopted struct {
	// Inbounds were running. Each has the process of its agent; without an agent, it has the Start
	// of the gateway that left it.
	Inbounds []Inbound
	// Deliveries were being sent.
	Deliveries []Delivery
	// Transients are the transient messages of turns that no member runs, without the boards of
	// Folds.
	Transients []Transient
	// Folds are the pending folds.
	Folds []PendingFold
}
