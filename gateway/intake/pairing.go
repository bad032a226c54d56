package intake

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/audit"
	"nanobot/gateway/events"
	"nanobot/gateway/retry"
	"nanobot/gateway/store"
	"nanobot/internal/words"
)

const (
	// CodeLifetime is how long a pairing code is valid.
	CodeLifetime = 15 * time.Minute
	// openCodes and codesPerHour bound the pairing codes of a channel, so that outsiders can
	// neither fill the disk nor flood the operator. A new code beyond openCodes replaces the
	// oldest.
	openCodes, codesPerHour = 20, 60
)

// pairing refuses people without access, and welcomes those whom the operator admits.
type pairing struct {
	*stage
	route     func(ctx context.Context, in channels.Incoming) error // handles a message of an admitted person
	logged    sync.Map                                              // people whose refusal was logged
	welcoming sync.Mutex                                            // keeps a newly admitted person's messages in order
}

const (
	// pruneInterval is how often expired pairing codes are removed.
	pruneInterval = time.Minute
)

// WelcomeAdmitted greets newly admitted people and handles their last messages, until ctx ends. It
// also removes expired pairing codes.
func (p *pairing) WelcomeAdmitted(ctx context.Context, beats <-chan store.Beat) error {
	prune := time.NewTicker(pruneInterval)
	defer prune.Stop()
	for {
		var err error
		select {
		case b := <-beats:
			if b.ToGreet {
				err = p.welcomePaired(ctx, store.Person{})
			}
		case <-prune.C:
			err = p.o.Store.PruneCodes(ctx, CodeLifetime)
		case <-ctx.Done():
			return nil
		}
		if err != nil && ctx.Err() == nil {
			p.o.Log.Warn("cannot check pairings, will retry", zap.Error(err))
			retry.Sleep(ctx, time.Second)
		}
	}
}

// welcomePaired greets a newly admitted person, or all of them for the zero Person, and handles
// their last message. Each is done once, also across a crash: the next run of the gateway
// continues.
func (p *pairing) welcomePaired(ctx context.Context, who store.Person) error {
	p.welcoming.Lock()
	defer p.welcoming.Unlock()
	pairings, err := p.o.Store.PairingsToGreet(ctx, who)
	if err != nil {
		return err
	}
	for _, pairing := range pairings {
		if p.o.Channels[pairing.Channel] == nil || pairing.Message == nil {
			// There is no message to answer, or the channel is disabled: then it is done when the
			// channel is enabled again.
			continue
		}
		if err := p.welcomePerson(ctx, pairing); err != nil {
			return err
		}
	}
	return nil
}

func (p *pairing) welcomePerson(ctx context.Context, pairing store.Pairing) error {
	who := store.Person{Channel: pairing.Channel, User: pairing.User.ID}
	if !pairing.Greeted {
		parts, err := p.planAnswer(*pairing.Message,
			channels.Message{Text: p.words(*pairing.Message).Text(words.AccessGranted)})
		if err != nil {
			return err
		}
		greeted, err := p.o.Store.Greet(ctx, who, parts)
		if err != nil || !greeted { // access was revoked in the meantime
			return err
		}
		p.o.Outbox.Wake(pairing.Message.Chat)
	}
	pairing.Message.Stored = true
	err := p.route(ctx, *pairing.Message)
	if errors.Is(err, store.ErrKept) {
		err = p.o.Store.Forward(ctx, *pairing.Message)
	}
	if err != nil {
		return fmt.Errorf("receive the message of user %s of %s: %w", who.User, who.Channel, err)
	}
	return p.o.Store.ForgetMessage(ctx, who)
}

// refuseOutsider refuses a message of a person without access, and offers a pairing code if they
// have none. It reports false if the person was admitted in the meantime.
func (p *pairing) refuseOutsider(ctx context.Context, in channels.Incoming) (bool, error) {
	if in.Press != "" && in.Group { // the others in the group must not see a code
		return true, p.refusePress(ctx, in)
	}
	code := rand.Text()[:8]
	silent := channels.Notification{Silent: true}
	coded, err := p.planAnswer(in, channels.Message{
		Notification: silent,
		Text:         p.words(in).Text(words.PairingCode, code, int(CodeLifetime.Minutes())),
	})
	if err != nil {
		return false, err
	}
	later, err := p.planAnswer(in, channels.Message{Notification: silent, Text: p.words(in).Text(words.PairingLater)})
	if err != nil {
		return false, err
	}
	refusal, err := p.o.Store.RequestPairing(ctx, store.PairingRequest{
		In: in, Cursor: in.Cursor, Code: code, Coded: coded, Later: later,
		Limits: store.CodeLimits{Life: CodeLifetime, Open: openCodes, PerHour: codesPerHour},
	})
	if err != nil {
		return false, fmt.Errorf("refuse message: %w", err)
	}
	if refusal == store.AlreadyAdmitted {
		return false, nil
	}
	if refusal == store.PairingCoded || refusal == store.PairingDeferred {
		p.o.Outbox.Wake(in.Chat)
	}
	p.reportRefusal(in, refusal)
	return true, nil
}

// refusePress refuses the press of a button in a group by a person without access.
func (p *pairing) refusePress(ctx context.Context, in channels.Incoming) error {
	if in.Cursor != "" {
		if err := p.o.Store.SetCursor(ctx, in.Chat.Channel, in.Cursor); err != nil {
			return fmt.Errorf("refuse press: %w", err)
		}
	}
	respond(in, p.words(in).Text(words.PressRefused))
	p.reportRefusal(in, store.PairingSilent)
	return nil
}

// reportRefusal reports, logs and audits the refusal of a person.
func (p *pairing) reportRefusal(in channels.Incoming, refusal store.PairingResult) {
	if refusal != store.PairingSeen {
		p.o.Events.Report(events.Event{Type: events.Dropped, Chat: in.Chat, Reason: events.NotAdmitted})
	}
	_, logged := p.logged.LoadOrStore(in.Chat.Channel+":"+in.User.ID, true)
	if !logged {
		p.o.Log.Warn("refused a user who is not allowed", zap.String("channel", in.Chat.Channel),
			zap.String("user", in.User.ID), zap.String("name", in.User.Name))
	}
	p.auditRefusal(in, refusal == store.PairingCoded, logged)
}

// auditRefusal records the refusal of a person: when they get a code, and otherwise as rarely as it
// is logged. A record of each refused message would let outsiders rotate everything else out of the
// audit log.
func (p *pairing) auditRefusal(in channels.Incoming, coded, before bool) {
	switch {
	case coded:
		p.o.Audit.Record(in, audit.Record{Event: audit.Denied, Decision: audit.Coded})
	case !before:
		p.o.Audit.Record(in, audit.Record{Event: audit.Denied, Decision: audit.Refused})
	}
}

// ResetRefusalLog is called once an hour, so that each refused person is logged at most once an
// hour.
func (p *pairing) ResetRefusalLog() { p.logged.Clear() }
