package store

import (
	"context"
	"time"

	"nanobot/channels"
)

// Pairing is a user who was let in by pairing, or waits for it.
type Pairing struct {
	Channel string
	User    channels.User
	Code    string    // "" once accepted
	Since   time.Time // when the code was made, or accepted
	// Message is the newest message of a paired user who has not been answered yet, without its
	// media; nil if there is none.
	Message *channels.Incoming
	// Told says that a paired user who was let in knows it.
	Told bool
}

// CodeLimits bound the pairing codes of a channel.
type CodeLimits struct {
	Life    time.Duration // how long a code can be used
	Open    int           // how many can be used at the same time: one more ends the oldest
	PerHour int           // how many are made within an hour
}

// PairingRequest is a message of somebody who is not admitted, and what they are told.
type PairingRequest struct {
	In channels.Incoming
	// Cursor, if not "", is stored for the channel in the same step.
	Cursor string
	Code   string // what a new code would be
	Limits CodeLimits
	// Coded is said when the code was given out, Later when there are too many codes.
	Coded, Later []channels.Outgoing
}

// PairingResult says what became of a pairing request.
type PairingResult int

// The results of a pairing request.
const (
	PairingSeen     PairingResult = iota // the same message was seen before; nothing was changed but the cursor
	PairingSilent                        // nothing is said: they have a code, or were told lately to try later
	PairingCoded                         // they were given the code
	PairingDeferred                      // they were told to try later
	AlreadyAdmitted                      // they have been let in; nothing was changed
)

// Revoked is the status of an inbound message whose sender has lost access.
const Revoked = "revoked"

// Person is a user of a channel.
type Person struct{ Channel, User string }

// Access is who may talk to the bot beyond the configuration.
type Access interface {
	Allowed(ctx context.Context, channel, user string) (bool, error)
	// RequestPairing takes a message of somebody who is not let in. They are given a code, or told
	// to try later if too many codes were made, but no more than once an hour. What is kept is
	// bounded, however many write however much: that the message was seen, for a day at most; and
	// the newest text of who has an open code, as long as that is open. What is said to strangers
	// is forgotten once it is sent.
	RequestPairing(ctx context.Context, r PairingRequest) (PairingResult, error)
	// Accept lets in whom a code was made for within ttl, once. Case and space around the code do
	// not matter.
	Accept(ctx context.Context, code string, ttl time.Duration) (Pairing, bool, error)
	// Admit lets in a user by id, also one who has never been heard of. It reports false for a user
	// who was in already.
	Admit(ctx context.Context, p Person, ttl time.Duration) (Pairing, bool, error)
	// PairingsToGreet returns the paired users who were let in and have not been told, or whose
	// message was not received, of all channels for the zero Person. Those who have not written
	// lately are not among them.
	PairingsToGreet(ctx context.Context, p Person) ([]Pairing, error)
	// Greet puts into the outbox what a paired user is told who was let in, once. It reports false
	// when they were told before.
	Greet(ctx context.Context, p Person, parts []channels.Outgoing) (bool, error)
	// ForgetMessage forgets a paired user's message, once it is received.
	ForgetMessage(ctx context.Context, p Person) error
	Pairings(ctx context.Context) ([]Pairing, error)
	// Revoke forgets a paired user and, if dismiss is set because nothing else lets them in, ends
	// their work as Dismiss does, in one step.
	Revoke(ctx context.Context, p Person, dismiss bool) (bool, error)
	// Dismiss ends the work of somebody who has lost access: their pending inbound messages are
	// Dead, what answers them or is about them and is not sent yet fails, what is being sent is not
	// tried again, and of their running inbound messages the questions are closed and nothing more
	// is taken for the outbox. Those have the status Revoked from then on, also when they are
	// finished. No inbound message of another person is touched.
	Dismiss(ctx context.Context, p Person) error
	// Dismissed returns the running inbound messages and the deliveries being sent that Dismiss has
	// met.
	Dismissed(ctx context.Context) (inbounds, deliveries []int64, err error)
	// BusyUnpaired returns the users of a channel who have pending or running inbound messages, or
	// who are to be sent something, but for those who were let in by pairing.
	BusyUnpaired(ctx context.Context, channel string) ([]string, error)
	// PruneCodes removes codes that are older than life, with the texts of their users, and
	// what else is kept of strangers for a time that has passed.
	PruneCodes(ctx context.Context, life time.Duration) error
}
