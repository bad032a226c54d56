package discord_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/channels/discord"
	"nanobot/channels/discord/discordtest"
)

// restarted is another channel on the same server, as after a restart, with what the first has
// stored.
func (r *rig) restarted(change ...func(*discord.Options)) *rig {
	r.t.Helper()
	all := r.inbox.Messages()
	next := r.again(change...)
	if len(all) > 0 {
		next.Resume(all[len(all)-1].Cursor)
	}
	return next
}

// fresh are the messages that were not received by an earlier channel, as the store would see it.
func fresh(before, after []channels.Incoming) []channels.Incoming {
	return slices.DeleteFunc(slices.Clone(after), func(in channels.Incoming) bool {
		return slices.ContainsFunc(before, func(b channels.Incoming) bool { return b.Chat == in.Chat && b.ID == in.ID })
	})
}

// waitNew waits for n messages that an earlier channel has not received.
func (r *rig) waitNew(before *rig, n int) []channels.Incoming {
	r.t.Helper()
	old := before.inbox.Messages()
	got, ok := r.inbox.Await(func(all []channels.Incoming) bool { return len(fresh(old, all)) >= n })
	if !ok {
		r.t.Fatalf("%d new messages should be received and are %q\n%s", n, texts(fresh(old, got)), r.logged())
	}
	return fresh(old, got)
}

func all(o *discord.Options) { o.Groups = "all" }

// nobodyInAdvance is for tests of what is known without being told who may write.
func nobodyInAdvance(o *discord.Options) { o.People = nil }

func TestWhatWasSaidWhileWeWereAwayIsReceivedOnceInOrder(t *testing.T) {
	r := newRig(t, all, nobodyInAdvance)
	g := r.server.AddGuild("home")
	ch := r.server.AddChannel(g.ID, "general").ID
	quiet := r.server.AddChannel(g.ID, "quiet").ID
	thread := r.server.AddThread(ch, "a thread").ID
	stop := r.connected()
	chats := []string{r.dm, ch, thread}
	for _, c := range chats {
		r.server.UserSends(c, ada, "before")
	}
	r.wait(3)
	stop()
	want := map[string][]string{}
	for i := range 230 { // more than two pages
		for _, c := range chats {
			text := fmt.Sprintf("message %d", i)
			r.server.UserSends(c, ada, text)
			want[c] = append(want[c], text)
		}
	}
	late := r.server.AddThread(quiet, "a new thread").ID
	r.server.UserSends(late, ada, "in a thread that was made meanwhile")
	want[late] = []string{"in a thread that was made meanwhile"}
	next := r.restarted(all, nobodyInAdvance)
	next.run()
	got := map[string][]string{}
	for _, in := range next.waitNew(r, 3*230+1) {
		got[in.Chat.ID] = append(got[in.Chat.ID], in.Text)
	}
	for c, texts := range want {
		if !slices.Equal(got[c], texts) {
			t.Errorf("in %s were said %d messages, received %d: %.300q", c, len(texts), len(got[c]), got[c])
		}
	}
	for _, c := range next.server.Calls(discordtest.GetMessages) {
		if c.Args["channel_id"] == quiet {
			t.Error("a channel was looked through in which nothing was said")
		}
	}
}

// unlisted drops the events that list the threads of a server.
func unlisted(event string, _ json.RawMessage) int {
	if event == "GUILD_CREATE" || event == "THREAD_CREATE" {
		return 0
	}
	return 1
}

func TestAThreadThatWentToSleepIsLookedInto(t *testing.T) {
	r := newRig(t, all, nobodyInAdvance)
	g := r.server.AddGuild("home")
	thread := r.server.AddThread(r.server.AddChannel(g.ID, "general").ID, "a thread").ID
	stop := r.connected()
	r.server.UserSends(thread, ada, "before")
	r.wait(1)
	stop()
	r.server.UserSends(thread, ada, "meanwhile")
	r.server.SetEventCopies(unlisted)
	next := r.restarted(all, nobodyInAdvance)
	next.run()
	if got := next.waitNew(r, 1); got[0].Text != "meanwhile" || got[0].ThreadID != thread {
		t.Errorf("got %+v", got)
	}
}

// The gateway may forget a session at any time; what was said between two of them is found, and
// comes before what is said then.
func TestWhatWasSaidBetweenTwoSessionsIsReceivedOnceInOrder(t *testing.T) {
	r := newRig(t, all)
	g := r.server.AddGuild("home")
	ch := r.server.AddChannel(g.ID, "general").ID
	r.connected()
	r.server.UserSends(r.dm, ada, "0")
	r.server.UserSends(ch, ada, "0")
	r.wait(2)
	for i := range 10 {
		r.server.PlanHandshakes(discordtest.Handshake{RefuseStatus: 503})
		r.server.ExpireSessions()
		r.server.CutConnections()
		for _, c := range []string{r.dm, ch} {
			r.server.UserSends(c, ada, strconv.Itoa(3*i+1))
			r.server.UserSends(c, ada, strconv.Itoa(3*i+2))
		}
		r.sessions(i + 2)
		for _, c := range []string{r.dm, ch} {
			r.server.UserSends(c, ada, strconv.Itoa(3*i+3))
		}
	}
	got := map[string][]string{}
	for _, in := range r.wait(62) {
		got[in.Chat.ID] = append(got[in.Chat.ID], in.Text)
	}
	for _, c := range []string{r.dm, ch} {
		if len(got[c]) != 31 || !slices.IsSortedFunc(got[c], func(a, b string) int { return parseNumber(a) - parseNumber(b) }) {
			t.Errorf("in %s was received %q", c, got[c])
		}
	}
	if n := len(r.inbox.Messages()); n != 62 {
		t.Errorf("%d messages were received", n)
	}
}

