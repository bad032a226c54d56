package storetest

import (
	"fmt"
	"slices"
	"strconv"
	"sync"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// cursorWriters store message n of its own chat with a cursor, in all ways that there are. Each has
// a check that the message is stored.
var cursorWriters = []struct {
	write    func(b *fixture, in channels.Incoming) error
	isStored func(b *fixture, in channels.Incoming) (bool, error)
}{
	{func(b *fixture, in channels.Incoming) error {
		_, err := b.Receive(ctx, store.ReceiveRequest{In: in, Cursor: in.Cursor})
		return err
	}, isKnown},
	{func(b *fixture, in channels.Incoming) error {
		in.Part = &channels.Part{Group: "g"}
		return b.StorePart(ctx, in)
	}, func(b *fixture, in channels.Incoming) (bool, error) {
		parts, err := b.Parts(ctx, in.Chat.Channel)
		return slices.ContainsFunc(parts, func(p channels.Incoming) bool { return p.Chat == in.Chat }), err
	}},
	{func(b *fixture, in channels.Incoming) error {
		_, err := b.RequestPairing(ctx, store.PairingRequest{In: in, Cursor: in.Cursor, Code: "CODE" + in.ID, Limits: limits})
		return err
	}, isKnown},
	{func(b *fixture, in channels.Incoming) error {
		if _, err := b.Receive(ctx, store.ReceiveRequest{In: in}); err != nil {
			return err
		}
		in.Text, in.Change = "edited", channels.Edited
		_, err := b.ChangeMessage(ctx, store.ChangeRequest{In: in, Cursor: in.Cursor})
		return err
	}, func(b *fixture, in channels.Incoming) (bool, error) {
		inbound, _, err := b.Message(ctx, in.Chat, in.ID)
		return inbound.In.Text == "edited", err
	}},
}

func isKnown(b *fixture, in channels.Incoming) (bool, error) { return b.Known(ctx, in.Chat, in.ID) }

// cursorMessage returns message n, whose cursor is its number.
func cursorMessage(n int) channels.Incoming {
	in := incoming(channels.Chat{Channel: "net", ID: strconv.Itoa(n)}, strconv.Itoa(n))
	in.User.ID, in.Cursor = "u"+in.ID, in.ID
	return in
}

// checkCursor returns an error if the cursor is stored and its message is not.
func (b *fixture) checkCursor() error {
	cursor, err := b.Cursor(ctx, "net")
	if err != nil || cursor == "" {
		return err
	}
	n, err := strconv.Atoi(cursor)
	if err != nil {
		return err
	}
	stored, err := cursorWriters[n%len(cursorWriters)].isStored(b, cursorMessage(n))
	if err == nil && !stored {
		err = fmt.Errorf("cursor %d is stored, and its message is not", n)
	}
	return err
}

var cursorTests = []contractTest{
	{"who reads a cursor finds its message, whatever others store at the same time", func(b *fixture) {
		const each = 8
		written := make(chan struct{})
		var reading sync.WaitGroup
		var leads error
		reading.Go(func() {
			for leads == nil {
				leads = b.checkCursor()
				select {
				case <-written:
					return
				default:
				}
			}
		})
		b.runParallel(func(g int) error {
			for i := range each {
				n := g*each + i
				if err := cursorWriters[n%len(cursorWriters)].write(b, cursorMessage(n)); err != nil {
					return err
				}
			}
			return nil
		})
		close(written)
		reading.Wait()
		b.noError(leads)
		b.reopen()
		b.noError(b.checkCursor())
	}},
	{"a message that is not stored leaves the cursor where it is", func(b *fixture) {
		b.receive(store.ReceiveRequest{In: incoming(ann, "1"), Cursor: "c1", Claim: true})
		b.receive(store.ReceiveRequest{In: incoming(ann, "2"), Cursor: "c2"})
		for _, request := range []store.ReceiveRequest{{NotWhileRunning: true}, {QueueLimit: 1}} {
			request.In, request.Cursor = incoming(ann, "3"), "c3"
			b.receive(request)
		}
		b.admit("net", "7")
		admitted := b.outsiderMessage("net", "7", "4")
		admitted.Cursor = "c4"
		b.equal("the pairing result", b.handleOutsider(admitted), store.AlreadyAdmitted)
		b.equal("the cursor", b.cursor("net"), "c2")
	}},
}
