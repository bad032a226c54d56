package storetest

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

var rerunTests = []contractTest{
	{"a message that an earlier attempt sent with the same sequence number is not sent again", func(b *fixture) {
		inbound := b.receiveClaimed(ann, "1")
		say := func() {
			b.enqueue(store.Outbound{Inbound: inbound.ID, Sequence: 1, Parts: outgoingTexts(ann, "a", "b")})
		}
		say()
		b.equal("what is sent first", b.sendAll(ann), "[a b]")
		b.requeueAndClaim(inbound.ID)
		say()
		b.equal("what is sent again", b.sendAll(ann), "[]")
	}},
	{"a part that was not sent yet is sent once", func(b *fixture) {
		inbound := b.receiveClaimed(ann, "1")
		say := func() store.Delivery {
			first, _ := b.enqueue(store.Outbound{Inbound: inbound.ID, Sequence: 1, Parts: outgoingTexts(ann, "a", "b", "c"), Claim: true})
			return first
		}
		b.settle(say().ID, store.Sent)
		b.requeueAndClaim(inbound.ID)
		say()
		say()
		b.equal("what is sent", b.sendAll(ann), "[b c]")
	}},
	{"a part that is sending or unknown is not stored a second time", func(b *fixture) {
		inbound := b.receiveClaimed(ann, "1")
		l := store.Outbound{Inbound: inbound.ID, Sequence: 1, Parts: outgoingTexts(ann, "a"), Claim: true}
		p, _ := b.enqueue(l)
		b.requeueAndClaim(inbound.ID)
		b.enqueue(l)
		b.settle(p.ID, store.Unknown)
		b.requeueAndClaim(inbound.ID)
		b.enqueue(l)
		b.equal("what is sent", b.sendAll(ann), "[]")
	}},
	{"a part that failed permanently is stored again", func(b *fixture) {
		inbound := b.receiveClaimed(ann, "1")
		l := store.Outbound{Inbound: inbound.ID, Sequence: 1, Parts: outgoingTexts(ann, "a", "b")}
		b.enqueue(l)
		b.settle(b.nextDelivery(ann).ID, store.Failed)
		b.requeueAndClaim(inbound.ID)
		b.enqueue(l)
		b.equal("what is sent", b.sendAll(ann), "[b a]")
	}},
	{"the same content that notifies other people is not sent again", func(b *fixture) {
		inbound := b.receiveClaimed(ann, "1")
		say := func(n channels.Notification) {
			parts := outgoingTexts(ann, "a")
			parts[0].Notification = n
			b.enqueue(store.Outbound{Inbound: inbound.ID, Sequence: 1, Parts: parts})
		}
		say(channels.Notification{})
		b.equal("what is sent first", b.sendAll(ann), "[a]")
		b.requeueAndClaim(inbound.ID)
		say(channels.Notification{Mention: true})
		say(channels.Notification{Silent: true})
		b.equal("what is sent again", b.sendAll(ann), "[]")
	}},
	{"other content with the same sequence number is sent", func(b *fixture) {
		inbound := b.receiveClaimed(ann, "1")
		b.enqueue(store.Outbound{Inbound: inbound.ID, Sequence: 1, Parts: outgoingTexts(ann, "a")})
		b.requeueAndClaim(inbound.ID)
		b.enqueue(store.Outbound{Inbound: inbound.ID, Sequence: 1, Parts: outgoingTexts(ann, "A")})
		b.equal("what is sent", b.sendAll(ann), "[a A]")
	}},
	{"a message that is split otherwise, because its beginning was shown, is not sent again", func(b *fixture) {
		for i, c := range []struct{ first, again store.Outbound }{
			{store.Outbound{Parts: outgoingTexts(ann, "ab")}, store.Outbound{Parts: outgoingTexts(ann, "a", "b"), Unstreamed: outgoingTexts(ann, "ab")}},
			{store.Outbound{Parts: outgoingTexts(ann, "a", "b"), Unstreamed: outgoingTexts(ann, "ab")}, store.Outbound{Parts: outgoingTexts(ann, "ab")}},
		} {
			inbound := b.receiveClaimed(ann, strconv.Itoa(i))
			c.first.Inbound, c.first.Sequence, c.again.Inbound, c.again.Sequence = inbound.ID, 1, inbound.ID, 1
			b.enqueue(c.first)
			b.sendAll(ann)
			b.requeueAndClaim(inbound.ID)
			b.enqueue(c.again)
			b.equal("what is sent again", b.sendAll(ann), "[]")
			b.finishDone(inbound.ID)
		}
	}},
	{"a message that replaces another one, or notifies otherwise, is not sent again", func(b *fixture) {
		inbound := b.receiveClaimed(ann, "1")
		o := outgoingTexts(ann, "a")[0]
		b.enqueue(store.Outbound{Inbound: inbound.ID, Sequence: 1, Parts: []channels.Outgoing{o}})
		b.sendAll(ann)
		b.requeueAndClaim(inbound.ID)
		o.Replace, o.Unchanged, o.Mention = "m5", true, true
		b.enqueue(store.Outbound{Inbound: inbound.ID, Sequence: 1, Parts: []channels.Outgoing{o}})
		b.equal("what is sent again", b.sendAll(ann), "[]")
	}},
	{"the same content with another sequence number, of another inbound message or without a number is sent", func(b *fixture) {
		inbound, other := b.receiveClaimed(ann, "1"), b.receiveClaimed(bob, "2")
		for _, l := range []store.Outbound{
			{Inbound: inbound.ID, Sequence: 1},
			{Inbound: inbound.ID, Sequence: 2},
			{Inbound: other.ID, Sequence: 1},
			{Inbound: inbound.ID},
			{Inbound: inbound.ID},
		} {
			l.Parts = outgoingTexts(ann, "a")
			b.enqueue(l)
		}
		b.equal("what is sent", b.sendAll(ann), "[a a a a a]")
	}},
	{"another attempt does not repeat entries of the transcript", func(b *fixture) {
		inbound := b.receiveClaimed(ann, "1")
		l := store.Outbound{Inbound: inbound.ID, Sequence: 1, Parts: outgoingTexts(ann, "a"), Entry: &store.Entry{Role: "agent", Text: "a"}}
		b.enqueue(l)
		b.requeueAndClaim(inbound.ID)
		b.enqueue(l)
		b.equal("the transcript", b.transcript(ann, 9), "[user: 1 agent: a]")
	}},
	{"a turn that runs again asks its questions again, unless they were answered and the turn was interrupted", func(b *fixture) {
		for end, want := range map[store.State]string{store.Done: "[false false]", store.Interrupted: "[true false]", store.Running: "[true true]"} {
			chat := channels.Chat{Channel: "net", ID: string(end)}
			inbound := b.receiveClaimed(chat, "1")
			answered, open := "answered "+chat.ID, "open "+chat.ID
			for _, id := range []string{answered, open} {
				b.noError(b.Ask(ctx, store.Question{Question: terminal.Question{ID: id}, Inbound: inbound.ID, Chat: chat}, store.Outbound{}))
			}
			b.answerQuestion(answered, "yes", "7")
			if end != store.Running {
				b.noError(b.tryFinish(inbound.ID, end, store.Outcome{}))
			}
			b.requeueAndClaim(inbound.ID)
			_, kept, err := b.Question(ctx, answered)
			b.noError(err)
			q, stays, err := b.Question(ctx, open)
			b.noError(err)
			b.equal(string(end), []bool{kept, stays && q.Answer == nil}, want)
			b.finishDone(inbound.ID)
		}
	}},
	{"a done turn that is restarted sends all of its messages again", func(b *fixture) {
		inbound := b.receiveClaimed(ann, "1")
		l := store.Outbound{Inbound: inbound.ID, Sequence: 1, Parts: outgoingTexts(ann, "a")}
		b.enqueue(l)
		b.sendAll(ann)
		b.finishDone(inbound.ID)
		b.requeueAndClaim(inbound.ID)
		b.enqueue(l)
		b.equal("what is sent", b.sendAll(ann), "[a]")
	}},
	{"the same file with the same sequence number is not sent again, another one is", func(b *fixture) {
		inbound := b.receiveClaimed(ann, "1")
		say := func(content string) string {
			o := channels.Outgoing{Chat: ann, Text: content, Media: []channels.File{{Path: b.saveCopy("x.png", content), Name: "x.png"}}}
			o.Form = []byte(`{"photo":"` + o.Media[0].Path + `"}`)
			o.Text = ""
			b.enqueue(store.Outbound{Inbound: inbound.ID, Sequence: 1, Parts: []channels.Outgoing{o}})
			return o.Media[0].Path
		}
		first := say("red")
		b.settle(b.nextDelivery(ann).ID, store.Sent)
		b.requeueAndClaim(inbound.ID)
		second := say("red")
		b.nothingToSend(ann)
		b.checkRemoved(first)
		b.checkRemoved(second)
		third := say("blue")
		p := b.nextDelivery(ann)
		b.equal("the file", p.Out.Media[0].Path, third)
		b.checkCopy(third, "blue")
	}},
	{"the copy of a pending delivery of an earlier attempt is kept", func(b *fixture) {
		inbound := b.receiveClaimed(ann, "1")
		say := func() string {
			path := b.saveCopy("x.png", "red")
			b.enqueue(store.Outbound{Inbound: inbound.ID, Sequence: 1, Parts: []channels.Outgoing{{Chat: ann, Media: []channels.File{{Path: path}}}}})
			return path
		}
		first := say()
		b.requeueAndClaim(inbound.ID)
		b.checkRemoved(say())
		b.equal("the file to send", b.nextDelivery(ann).Out.Media[0].Path, first)
		b.checkCopy(first, "red")
	}},
}

