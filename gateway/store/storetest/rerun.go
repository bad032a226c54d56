package storetest

import (
	"bytes"
	"os"
	"path/filepath"

	"nanobot/channels"
	"nanobot/gateway/store"
)

var rerunTests = []test{
	{"what an earlier attempt sent at the same place is not sent again", func(b *bench) {
		inbound := b.running(ann, "1")
		say := func() { b.enqueue(store.Outbound{Inbound: inbound.ID, Sequence: 1, Parts: parts(ann, "a", "b")}) }
		say()
		b.equal("what is sent first", b.sendAll(ann), "[a b]")
		b.rerun(inbound.ID)
		say()
		b.equal("what is sent again", b.sendAll(ann), "[]")
	}},
	{"the part that was not sent yet is sent, once", func(b *bench) {
		inbound := b.running(ann, "1")
		say := func() store.Delivery {
			first, _ := b.enqueue(store.Outbound{Inbound: inbound.ID, Sequence: 1, Parts: parts(ann, "a", "b", "c"), Claim: true})
			return first
		}
		b.settle(say().ID, store.Sent)
		b.rerun(inbound.ID)
		say()
		say()
		b.equal("what is sent", b.sendAll(ann), "[b c]")
	}},
	{"a part in flight or of unknown outcome is not put a second time", func(b *bench) {
		inbound := b.running(ann, "1")
		l := store.Outbound{Inbound: inbound.ID, Sequence: 1, Parts: parts(ann, "a"), Claim: true}
		p, _ := b.enqueue(l)
		b.rerun(inbound.ID)
		b.enqueue(l)
		b.settle(p.ID, store.Unknown)
		b.rerun(inbound.ID)
		b.enqueue(l)
		b.equal("what is sent", b.sendAll(ann), "[]")
	}},
	{"a part that failed for good is tried again", func(b *bench) {
		inbound := b.running(ann, "1")
		l := store.Outbound{Inbound: inbound.ID, Sequence: 1, Parts: parts(ann, "a", "b")}
		b.enqueue(l)
		b.settle(b.next(ann).ID, store.Failed)
		b.rerun(inbound.ID)
		b.enqueue(l)
		b.equal("what is sent", b.sendAll(ann), "[b a]")
	}},
	{"other content at the same place is sent", func(b *bench) {
		inbound := b.running(ann, "1")
		b.enqueue(store.Outbound{Inbound: inbound.ID, Sequence: 1, Parts: parts(ann, "a")})
		b.rerun(inbound.ID)
		b.enqueue(store.Outbound{Inbound: inbound.ID, Sequence: 1, Parts: parts(ann, "A")})
		b.equal("what is sent", b.sendAll(ann), "[a A]")
	}},
	{"the same content at another place, of another inbound or at no place is sent", func(b *bench) {
		inbound, other := b.running(ann, "1"), b.running(bob, "2")
		for _, l := range []store.Outbound{
			{Inbound: inbound.ID, Sequence: 1},
			{Inbound: inbound.ID, Sequence: 2},
			{Inbound: other.ID, Sequence: 1},
			{Inbound: inbound.ID},
			{Inbound: inbound.ID},
		} {
			l.Parts = parts(ann, "a")
			b.enqueue(l)
		}
		b.equal("what is sent", b.sendAll(ann), "[a a a a a]")
	}},
	{"a rerun adds nothing to the transcript that is there", func(b *bench) {
		inbound := b.running(ann, "1")
		l := store.Outbound{Inbound: inbound.ID, Sequence: 1, Parts: parts(ann, "a"), Entry: &store.Entry{Role: "agent", Text: "a"}}
		b.enqueue(l)
		b.rerun(inbound.ID)
		b.enqueue(l)
		b.equal("the transcript", b.said(ann, 9), "[user: 1 agent: a]")
	}},
	{"what a turn asked is asked again when it is run again, unless it was answered and the turn cut off", func(b *bench) {
		for end, want := range map[store.State]string{store.Done: "[false false]", store.Interrupted: "[true false]", store.Running: "[true true]"} {
			chat := channels.Chat{Channel: "net", ID: string(end)}
			inbound := b.running(chat, "1")
			answered, open := "answered "+chat.ID, "open "+chat.ID
			for _, id := range []string{answered, open} {
				b.must(b.Ask(ctx, store.Question{ID: id, Inbound: inbound.ID, Chat: chat}, store.Outbound{}))
			}
			b.answer(answered, "yes", "7")
			if end != store.Running {
				b.must(b.finish(inbound.ID, end, store.Outcome{}))
			}
			b.rerun(inbound.ID)
			_, kept, err := b.Question(ctx, answered)
			b.must(err)
			q, stays, err := b.Question(ctx, open)
			b.must(err)
			b.equal(string(end), []bool{kept, stays && q.Answer == nil}, want)
			b.done(inbound.ID)
		}
	}},
	{"who restarts a done inbound hears all of it again", func(b *bench) {
		inbound := b.running(ann, "1")
		l := store.Outbound{Inbound: inbound.ID, Sequence: 1, Parts: parts(ann, "a")}
		b.enqueue(l)
		b.sendAll(ann)
		b.done(inbound.ID)
		b.rerun(inbound.ID)
		b.enqueue(l)
		b.equal("what is sent", b.sendAll(ann), "[a]")
	}},
	{"the same file at the same place is not sent again, another one is", func(b *bench) {
		inbound := b.running(ann, "1")
		say := func(content string) string {
			o := channels.Outgoing{Chat: ann, Text: content, Media: []channels.File{{Path: b.keep("x.png", content), Name: "x.png"}}}
			o.Form = []byte(`{"photo":"` + o.Media[0].Path + `"}`)
			o.Text = ""
			b.enqueue(store.Outbound{Inbound: inbound.ID, Sequence: 1, Parts: []channels.Outgoing{o}})
			return o.Media[0].Path
		}
		first := say("red")
		b.settle(b.next(ann).ID, store.Sent)
		b.rerun(inbound.ID)
		second := say("red")
		b.nothingToSend(ann)
		b.gone(first)
		b.gone(second)
		third := say("blue")
		p := b.next(ann)
		b.equal("the file", p.Out.Media[0].Path, third)
		b.holds(third, "blue")
	}},
	{"a file that still waits from an earlier attempt stays", func(b *bench) {
		inbound := b.running(ann, "1")
		say := func() string {
			path := b.keep("x.png", "red")
			b.enqueue(store.Outbound{Inbound: inbound.ID, Sequence: 1, Parts: []channels.Outgoing{{Chat: ann, Media: []channels.File{{Path: path}}}}})
			return path
		}
		first := say()
		b.rerun(inbound.ID)
		b.gone(say())
		b.equal("the file to send", b.next(ann).Out.Media[0].Path, first)
		b.holds(first, "red")
	}},
}

