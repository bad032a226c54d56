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
	"nanobot/internal/wanttest"
)

// restart returns another channel on the same server, as after a restart, with the cursor of the
// first.
func (r *testChannel) restart(change ...func(*discord.Options)) *testChannel {
	r.t.Helper()
	all := r.Recorder.Messages()
	next := r.restartWithoutCursor(change...)
	if len(all) > 0 {
		next.Resume(all[len(all)-1].Cursor)
	}
	return next
}

// newMessages returns the messages that an earlier channel has not received, as the store sees it.
func newMessages(before, after []channels.Incoming) []channels.Incoming {
	return slices.DeleteFunc(slices.Clone(after), func(in channels.Incoming) bool {
		return slices.ContainsFunc(before, func(b channels.Incoming) bool { return b.Chat == in.Chat && b.ID == in.ID })
	})
}

// waitForNewMessages waits for n messages that an earlier channel has not received.
func (r *testChannel) waitForNewMessages(before *testChannel, n int) []channels.Incoming {
	r.t.Helper()
	old := before.Recorder.Messages()
	got, ok := r.Recorder.Await(func(all []channels.Incoming) bool { return len(newMessages(old, all)) >= n })
	if !ok {
		r.t.Fatalf("%d new messages should be received and are %q\n%s", n, textsOf(newMessages(old, got)), r.LogText())
	}
	return newMessages(old, got)
}

func allGroups(o *discord.Options) { o.Groups = "all" }

// noKnownPeople is for tests in which the channel does not know who may write.
func noKnownPeople(o *discord.Options) { o.People = nil }