// requeueAndClaim restarts the daemon, makes an inbound message pending again, and claims it.
func (b *fixture) requeueAndClaim(id int64) {
	b.Helper()
	b.reopen()
	b.adopt()
	if b.inbound(id).State == store.Running {
		b.noError(b.Requeue(ctx, id, false))
	} else {
		b.noError(b.Restart(ctx, id))
	}
	b.equal("the claimed inbound", b.claimOne().ID, id)
}

// saveCopy creates a file and copies it into the spool.
func (b *fixture) saveCopy(name, content string) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), name)
	b.noError(os.WriteFile(path, []byte(content), 0o600))
	kept, err := SaveCopy(ctx, b, path, 0)
	b.noError(err)
	return kept
}

// fetchPath returns the path of a copy.
func (b *fixture) fetchPath(name string) string {
	b.Helper()
	path, err := b.Fetch(ctx, name)
	b.noError(err)
	if !filepath.IsAbs(path) {
		b.Fatalf("%s is fetched as %s, which is not an absolute path", name, path)
	}
	return path
}

// checkCopy checks the content of a copy.
func (b *fixture) checkCopy(name, want string) {
	b.Helper()
	path := b.fetchPath(name)
	got, err := os.ReadFile(path)
	b.noError(err)
	if !bytes.Equal(got, []byte(want)) {
		b.Fatalf("%s contains %q, want %q", path, got, want)
	}
}

func (b *fixture) checkRemoved(name string) {
	b.Helper()
	path := b.fetchPath(name)
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		b.Fatalf("%s is still there (%v)", path, err)
	}
}
