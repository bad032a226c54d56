package storetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

// eve is a person with a private chat, who also writes in the group. Everything of her has the word
// marker in it, which nothing else has.
var (
	eve     = store.Person{Channel: "net", User: "5"}
	eveChat = channels.Chat{Channel: "net", ID: "eve"}
	eveData = store.PersonData{Person: eve, Chats: []channels.Chat{eveChat}}
	eveUser = channels.User{ID: "5", Name: "marker"}
)

// fillEve stores something of eve in every table, and returns what the others have in theirs.
func (b *fixture) fillEve() {
	b.Helper()
	b.turnWith(eveUser, eveChat, "1")
	b.turnWith(eveUser, group, "2")
	b.turnWith(channels.User{ID: "7"}, group, "3")
	quoting := messageOf("7", group, "4")
	quoting.In.ReplyTo = &channels.Quote{ID: "2", Text: "marker", Media: []string{"/marker"}, User: &eveUser}
	quoted, _ := b.receive(quoting)
	quoting = messageOf("7", group, "5")
	quoting.In.ReplyTo = &channels.Quote{ID: "receipt 2", Text: "you said marker", User: &channels.User{ID: "bot"}}
	b.receive(quoting)
	b.equal("the quoting message", b.inbound(quoted.ID).In.ReplyTo.Text, "marker")
	for _, chat := range []channels.Chat{eveChat, group, ann} {
		b.noError(b.Remember(ctx, chat, "agent", "memory of "+chat.ID+ownMarker(chat)))
	}
	b.noError(b.Remember(ctx, group, "heard:coder", "marker"))
	for user, chat := range map[string]channels.Chat{"5": eveChat, "7": ann} {
		in := incoming(chat, "half")
		in.User, in.Text, in.Part = channels.User{ID: user}, "half"+ownMarker(chat), &channels.Part{Group: "album"}
		b.noError(b.StorePart(ctx, in))
		_, _, err := b.Admit(ctx, store.Person{Channel: "net", User: user}, 0)
		b.noError(err)
		_, err = b.SaveSchedule(ctx, store.Schedule{Name: "of " + user, Chat: group, Maker: user, Spec: `{"text":"x` + ownMarker(chat) + `"}`, Made: b.now()}, 0)
		b.noError(err)
		b.noError(b.Account(ctx, "of "+user, b.now(), []store.Occurrence{{Schedule: "of " + user, Due: b.now(), Outcome: store.Skipped, Reason: "r" + ownMarker(chat)}}))
		b.noError(b.SaveRecords(ctx, map[string]string{"role/net:" + user: "user"}))
	}
}

func ownMarker(chat channels.Chat) string {
	if chat == eveChat {
		return "marker"
	}
	return ""
}

// turnWith receives a message, runs its turn with everything that a turn stores, and ends it.
func (b *fixture) turnWith(user channels.User, chat channels.Chat, id string) {
	b.Helper()
	said := "said"
	if user.ID == "5" {
		said = "marker"
	}
	request := messageOf(user.ID, chat, id)
	request.In.User, request.In.Text, request.In.Group, request.Claim = user, said, chat == group, true
	inbound, _ := b.receive(request)
	_, err := b.AdmitTurn(ctx, inbound.ID, []store.Quota{
		{Rule: "turns/user", Per: "user", Subject: "net:" + user.ID, Unit: store.QuotaTurns, Limit: 100},
	}, nil)
	b.noError(err)
	question := "q" + id
	b.noError(b.Ask(ctx, store.Question{Question: terminal.Question{ID: question, Text: said}, Inbound: inbound.ID, Chat: chat},
		store.Outbound{Inbound: inbound.ID, Sequence: 1, Parts: outgoingTexts(chat, said)}))
	by, text := "5", "marker" // in the group, eve answers the questions of others
	if chat == ann {
		by, text = "7", "said"
	}
	answer := messageOf(by, chat, "answer to "+id)
	answer.In.Text, answer.In.Group, answer.Settle = text, chat == group, true
	answer.Reply = &store.Reply{Question: question, Text: text, By: by}
	b.receive(answer)
	path := filepath.Join(b.dir, said+".txt")
	b.noError(os.WriteFile(path, []byte(said), 0o600))
	file, err := os.Open(path)
	b.noError(err)
	name, err := b.SaveCopy(ctx, file, 0)
	b.noError(err)
	b.noError(file.Close())
	b.noError(os.Remove(path))
	parts := outgoingTexts(chat, "you said "+said)
	parts[0].Media = []channels.File{{Path: name, Name: said + ".txt"}}
	b.enqueue(store.Outbound{Inbound: inbound.ID, Sequence: 2, Parts: parts, Entry: &store.Entry{Text: said}})
	for {
		delivery, found, err := b.NextDelivery(ctx, chat, 0)
		b.noError(err)
		if !found {
			break
		}
		// Failed ones keep their copies, so that they can be sent again.
		_, err = b.Settle(ctx, delivery.ID, store.Settlement{State: store.Failed, Reason: "no", Receipt: "receipt " + id, Resendable: true})
		b.noError(err)
	}
	b.noError(b.tryFinish(inbound.ID, store.Done, store.Outcome{
		Trace: said, Fold: &store.Fold{Summary: said, Details: said},
		Usage: &store.TurnUsage{Models: []store.ModelUsage{{Model: "m", InputTokens: 1, Cost: 0.5}}},
	}))
}

