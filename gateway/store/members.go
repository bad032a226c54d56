package store

import (
	"context"
	"strings"
	"time"
)

// Members lets several daemons share a state. Each opens a handle of its own, which is one member:
// the owner of what is claimed through it. What a member has claimed, no other member can finish,
// requeue or settle, nor add messages to its turn: these changes are ErrFenced.
//
// A member is alive as long as its lease lasts. Beat renews the lease. The others consider a member
// whose lease has ended gone for good, and adopt its work; each of its later changes is ErrFenced.
// One of the live members is the leader: it receives messages.
type Members interface {
	// Member returns the name of this handle's member. Names are unique, so that a restarted daemon
	// is another member: with several members it is the configured one, a slash and more.
	Member() string
	// FolderName returns a random name of the member's own state folder, which stays the same when
	// the member restarts.
	FolderName(ctx context.Context) (string, error)
	// Beat renews the lease of this member and returns what the member has to do. It is called when
	// Beat.Next has passed, or earlier if Hints says so. lead says that the member is ready to be
	// the leader: without it, a leader gives up the leadership.
	Beat(ctx context.Context, lead bool) (Beat, error)
	// Hints has an element if a beat or a claim may find something new. Hints may be lost: the
	// beats find everything.
	Hints() <-chan struct{}
	// Adopt takes over the claimed and unfinished work of members that are gone, and returns it:
	// this member becomes its owner, and the former owner can no longer change it (fencing). It may
	// be called at any time, by several members at once; each thing is returned once. An engine for
	// one daemon considers every other member gone. Claims of this member are returned, too, if
	// their answers were lost.
	Adopt(ctx context.Context) (Adopted, error)
	// ListMembers returns the members, in the order of their names.
	ListMembers(ctx context.Context) ([]MemberStatus, error)
	// Drain has a member claim nothing more and give up the leadership, until it restarts. It
	// reports false if there is no such member.
	Drain(ctx context.Context, name string) (bool, error)
}

// MemberName returns the name of a member as configured; "": the store has only one.
func MemberName(member string) string {
	if at := strings.LastIndexByte(member, '/'); at >= 0 {
		return member[:at]
	}
	return ""
}

// Beat is what a member learns from a beat.
type Beat struct {
	// Leader says that the member is the leader, for as long as Lease lasts.
	Leader bool
	// Draining says that the member is to claim nothing more.
	Draining bool
	// Lease is how long the lease lasts, from the call of Beat; 0: it never ends.
	Lease time.Duration
	// Next is the time until the next beat.
	Next time.Duration
	// Claimable says that messages wait in the line, Adoptable that Adopt would return something or
	// that a member that is gone has left messages unsent, and ToGreet that PairingsToGreet would
	// return something.
	Claimable, Adoptable, ToGreet bool
	// Revocations is another value after people have lost access.
	Revocations string
	// Others says that other members are up, and Forwarded that the method of that name would
	// return something.
	Others, Forwarded bool
	// Keeps are the chats that this member keeps without a turn.
	Keeps []string
	// Stopped are the inbound messages that this member runs and that were stopped, maybe by
	// another one. Nil if there can be no other.
	Stopped []int64
	// Dismissed and DismissedDeliveries are those that Access.Dismissed returns and this member
	// works on.
	Dismissed, DismissedDeliveries []int64
}

// MemberState is the state of a member.
type MemberState string

// The states of a member.
const (
	Up       MemberState = "up"
	Draining MemberState = "draining"
	Gone     MemberState = "gone"
)

// MemberStatus is the status of a member.
type MemberStatus struct {
	Name    string // as configured, not as Member returns it
	State   MemberState
	Leader  bool
	Running int // turns
	MemberInfo
}

// MemberInfo is what a member says about itself.
type MemberInfo struct {
	Labels  []string
	Version string // of nanobot
	Config  string // a digest of the settings that members share
}

// Adopted is the work that Adopt has taken over, oldest first.
type Adopted struct {
	// Inbounds were running. Each has the process of its agent; without an agent, it has the Start
	// of the gateway that left it.
	Inbounds []Inbound
	// Deliveries were being sent.
	Deliveries []Delivery
	// Transients are the transient messages of members that are gone, without the boards of Folds.
	Transients []Transient
	// Folds are the pending folds.
	Folds []PendingFold
}
