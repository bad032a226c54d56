package storetest

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// gather receives a message that waits a second for further ones.
func (b *fixture) gather(in channels.Incoming) (store.Inbound, store.Disposition) {
	b.Helper()
	return b.receive(store.ReceiveRequest{In: in, Claim: true, Gather: time.Second})
}

// ofPerson returns a message of another person in Ann's chat.
func ofPerson(user, id string) channels.Incoming {
	in := incoming(ann, id)
	in.User.ID = user
	return in
}

// expectNextClaim checks how long it takes until a message can be claimed; 0: none waits.
func (b *fixture) expectNextClaim(want time.Duration) {
	b.Helper()
	wait, waits, err := b.NextClaim(ctx, store.ClaimRequest{})
	b.noError(err)
	b.equal("the time until the next claim", fmt.Sprint(wait, waits), fmt.Sprint(want, want > 0))
}

var gatherTests = []contractTest{
	{"gathered messages have a bounded text", func(b *fixture) {
		first, second, third := incoming(ann, "1"), incoming(ann, "2"), incoming(ann, "3")
		first.Text, second.Text, third.Text = strings.Repeat("x", store.MaxGatherUnits-2), "y", "z"
		b.gather(first)
		_, result := b.gather(second)
		b.equal("what fits", result, store.Joined)
		_, result = b.gather(third)
		b.equal("what does not", result, store.Queued)
	}},
	{"a message that gathers is claimed after its time", func(b *fixture) {
		b.expectNextClaim(0)
		inbound, result := b.gather(incoming(ann, "1"))
		b.equal("the result", result, store.Queued)
		b.nothingToClaim()
		b.expectNextClaim(time.Second)
		b.advance(999 * time.Millisecond)
		b.nothingToClaim()
		b.advance(time.Millisecond)
		claimed := b.claimOne()
		b.equal("the claimed message", claimed.ID, inbound.ID)
		b.equal("its wait", claimed.NotBefore.IsZero(), true)
		b.expectNextClaim(0)
	}},
	{"a message that only others may claim is not the next to claim", func(b *fixture) {
		b.gather(incoming(ann, "1"))
		b.receive(store.ReceiveRequest{In: incoming(bob, "2"), Agent: "gpu", Gather: time.Second})
		expect := func(what string, c store.ClaimRequest, want time.Duration) {
			b.Helper()
			wait, waits, err := b.NextClaim(ctx, c)
			b.noError(err)
			b.equal(what, fmt.Sprint(wait, waits), fmt.Sprint(want, want > 0))
		}
		expect("an agent of others", store.ClaimRequest{ExceptAgents: []string{"gpu", "default"}}, 0)
		expect("a channel of others", store.ClaimRequest{ExceptChannels: []string{ann.Channel}}, 0)
		expect("one of the agents", store.ClaimRequest{ExceptAgents: []string{"default"}}, time.Second)
		b.advance(time.Second)
		b.claimOne()
		expect("what has waited for long enough", store.ClaimRequest{ExceptAgents: []string{"gpu"}}, 0)
	}},
	{"other chats do not wait for one that gathers", func(b *fixture) {
		b.gather(incoming(ann, "1"))
		b.receiveQueued(bob, "2")
		b.equal("the claimed message", b.claimOne().In.ID, "2")
		b.nothingToClaim()
	}},
	{"messages of one person become one, and begin the wait again", func(b *fixture) {
		first, _ := b.gather(incoming(ann, "1"))
		b.advance(900 * time.Millisecond)
		second := incoming(ann, "2")
		second.Media = []string{"/a"}
		joined, result := b.gather(second)
		b.equal("the result", result, store.Joined)
		b.equal("the message", joined.ID, first.ID)
		b.advance(900 * time.Millisecond)
		b.nothingToClaim()
		b.advance(100 * time.Millisecond)
		claimed := b.claimOne()
		b.equal("the text", claimed.In.Text, "1\n2")
		b.equal("the files", claimed.In.Media, "[/a]")
		_, again := b.gather(second)
		b.equal("the result on a duplicate", again, store.Duplicate)
		_, late := b.gather(incoming(ann, "3"))
		b.equal("the result after the claim", late, store.Queued)
	}},
	{"a message waits a minute at most", func(b *fixture) {
		b.gather(incoming(ann, "0"))
		for i := range 66 {
			b.advance(900 * time.Millisecond)
			_, result := b.gather(incoming(ann, fmt.Sprint(i+1)))
			b.equal("the result", result, store.Joined)
		}
		b.advance(600 * time.Millisecond)
		b.claimOne()
	}},
	{"the wait survives a restart", func(b *fixture) {
		b.gather(incoming(ann, "1"))
		b.gather(incoming(ann, "2"))
		b.reopen()
		b.adopt()
		b.nothingToClaim()
		_, result := b.gather(incoming(ann, "2"))
		b.equal("the result on a duplicate", result, store.Duplicate)
		b.gather(incoming(ann, "3"))
		b.advance(time.Second)
		b.equal("the text", b.claimOne().In.Text, "1\n2\n3")
	}},
	{"a clock that was set back does not make a message wait for ever", func(b *fixture) {
		b.gather(incoming(ann, "1"))
		b.advance(-time.Hour)
		b.claimOne()
	}},
	{"messages of different people are never one", func(b *fixture) {
		b.gather(ofPerson("7", "1"))
		_, result := b.gather(ofPerson("8", "2"))
		b.equal("the result", result, store.Queued)
		_, result = b.gather(ofPerson("7", "3"))
		b.equal("the result", result, store.Joined)
		b.advance(time.Second)
		first := b.claimOne()
		b.equal("the first text", first.In.Text, "1\n3")
		b.finishDone(first.ID)
		b.equal("the second text", b.claimOne().In.Text, "2")
	}},
	{"a command ends the wait", func(b *fixture) {
		b.gather(incoming(ann, "1"))
		result, err := b.Receive(ctx, store.ReceiveRequest{In: incoming(ann, "/help"), Settle: true})
		b.noError(err)
		b.equal("the wait has ended", result.Released, true)
		_, next := b.gather(incoming(ann, "2"))
		b.equal("the result", next, store.Queued)
		b.equal("the text", b.claimOne().In.Text, "1")
	}},
	{"the command of another person does not end the wait", func(b *fixture) {
		b.gather(incoming(ann, "1"))
		in := ofPerson("8", "/help")
		result, err := b.Receive(ctx, store.ReceiveRequest{In: in, Settle: true})
		b.noError(err)
		b.equal("the wait has ended", result.Released, false)
		b.nothingToClaim()
	}},
	{"a message for another agent is not joined", func(b *fixture) {
		b.gather(incoming(ann, "1"))
		_, result := b.receive(store.ReceiveRequest{In: incoming(ann, "2"), Agent: "coder", Gather: time.Second})
		b.equal("the result", result, store.Queued)
	}},
	{"a command may drop a message that gathers", func(b *fixture) {
		inbound, _ := b.gather(incoming(ann, "1"))
		b.receive(store.ReceiveRequest{In: incoming(ann, "/stop"), Settle: true, Drop: inbound.ID})
		b.equal("the state", b.inbound(inbound.ID).State, store.Dead)
		b.advance(time.Second)
		b.nothingToClaim()
	}},
	{"an edit and a deletion change one of the joined messages", func(b *fixture) {
		inbound, _ := b.gather(incoming(ann, "1"))
		b.gather(incoming(ann, "2"))
		b.gather(incoming(ann, "3"))
		b.equal("the effect of the edit", b.changeMessage(store.ChangeRequest{In: edit("2", "new")}).Effect, store.Replaced)
		b.equal("the text", b.inbound(inbound.ID).In.Text, "1\nnew\n3")
		deletion := channels.Incoming{Chat: ann, ID: "1", Change: channels.Deleted}
		b.equal("the effect of the deletion", b.changeMessage(store.ChangeRequest{In: deletion}).Effect, store.Replaced)
		b.nothingToClaim()
		b.advance(time.Second)
		b.equal("the text", b.claimOne().In.Text, "new\n3")
	}},
	{"a message beside a claim is in the turn, or waits for its own", func(b *fixture) {
		for i := range 30 {
			first, second := fmt.Sprint(i), fmt.Sprint(i, " second")
			b.receive(store.ReceiveRequest{In: incoming(ann, first)})
			follower := incoming(ann, second)
			var work sync.WaitGroup
			var claimed []store.Inbound
			var claimErr error
			work.Go(func() { claimed, claimErr = b.Claim(ctx, store.ClaimRequest{Limit: 1}) })
			result, err := b.Receive(ctx, store.ReceiveRequest{In: follower, Follows: time.Second})
			work.Wait()
			b.noError(err)
			b.noError(claimErr)
			want := map[store.Disposition]string{store.Joined: first + "\n" + second, store.Queued: first}[result.Disposition]
			b.equal("the text of the turn", claimed[0].In.Text, want)
			b.finishDone(claimed[0].ID)
			if result.Disposition == store.Queued {
				b.finishDone(b.claimOne().ID)
			}
		}
	}},
}