// rerun has an inbound message run again after a crash of the daemon, and claims it.
func (b *bench) rerun(id int64) {
	b.Helper()
	b.reopen()
	b.adopt()
	if b.inbound(id).State == store.Running {
		b.must(b.Requeue(ctx, id, false))
	} else {
		b.must(b.Restart(ctx, id))
	}
	b.equal("the claimed inbound", b.claim().ID, id)
}

// keep makes a file and puts a copy into the spool.
func (b *bench) keep(name, content string) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), name)
	b.must(os.WriteFile(path, []byte(content), 0o600))
	kept, err := SaveCopy(ctx, b, path, 0)
	b.must(err)
	return kept
}

// path is where the copy with a name is.
func (b *bench) path(name string) string {
	b.Helper()
	path, err := b.Fetch(ctx, name)
	b.must(err)
	if !filepath.IsAbs(path) {
		b.Fatalf("%s is fetched as %s, which is no absolute path", name, path)
	}
	return path
}

// holds fails unless the copy with a name holds some text.
func (b *bench) holds(name, want string) {
	b.Helper()
	path := b.path(name)
	got, err := os.ReadFile(path)
	b.must(err)
	if !bytes.Equal(got, []byte(want)) {
		b.Fatalf("%s holds %q, want %q", path, got, want)
	}
}

func (b *bench) gone(name string) {
	b.Helper()
	path := b.path(name)
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		b.Fatalf("%s is still there (%v)", path, err)
	}
}
