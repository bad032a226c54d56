package storetest

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

// secretText is long, so that it does not fit into a page of a database, and has a part that no
// other test stores.
var secretText = strings.Repeat("hunter2 ", 1000) + "the end of the secret"

// noSecretOnDisk fails if a file of the open store contains the secret.
func (b *fixture) noSecretOnDisk() {
	b.Helper()
	err := filepath.WalkDir(b.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte("hunter2")) {
			b.Errorf("%s contains the secret", filepath.Base(path))
		}
		return err
	})
	b.noError(err)
}

// answerSecret has a running turn ask for a secret, and a message with ID 2 answer.
func (b *fixture) answerSecret() (turn store.Inbound, r store.ReceiveResult) {
	b.Helper()
	turn = b.receiveClaimed(ann, "1")
	b.noError(b.Ask(ctx, store.Question{Question: terminal.Question{ID: "q", Secret: true}, Inbound: turn.ID, Chat: ann}, store.Outbound{}))
	in := incoming(ann, "2")
	in.Text = secretText
	in.Pieces = []channels.Piece{{ID: "2", Bytes: 5}, {ID: "3", Bytes: 5}}
	r, err := b.Receive(ctx, store.ReceiveRequest{In: in, Secret: true, Reply: &store.Reply{Question: "q", Text: in.Text, By: "7"}})
	b.noError(err)
	b.equal("the result", r.Disposition, store.Settled)
	return turn, r
}

func (b *fixture) recordedTransients() (ids []string) {
	b.Helper()
	all, err := b.Transients(ctx)
	b.noError(err)
	for _, t := range all {
		if t.Incoming {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

var secretTests = []contractTest{
	{"a secret answer is there after a restart, and the text of its message is not", func(b *fixture) {
		_, r := b.answerSecret()
		b.equal("the messages to delete", len(r.Secrets), 2)
		b.reopen()
		b.equal("secret", b.question("q").Secret, true)
		b.equal("the answer", *b.question("q").Answer, secretText)
		inbound, _, err := b.Inbound(ctx, r.Inbound.ID)
		b.noError(err)
		b.equal("the stored text", inbound.In.Text, "")
		b.equal("the messages to delete", b.recordedTransients(), "[2 3]")
		adopted, err := b.Adopt(ctx)
		b.noError(err)
		b.equal("the messages to delete after a crash", len(adopted.Transients), 2)
	}},
	{"no file of the store has a secret answer that was erased, and the question is not open again", func(b *fixture) {
		b.answerSecret()
		b.noError(b.EraseAnswer(ctx, "q"))
		b.noSecretOnDisk()
		q := b.question("q")
		b.equal("closed, without an answer", []bool{q.Closed, q.Answer == nil}, "[true true]")
		left, err := b.UnansweredQuestions(ctx, ann, q.Inbound)
		b.noError(err)
		b.equal("unanswered questions", len(left), 0)
	}},
	{"the end of a turn erases its secret answers, and those only", func(b *fixture) {
		turn, _ := b.answerSecret()
		b.noError(b.Ask(ctx, store.Question{Question: terminal.Question{ID: "open"}, Inbound: turn.ID, Chat: ann}, store.Outbound{}))
		b.equal("answered", b.answerQuestion("open", "yes", "7"), true)
		_, err := b.Finish(ctx, turn.ID, store.Interrupted, store.Outcome{})
		b.noError(err)
		b.noSecretOnDisk()
		b.equal("the other answer", *b.question("open").Answer, "yes")
	}},
	{"the end of a turn erases its secret answers, also if the chat has had no open question since", func(b *fixture) {
		turn, _ := b.answerSecret()
		open, err := b.OpenQuestions(ctx, ann)
		b.noError(err)
		b.equal("open questions", len(open), 0)
		_, err = b.Finish(ctx, turn.ID, store.Done, store.Outcome{})
		b.noError(err)
		b.noSecretOnDisk()
	}},
	{"the end of a turn erases its secret answers, also after a restart", func(b *fixture) {
		turn, _ := b.answerSecret()
		b.reopen()
		_, err := b.Adopt(ctx)
		b.noError(err)
		_, err = b.Finish(ctx, turn.ID, store.Done, store.Outcome{})
		b.noError(err)
		b.noSecretOnDisk()
	}},
	{"the secret answers of a turn that is cancelled before it runs again are erased at once", func(b *fixture) {
		turn, _ := b.answerSecret()
		b.noError(b.Requeue(ctx, turn.ID, false))
		b.equal("the answer for the next attempt", *b.question("q").Answer, secretText)
		_, err := b.Cancel(ctx, ann, turn.ID)
		b.noError(err)
		b.noSecretOnDisk()
	}},
	{"the secret answers of a turn whose person loses access before it runs again are erased at once", func(b *fixture) {
		turn, _ := b.answerSecret()
		b.noError(b.Requeue(ctx, turn.ID, false))
		b.noError(b.Dismiss(ctx, store.Person{Channel: ann.Channel, User: turn.In.User.ID}))
		b.noSecretOnDisk()
	}},
	{"a secret that answers no open question is stored without its text", func(b *fixture) {
		in := incoming(ann, "1")
		in.Text = secretText
		r, err := b.Receive(ctx, store.ReceiveRequest{In: in, Secret: true, Claim: true, Reply: &store.Reply{Question: "none", Text: in.Text}})
		b.noError(err)
		b.equal("the result", r.Disposition, store.Settled)
		b.noSecretOnDisk()
	}},
	{"the parts of a secret are gone with its text", func(b *fixture) {
		in := partOf(ann, "g", "1")
		in.Text = secretText
		b.storeParts(in)
		whole := wholeMessage(ann, "g", "1")
		whole.Text = secretText
		_, err := b.Receive(ctx, store.ReceiveRequest{In: whole, Secret: true})
		b.noError(err)
		b.noSecretOnDisk()
	}},
	{"EraseText erases the text of a stored message", func(b *fixture) {
		in := incoming(ann, "1")
		in.Text = secretText
		inbound, _ := b.receive(store.ReceiveRequest{In: in, Claim: true})
		secrets, err := b.EraseText(ctx, inbound.ID)
		b.noError(err)
		b.equal("the messages to delete", len(secrets), 1)
		b.equal("the recorded messages", b.recordedTransients(), "[1]")
		b.noSecretOnDisk()
	}},
	{"a message that quotes an erased text is stored without the quoted text, and other quotes are stored", func(b *fixture) {
		for i, secret := range []bool{true, false} {
			in := incoming(ann, fmt.Sprint("asked", i))
			_, err := b.Receive(ctx, store.ReceiveRequest{In: in, Secret: secret, Settle: true})
			b.noError(err)
			reply := incoming(ann, fmt.Sprint("reply", i))
			reply.ReplyTo = &channels.Quote{ID: in.ID, Text: secretText}
			r, err := b.Receive(ctx, store.ReceiveRequest{In: reply})
			b.noError(err)
			b.equal("the quoted text", r.Inbound.In.ReplyTo.Text == "", secret)
			if secret {
				b.noSecretOnDisk()
			}
		}
	}},
}