// stored returns what is stored of a person, and how many rows there are by name.
func (b *fixture) stored(d store.PersonData) (text, counts string) {
	b.Helper()
	all, err := b.ReadPerson(ctx, d)
	b.noError(err)
	encoded, err := json.Marshal(all)
	b.noError(err)
	var names []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if len(all[name]) > 0 {
			names = append(names, fmt.Sprint(name, " ", len(all[name])))
		}
	}
	return string(encoded), strings.Join(names, ", ")
}

// filesWith returns the files of the store that contain a text, or have it in their names.
func (b *fixture) filesWith(text string) (found []string) {
	b.Helper()
	b.noError(filepath.WalkDir(b.dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte(text)) || strings.Contains(entry.Name(), text) {
			at := max(bytes.Index(content, []byte(text)), 0)
			found = append(found, fmt.Sprintf("%s: %q", path, content[max(at-200, 0):min(at+100, len(content))]))
		}
		return err
	}))
	return found
}

var personData7 = store.PersonData{Person: store.Person{Channel: "net", User: "7"}, Chats: []channels.Chat{ann}}

const ofEve = "answered_questions 3, answers 4, details 2, memories 1, messages 5, occurrences 1, pairing 1, parts 1, " +
	"questions 2, quotas 1, role 1, schedules 1, traces 2, transcripts 2, usage 2"

var peopleTests = []contractTest{
	{"everything that is stored of a person is read", func(b *fixture) {
		b.fillEve()
		text, counts := b.stored(eveData)
		b.equal("the rows", counts, ofEve)
		if strings.Contains(text, "you said said") || strings.Contains(text, "memory of group") {
			b.Fatalf("there is something of others in %s", text)
		}
		for _, want := range []string{`"text":"marker"`, `{"chat":{"channel":"net","id":"eve"}`, `memory of evemarker`} {
			if !strings.Contains(text, want) {
				b.Fatalf("%s is not in %s", want, text)
			}
		}
		chats, err := b.PrivateChats(ctx, eve)
		b.noError(err)
		b.equal("the private chats", chats, []channels.Chat{eveChat})
	}},
	{"nothing is left of a person who was forgotten, and others lose nothing but their quotes", func(b *fixture) {
		b.fillEve()
		b.turnWith(channels.User{ID: "7"}, ann, "6")
		before, counts := b.stored(personData7)
		if found := b.filesWith("marker"); len(found) == 0 && b.onFiles() {
			b.Fatal("nothing was stored")
		}
		removed, err := b.ForgetPerson(ctx, eveData)
		b.noError(err)
		var names []string
		for _, name := range slices.Sorted(maps.Keys(removed)) {
			names = append(names, fmt.Sprint(name, " ", removed[name]))
		}
		b.equal("what was removed", strings.Join(names, ", "), strings.Replace(ofEve, "answered_questions 3", "answered_questions 1", 1))
		b.noError(b.EraseRemoved(ctx))
		if found := b.filesWith("marker"); len(found) > 0 {
			b.Fatalf("%v have something of the person", found)
		}
		_, left := b.stored(eveData)
		b.equal("what is left", left, "")
		again, err := b.ForgetPerson(ctx, eveData)
		b.noError(err)
		b.equal("what is removed again", again, "map[]")
		after, countsAfter := b.stored(personData7)
		b.equal("the rows of the other", countsAfter, counts)
		b.equal("what the other has", withoutOthers(after), withoutOthers(before))
		b.equal("usage by user", b.usage(store.UsageByUser), " 2 0s 2 0 1, net:7 2 0s 2 0 1")
		b.equal("usage by chat", b.usage(store.UsageByChat), " 1 0s 1 0 0.5, net:ann 1 0s 1 0 0.5, net:group 2 0s 2 0 1")
	}},
	{"later messages of a person who is being forgotten stay", func(b *fixture) {
		b.turnWith(eveUser, eveChat, "1")
		waits, _ := b.receive(messageOf("5", eveChat, "waits"))
		b.dismiss("5")
		later, _ := b.receive(messageOf("5", eveChat, "later"))
		_, err := b.ForgetPerson(ctx, eveData)
		b.noError(err)
		_, found, err := b.Inbound(ctx, waits.ID)
		b.noError(err)
		b.equal("the waiting message is there", found, false)
		b.equal("claimed", b.claimOne().ID, later.ID)
	}},
	{"a group, and a chat in which somebody else has written, is nobody's private chat", func(b *fixture) {
		b.receive(messageOf("5", eveChat, "1"))
		in := messageOf("5", group, "2")
		in.In.Group = true
		b.receive(in)
		b.receive(messageOf("5", bob, "3"))
		b.receive(messageOf("8", bob, "4"))
		b.receive(messageOf("5", channels.Chat{Channel: "network", ID: "eve"}, "5"))
		chats, err := b.PrivateChats(ctx, eve)
		b.noError(err)
		b.equal("the private chats", chats, []channels.Chat{eveChat})
	}},
}

// onFiles reports whether the engine has its rows in files of the folder.
func (b *fixture) onFiles() bool {
	_, err := os.Stat(filepath.Join(b.dir, "nanobot.db"))
	return err == nil
}

// withoutOthers removes what is also that of others from what is stored of a person: quotes,
// answers and the cache of what was heard in files.
func withoutOthers(stored string) string {
	var all map[string][]map[string]any
	_ = json.Unmarshal([]byte(stored), &all)
	delete(all, "heard")
	for _, message := range all["messages"] {
		if incoming, ok := message["incoming"].(map[string]any); ok {
			delete(incoming, "reply_to")
		}
	}
	for _, question := range all["questions"] {
		delete(question, "answer")
		delete(question, "answered_by")
	}
	return fmt.Sprint(all)
}