// forward returns a forwarded message of Ann.
func forward(id string) channels.Incoming {
	in := incoming(ann, id)
	in.Forwarded = &channels.Forwarded{}
	return in
}

func (b *fixture) follow(in channels.Incoming) store.Disposition {
	b.Helper()
	_, result := b.receive(store.ReceiveRequest{In: in, Follows: time.Second, Cursor: in.ID})
	return result
}

var followTests = []contractTest{
	{"a message joins a text for another agent only if it follows its agent", func(b *fixture) {
		b.receive(store.ReceiveRequest{In: incoming(ann, "1"), Agent: "writer"})
		for i, follows := range []bool{false, true} {
			in := forward(fmt.Sprint(2 + i))
			in.User.ID = "bob"
			text := incoming(ann, fmt.Sprint(10+i))
			text.User.ID = "bob"
			before, _ := b.receive(store.ReceiveRequest{In: text, Agent: "writer"})
			_, result := b.receive(store.ReceiveRequest{In: in, Follows: time.Second, FollowsAgent: follows})
			b.equal("the result", result == store.Joined, follows)
			b.equal("the agent of the text", b.inbound(before.ID).Agent, "writer")
		}
	}},
	{"messages that follow a pending text are joined to it, with the parts and the cursor", func(b *fixture) {
		first := b.receiveQueued(ann, "1")[0]
		b.equal("the result", b.follow(forward("2")), store.Joined)
		for _, id := range []string{"3", "4"} {
			part := incoming(ann, id)
			part.Part = &channels.Part{Group: "g"}
			b.noError(b.StorePart(ctx, part))
		}
		album := incoming(ann, "3")
		album.Part, album.Media = &channels.Part{Group: "g", Last: true}, []string{"/a", "/b"}
		album.Pieces = []channels.Piece{{ID: "3", Bytes: 1, Media: 1}, {ID: "4", Media: 1}}
		b.equal("the result", b.follow(album), store.Joined)
		got := b.inbound(first.ID).In
		b.equal("the message", fmt.Sprintf("%q %v %d %q", got.Text, got.Media, len(got.Pieces), got.Comment()), `"1\n2\n3" [/a /b] 4 "1"`)
		known, err := b.Known(ctx, ann, "4")
		b.noError(err)
		b.equal("the last part is known", known, true)
		parts, err := b.Parts(ctx, "net")
		b.noError(err)
		b.equal("the parts", len(parts), 0)
		cursor, err := b.Cursor(ctx, "net")
		b.noError(err)
		b.equal("the cursor", cursor, "3")
		b.equal("the result on a duplicate", b.follow(forward("2")), store.Duplicate)
	}},
	{"what follows late, or follows something else than a text, is not joined", func(b *fixture) {
		b.receiveQueued(ann, "1")
		b.advance(1001 * time.Millisecond)
		b.equal("the result after a second", b.follow(forward("2")), store.Queued)
		b.equal("the result after a forward", b.follow(forward("3")), store.Queued)
	}},
	{"what follows a command, a running turn or another person's text is not joined", func(b *fixture) {
		b.receiveQueued(ann, "1")
		b.receive(store.ReceiveRequest{In: incoming(ann, "/help"), Settle: true})
		b.equal("the result after a command", b.follow(forward("2")), store.Queued)
		b.receiveClaimed(bob, "3")
		after := forward("4")
		after.Chat = bob
		b.equal("the result after a claim", b.follow(after), store.Queued)
		b.receive(store.ReceiveRequest{In: ofPerson("8", "5")})
		own := forward("6")
		own.User.ID = "9"
		b.equal("the result after another person's text", b.follow(own), store.Queued)
	}},
}
