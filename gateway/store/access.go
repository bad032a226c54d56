package store

import (
	"context"
	"time"

	"nanobot/channels"
)

// Pairing is a user who was admitted by pairing, or waits for it.
type Pairing struct {
	Channel string
	User    channels.User
	Code    string    // "" after it was accepted
	Since   time.Time // when the code was created or accepted
	// Message is the newest unhandled message of the user, without its media; nil: there is none.
	Message *channels.Incoming
	// Greeted means that the welcome message is stored.
	Greeted bool
}

// CodeLimits bound the pairing codes of a channel.
type CodeLimits struct {
	Life    time.Duration // how long a code is valid
	Open    int           // valid codes at the same time; a further one ends the oldest
	PerHour int           // new codes within an hour
}

// PairingRequest is a message of a person without access, and the possible answers.
type PairingRequest struct {
	In     channels.Incoming
	Cursor string // as in ReceiveRequest
	Code   string // the code to give out, if a new one is needed
	Limits CodeLimits
	// Coded is sent if the code was given out, Later if there are too many codes.
	Coded, Later []channels.Outgoing
}

// PairingResult is the result of a pairing request.
type PairingResult int

// The results of a pairing request.
const (
	PairingSeen     PairingResult = iota // a duplicate; only the cursor was changed
	PairingSilent                        // no answer: the person has a code, or was told lately to try later
	PairingCoded                         // the person got the code
	PairingDeferred                      // the person was told to try later
	AlreadyAdmitted                      // the person has access; nothing was changed
)

// Revoked is the status of an inbound message whose sender has lost access.
const Revoked = "revoked"

// Person is a user of a channel.
type Person struct{ Channel, User string }

// Access stores who has access besides the people in the configuration.
type Access interface {
	Allowed(ctx context.Context, channel, user string) (bool, error)
	// RequestPairing handles a message of a person without access. The person gets a code, or is
	// told at most once an hour to try later if there are too many codes. The stored data is
	// bounded: message IDs are kept for at most a day, and the newest text of a person only while
	// their code is valid. Messages to outsiders are removed when they are sent.
	RequestPairing(ctx context.Context, r PairingRequest) (PairingResult, error)
	// Accept admits the person whose code was created within ttl, once. Case and surrounding space
	// are ignored.
	Accept(ctx context.Context, code string, ttl time.Duration) (Pairing, bool, error)
	// Admit admits a user by ID, who need not have written before. It reports false for a user who
	// was admitted already.
	Admit(ctx context.Context, p Person, ttl time.Duration) (Pairing, bool, error)
	// PairingsToGreet returns the admitted users who were not told yet, or whose message was not
	// handled yet; for the zero Person those of all channels. Users who have not written lately are
	// omitted.
	PairingsToGreet(ctx context.Context, p Person) ([]Pairing, error)
	// Greet stores the greeting of an admitted user in the outbox, once. It reports false when they
	// were greeted before.
	Greet(ctx context.Context, p Person, parts []channels.Outgoing) (bool, error)
	// ForgetMessage removes a paired user's message after it was handled.
	ForgetMessage(ctx context.Context, p Person) error
	Pairings(ctx context.Context) ([]Pairing, error)
	// Revoke removes a paired user. With dismiss, which is set if nothing else admits them, it also
	// dismisses them in the same transaction.
	Revoke(ctx context.Context, p Person, dismiss bool) (bool, error)
	// Dismiss ends the work of a person who has lost access: their pending inbound messages become
	// Dead, unsent answers to them fail, and sends in progress are not retried. The questions of
	// their running inbound messages are closed, and further output is refused; these messages get
	// the status Revoked, which also replaces the status of Finish. Other people's messages are not
	// affected.
	Dismiss(ctx context.Context, p Person) error
	// Dismissed returns the running inbound messages and the deliveries being sent of dismissed
	// people.
	Dismissed(ctx context.Context) (inbounds, deliveries []int64, err error)
	// BusyUnpaired returns the users of a channel who have pending or running inbound messages or
	// unsent deliveries, except paired users.
	BusyUnpaired(ctx context.Context, channel string) ([]string, error)
	// PruneCodes removes codes older than life, with their users' texts, and other expired data of
	// outsiders.
	PruneCodes(ctx context.Context, life time.Duration) error
}