func parseNumber(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// While the past of one chat is looked through, messages flow in others; the cursor that they carry
// must not pass it.
func TestTheCursorNeverPassesWhatWasNotReceived(t *testing.T) {
	r := newRig(t, all, nobodyInAdvance)
	stop := r.connected()
	other := r.server.DM(bob).ID
	r.server.UserSends(r.dm, ada, "before")
	r.server.UserSends(other, bob, "before")
	r.wait(2)
	stop()
	r.server.UserSends(r.dm, ada, "meanwhile")
	hang := make(chan struct{})
	defer close(hang)
	r.server.SetFault(func(c discordtest.Call) discordtest.Fault {
		if c.Route == discordtest.GetMessages && c.Args["channel_id"] == r.dm {
			return discordtest.Fault{HangUntil: hang}
		}
		return discordtest.Fault{}
	})
	second := r.restarted(all, nobodyInAdvance)
	stop = second.connected()
	r.server.AdvanceClock(time.Hour) // far beyond what the cursor stays behind anyway
	for i := range 5 {
		r.server.UserSends(other, bob, fmt.Sprint(i))
	}
	second.waitNew(r, 5)
	stop()
	r.server.SetFault(nil)
	third := second.restarted(all, nobodyInAdvance)
	third.run()
	for n := 1; ; n++ {
		if got := third.wait(n); got[n-1].Chat.ID == r.dm && got[n-1].Text == "meanwhile" {
			break
		}
	}
}

func TestTheCursorNeverPassesWhatWasNotTaken(t *testing.T) {
	r := newRig(t, all, nobodyInAdvance)
	refused := make(chan struct{}, 1000)
	r.inbox.Reject = func(in channels.Incoming) error {
		if in.Chat.ID == r.dm {
			refused <- struct{}{}
			return errors.New("not this one")
		}
		return nil
	}
	stop := r.connected()
	r.server.UserSends(r.dm, ada, "not taken")
	<-refused
	r.server.AdvanceClock(time.Hour)
	r.during(func() {})
	stop()
	next := r.restarted(all, nobodyInAdvance)
	next.run()
	if got := next.waitNew(r, 1); got[0].Text != "not taken" {
		t.Errorf("got %q", texts(got))
	}
}

// Discord may tell of a message later than of one that was said after it elsewhere, and we may die
// in between.
func TestAMessageThatWasNotToldInTimeIsFoundAfterARestart(t *testing.T) {
	r := newRig(t, all, nobodyInAdvance)
	g := r.server.AddGuild("home")
	ch := r.server.AddChannel(g.ID, "general").ID
	stop := r.connected()
	r.server.UserSends(r.dm, ada, "hello")
	r.wait(1)
	r.server.SetEventCopies(func(event string, data json.RawMessage) int {
		if event == "MESSAGE_CREATE" && strings.Contains(string(data), "told late") {
			return 0
		}
		return 1
	})
	r.server.AdvanceClock(time.Hour)
	r.server.UserSends(ch, ada, "told late")
	r.server.UserSends(r.dm, ada, "said after it")
	r.wait(2)
	stop()
	next := r.restarted(all, nobodyInAdvance)
	next.run()
	if got := next.waitNew(r, 1); got[0].Text != "told late" {
		t.Errorf("got %q", texts(got))
	}
}

// The first message ever may be lost by a crash, before there is any cursor.
func TestWithoutACursorWhatWasNotAnsweredIsReceived(t *testing.T) {
	r := newRig(t, all)
	g := r.server.AddGuild("home")
	ch := r.server.AddChannel(g.ID, "general").ID
	me := "<@" + r.server.Bot.ID + "> "
	r.server.UserSends(r.dm, ada, "answered before")
	r.tell(channels.Message{Text: "an answer"})
	r.server.UserSends(r.dm, ada, "not answered")
	r.server.UserSends(ch, ada, "just talk")
	r.server.UserSends(ch, ada, me+"not answered either")
	time.Sleep(2 * time.Millisecond) // ids tell only milliseconds apart
	r.run()
	got := texts(r.wait(2))
	slices.Sort(got)
	if !slices.Equal(got, []string{"not answered", "not answered either"}) {
		t.Errorf("got %q", got)
	}
	if got := r.settled(ch); len(got) != 2 {
		t.Errorf("got %q", texts(got))
	}
}

func TestWhatAStrangerSaidBeforeIsFoundWhenHeWritesAgain(t *testing.T) {
	r := newRig(t, nobodyInAdvance)
	r.server.UserSends(r.dm, ada, "does it hear me?")
	r.connected()
	r.server.UserSends(r.dm, ada, "hello?")
	if got := texts(r.wait(2)); !slices.Equal(got, []string{"does it hear me?", "hello?"}) {
		t.Errorf("got %q", got)
	}
}

func TestTheCursorOfAnotherBotDoesNoHarm(t *testing.T) {
	for _, cursor := range []string{"", "nonsense", "1", "18446744073709551615", "1 2 3 t4", "99999999999999999999999"} {
		t.Run(cursor, func(t *testing.T) {
			r := newRig(t)
			r.Resume(cursor)
			r.connected()
			r.server.UserSends(r.dm, ada, "hello")
			if got := r.wait(1)[0].Text; got != "hello" {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestAChannelThatIsClosedToUsIsAskedOnce(t *testing.T) {
	r := newRig(t, all)
	g := r.server.AddGuild("home")
	ch := r.server.AddChannel(g.ID, "secret").ID
	stop := r.connected()
	r.server.UserSends(ch, ada, "before")
	r.wait(1)
	stop()
	r.server.UserSends(ch, ada, "meanwhile")
	r.server.SetFault(func(c discordtest.Call) discordtest.Fault {
		if c.Args["channel_id"] == ch {
			return discordtest.ErrorResponse(403, 50001, "Missing Access")
		}
		return discordtest.Fault{}
	})
	next := r.restarted(all)
	next.run()
	for i := range 3 {
		r.sessions(i + 2)
		next.settled()
		r.server.ExpireSessions()
		r.server.CutConnections()
	}
	asked := 0
	for _, c := range r.server.Calls(discordtest.GetMessages) {
		if c.Args["channel_id"] == ch {
			asked++
		}
	}
	if asked != 1 {
		t.Errorf("it was asked %d times", asked)
	}
}

func TestTheListOfKnownChatsIsBoundedAndNotInTheCursor(t *testing.T) {
	r := newRig(t, nobodyInAdvance)
	r.connected()
	for i := range 600 {
		user := strconv.Itoa(5_000_000_000_000_000 + i)
		r.server.UserSends(r.server.DM(user).ID, user, "hello")
	}
	r.wait(600)
	last := r.server.UserSends(r.dm, ada, "last").ID
	r.received(last)
	for _, in := range r.inbox.Messages() {
		if n := len(strings.Fields(in.Cursor)); n > 2 { // the mark, and perhaps when we came
			t.Fatalf("the cursor holds %d words", n)
		}
	}
	if chats := strings.Fields(r.memory.values["chats"]); len(chats) != 500 || chats[0] != r.dm {
		t.Errorf("%d chats are known, first %s", len(chats), chats[0])
	}
}

// Cursors of earlier versions end with the list of the known chats.
func TestTheChatsInACursorOfAnEarlierVersionAreLookedThroughAndKept(t *testing.T) {
	r := newRig(t, all, nobodyInAdvance)
	g := r.server.AddGuild("home")
	ch := r.server.AddChannel(g.ID, "general").ID
	other := r.server.DM(bob).ID
	first := r.server.UserSends(other, bob, "before")
	r.server.UserSends(r.dm, ada, "meanwhile")
	r.memory.values["chats"] = other
	r.Resume(first.ID + " t77 " + r.dm)
	var lost []string
	r.inbox.Reject = func(in channels.Incoming) error {
		r.memory.Lock()
		defer r.memory.Unlock()
		if list := strings.Fields(r.memory.values["chats"]); !slices.Contains(list, r.dm) || !slices.Contains(list, other) {
			lost = append(lost, in.Text)
		}
		return nil
	}
	r.connected()
	r.server.UserSends(ch, ada, "now")
	r.settled(ch)
	if len(lost) > 0 {
		t.Errorf("when %q was received the list was not stored", lost)
	}
	if got := texts(r.inbox.Messages()); !slices.Contains(got, "meanwhile") {
		t.Errorf("got %q", got)
	}
}

func TestTheCursorIsKeptWhenOnlyOthersTalk(t *testing.T) {
	r := newRig(t)
	g := r.server.AddGuild("home")
	ch := r.server.AddChannel(g.ID, "general").ID
	kept := make(chan string, 1000)
	r.KeepCursor(func(_ context.Context, cursor string) error {
		kept <- cursor
		return nil
	})
	r.connected()
	r.server.UserSends(r.dm, ada, "hello")
	first := r.wait(1)[0]
	r.server.AdvanceClock(time.Hour)
	said := r.server.UserSends(ch, ada, "not to you")
	for {
		select {
		case cursor := <-kept:
			mark := parseNumber(strings.Fields(cursor)[0])
			if mark >= parseNumber(said.ID) {
				t.Errorf("the cursor %s passes message %s", cursor, said.ID)
			}
			if mark > parseNumber(first.ID) {
				return
			}
		case <-time.After(patience):
			t.Fatal("no cursor is kept")
		}
	}
}