func TestMessagesSentDuringADowntimeAreReceivedOnceInOrder(t *testing.T) {
	r := newTestChannel(t, allGroups, noKnownPeople)
	g := r.server.AddGuild("home")
	ch := r.server.AddChannel(g.ID, "general").ID
	quiet := r.server.AddChannel(g.ID, "quiet").ID
	thread := r.server.AddThread(ch, "a thread").ID
	stop := r.startConnected()
	chats := []string{r.dm, ch, thread}
	for _, c := range chats {
		r.server.UserSends(c, ada, "before")
	}
	r.WaitForMessages(3)
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
	next := r.restart(allGroups, noKnownPeople)
	next.start()
	got := map[string][]string{}
	for _, in := range next.waitForNewMessages(r, 3*230+1) {
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

// dropThreadEvents drops the events that list the threads of a guild.
func dropThreadEvents(event string, _ json.RawMessage) int {
	if event == "GUILD_CREATE" || event == "THREAD_CREATE" {
		return 0
	}
	return 1
}

func TestAnArchivedThreadIsSearched(t *testing.T) {
	r := newTestChannel(t, allGroups, noKnownPeople)
	g := r.server.AddGuild("home")
	thread := r.server.AddThread(r.server.AddChannel(g.ID, "general").ID, "a thread").ID
	stop := r.startConnected()
	r.server.UserSends(thread, ada, "before")
	r.WaitForMessages(1)
	stop()
	r.server.UserSends(thread, ada, "meanwhile")
	r.server.SetEventCopies(dropThreadEvents)
	next := r.restart(allGroups, noKnownPeople)
	next.start()
	if got := next.waitForNewMessages(r, 1); got[0].Text != "meanwhile" || got[0].ThreadID != thread {
		t.Errorf("got %+v", got)
	}
}

// The gateway may forget a session at any time; what was said between two of them is found, and
// comes before what is said then.
func TestMessagesBetweenTwoSessionsAreReceivedOnceInOrder(t *testing.T) {
	t.Parallel()
	r := newTestChannel(t, allGroups)
	g := r.server.AddGuild("home")
	ch := r.server.AddChannel(g.ID, "general").ID
	r.startConnected()
	r.server.UserSends(r.dm, ada, "0")
	r.server.UserSends(ch, ada, "0")
	r.WaitForMessages(2)
	for i := range 10 {
		r.server.QueueHandshakeFaults(discordtest.HandshakeFault{RefuseStatus: 503})
		r.server.ExpireSessions()
		r.server.CutConnections()
		for _, c := range []string{r.dm, ch} {
			r.server.UserSends(c, ada, strconv.Itoa(3*i+1))
			r.server.UserSends(c, ada, strconv.Itoa(3*i+2))
		}
		r.waitForSessions(i + 2)
		for _, c := range []string{r.dm, ch} {
			r.server.UserSends(c, ada, strconv.Itoa(3*i+3))
		}
	}
	got := map[string][]string{}
	for _, in := range r.WaitForMessages(62) {
		got[in.Chat.ID] = append(got[in.Chat.ID], in.Text)
	}
	for _, c := range []string{r.dm, ch} {
		if len(got[c]) != 31 || !slices.IsSortedFunc(got[c], func(a, b string) int { return parseNumber(a) - parseNumber(b) }) {
			t.Errorf("in %s was received %q", c, got[c])
		}
	}
	wanttest.Equal(t, "messages were received:", len(r.Recorder.Messages()), 62)
}

func parseNumber(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// While the past of one chat is looked through, messages flow in others; the cursor that they carry
// must not pass it.
func TestTheCursorNeverSkipsAMessageThatIsNotYetRead(t *testing.T) {
	r := newTestChannel(t, allGroups, noKnownPeople)
	stop := r.startConnected()
	other := r.server.DM(bob).ID
	r.server.UserSends(r.dm, ada, "before")
	r.server.UserSends(other, bob, "before")
	r.WaitForMessages(2)
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
	second := r.restart(allGroups, noKnownPeople)
	stop = second.startConnected()
	r.server.AdvanceClock(time.Hour) // far beyond what the cursor stays behind anyway
	for i := range 5 {
		r.server.UserSends(other, bob, fmt.Sprint(i))
	}
	second.waitForNewMessages(r, 5)
	stop()
	r.server.SetFault(nil)
	third := second.restart(allGroups, noKnownPeople)
	third.start()
	for n := 1; ; n++ {
		if got := third.WaitForMessages(n); got[n-1].Chat.ID == r.dm && got[n-1].Text == "meanwhile" {
			break
		}
	}
}

func TestTheCursorNeverSkipsARefusedMessage(t *testing.T) {
	r := newTestChannel(t, allGroups, noKnownPeople)
	refused := make(chan struct{}, 1000)
	r.Recorder.Reject = func(in channels.Incoming) error {
		if in.Chat.ID == r.dm {
			refused <- struct{}{}
			return errors.New("not this one")
		}
		return nil
	}
	stop := r.startConnected()
	r.server.UserSends(r.dm, ada, "not taken")
	<-refused
	r.server.AdvanceClock(time.Hour)
	r.handleDuringSearch(func() {})
	stop()
	next := r.restart(allGroups, noKnownPeople)
	next.start()
	if got := next.waitForNewMessages(r, 1); got[0].Text != "not taken" {
		t.Errorf("got %q", textsOf(got))
	}
}

// Discord may tell of a message later than of one that was said after it elsewhere, and we may die
// in between.
func TestAMessageWhoseEventIsLateIsFoundAfterARestart(t *testing.T) {
	r := newTestChannel(t, allGroups, noKnownPeople)
	g := r.server.AddGuild("home")
	ch := r.server.AddChannel(g.ID, "general").ID
	stop := r.startConnected()
	r.server.UserSends(r.dm, ada, "hello")
	r.WaitForMessages(1)
	r.server.SetEventCopies(func(event string, data json.RawMessage) int {
		if event == "MESSAGE_CREATE" && strings.Contains(string(data), "told late") {
			return 0
		}
		return 1
	})
	r.server.AdvanceClock(time.Hour)
	r.server.UserSends(ch, ada, "told late")
	r.server.UserSends(r.dm, ada, "said after it")
	r.WaitForMessages(2)
	stop()
	next := r.restart(allGroups, noKnownPeople)
	next.start()
	if got := next.waitForNewMessages(r, 1); got[0].Text != "told late" {
		t.Errorf("got %q", textsOf(got))
	}
}

// The first message ever may be lost by a crash, before there is any cursor.
func TestWithoutACursorUnansweredMessagesAreReceived(t *testing.T) {
	r := newTestChannel(t, allGroups)
	g := r.server.AddGuild("home")
	ch := r.server.AddChannel(g.ID, "general").ID
	me := "<@" + r.server.Bot.ID + "> "
	r.server.UserSends(r.dm, ada, "answered before")
	r.SendAnswer(channels.Message{Text: "an answer"})
	r.server.UserSends(r.dm, ada, "not answered")
	r.server.UserSends(ch, ada, "just talk")
	r.server.UserSends(ch, ada, me+"not answered either")
	time.Sleep(2 * time.Millisecond) // IDs have a resolution of a millisecond
	r.start()
	got := textsOf(r.WaitForMessages(2))
	slices.Sort(got)
	wanttest.EqualSlices(t, "got", got, []string{"not answered", "not answered either"})
	if got := r.receivedSoFar(ch); len(got) != 2 {
		t.Errorf("got %q", textsOf(got))
	}
}

func TestEarlierMessagesOfAStrangerAreFoundWhenTheyWriteAgain(t *testing.T) {
	r := newTestChannel(t, noKnownPeople)
	r.server.UserSends(r.dm, ada, "does it hear me?")
	r.startConnected()
	r.server.UserSends(r.dm, ada, "hello?")
	wanttest.EqualSlices(t, "got", textsOf(r.WaitForMessages(2)), []string{"does it hear me?", "hello?"})
}

func TestTheCursorOfAnotherBotDoesNoHarm(t *testing.T) {
	for _, cursor := range []string{"", "nonsense", "1", "18446744073709551615", "1 2 3 t4", "99999999999999999999999"} {
		t.Run(cursor, func(t *testing.T) {
			r := newTestChannel(t)
			r.Resume(cursor)
			r.startConnected()
			r.server.UserSends(r.dm, ada, "hello")
			wanttest.Equal(t, "got", r.WaitForMessages(1)[0].Text, "hello")
		})
	}
}

func TestAChannelThatIsClosedToUsIsAskedOnce(t *testing.T) {
	r := newTestChannel(t, allGroups)
	g := r.server.AddGuild("home")
	ch := r.server.AddChannel(g.ID, "secret").ID
	stop := r.startConnected()
	r.server.UserSends(ch, ada, "before")
	r.WaitForMessages(1)
	stop()
	r.server.UserSends(ch, ada, "meanwhile")
	r.server.SetFault(func(c discordtest.Call) discordtest.Fault {
		if c.Args["channel_id"] == ch {
			return discordtest.ErrorResponse(403, 50001, "Missing Access")
		}
		return discordtest.Fault{}
	})
	next := r.restart(allGroups)
	next.start()
	for i := range 3 {
		r.waitForSessions(i + 2)
		next.receivedSoFar()
		r.server.ExpireSessions()
		r.server.CutConnections()
	}
	asked := 0
	for _, c := range r.server.Calls(discordtest.GetMessages) {
		if c.Args["channel_id"] == ch {
			asked++
		}
	}
	wanttest.Equal(t, "it was asked … times:", asked, 1)
}

func TestTheListOfKnownChatsIsBoundedAndNotInTheCursor(t *testing.T) {
	t.Parallel()
	r := newTestChannel(t, noKnownPeople)
	r.startConnected()
	for i := range 600 {
		user := strconv.Itoa(5_000_000_000_000_000 + i)
		r.server.UserSends(r.server.DM(user).ID, user, "hello")
	}
	r.WaitForMessages(600)
	last := r.server.UserSends(r.dm, ada, "last").ID
	r.waitForMessage(last)
	for _, in := range r.Recorder.Messages() {
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
	r := newTestChannel(t, allGroups, noKnownPeople)
	g := r.server.AddGuild("home")
	ch := r.server.AddChannel(g.ID, "general").ID
	other := r.server.DM(bob).ID
	first := r.server.UserSends(other, bob, "before")
	r.server.UserSends(r.dm, ada, "meanwhile")
	r.memory.values["chats"] = other
	r.Resume(first.ID + " t77 " + r.dm)
	var lost []string
	r.Recorder.Reject = func(in channels.Incoming) error {
		r.memory.Lock()
		defer r.memory.Unlock()
		if list := strings.Fields(r.memory.values["chats"]); !slices.Contains(list, r.dm) || !slices.Contains(list, other) {
			lost = append(lost, in.Text)
		}
		return nil
	}
	r.startConnected()
	r.server.UserSends(ch, ada, "now")
	r.receivedSoFar(ch)
	if len(lost) > 0 {
		t.Errorf("when %q was received the list was not stored", lost)
	}
	if got := textsOf(r.Recorder.Messages()); !slices.Contains(got, "meanwhile") {
		t.Errorf("got %q", got)
	}
}

func TestTheCursorIsKeptWhenOnlyOthersTalk(t *testing.T) {
	r := newTestChannel(t)
	g := r.server.AddGuild("home")
	ch := r.server.AddChannel(g.ID, "general").ID
	kept := make(chan string, 1000)
	r.KeepCursor(func(_ context.Context, cursor string) error {
		kept <- cursor
		return nil
	})
	r.startConnected()
	r.server.UserSends(r.dm, ada, "hello")
	first := r.WaitForMessages(1)[0]
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
		case <-time.After(waitLimit):
			t.Fatal("no cursor is kept")
		}
	}
}
