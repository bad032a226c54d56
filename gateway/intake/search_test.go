package intake_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/gateway/intake"
	"nanobot/gateway/store"
)

// say runs a turn with a message and an answer.
func (fx *fixture) say(user, text, answer string) {
	fx.t.Helper()
	in := fx.message(user, text)
	in.User.Name = "Ann_1"
	inbound := fx.receive(in)
	_, _, err := fx.store.Enqueue(fx.t.Context(), store.Outbound{
		Inbound: inbound.ID, Parts: []channels.Outgoing{{Chat: chatOf(user), Text: answer}}, Entry: &store.Entry{Role: "agent", Text: answer},
	})
	if err != nil {
		fx.t.Fatal(err)
	}
	fx.settleAll(chatOf(user))
	fx.finishTurn(user)
}

func TestSearchShowsWhenWhoAndWhatWithALink(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.settings.Timezone = "UTC"
		fx.say("ann", "where is the *invoice*?", "The invoice is in the folder.")
		fx.say("bob", "no invoice", "none")
		time.Sleep(time.Hour)
		fx.net.addresses = "https://net.example/"
		fx.say("ann", "an INVOICE\nof May", "nothing")
		link := func(id int, when string) string { return fmt.Sprintf("[%s](https://net.example/%d)", when, id) }
		const first, second = `2000\-01\-01 00\:00 UTC`, `2000\-01\-01 01\:00 UTC`
		fx.writeMessage("ann", "/search invoice", strings.Join([]string{
			link(3, second) + `, Ann\_1: an INVOICE of May`,
			"[" + first + `](https://net.example/sent1), bot: The invoice is in the folder\.`,
			link(1, first) + `, Ann\_1: where is the \*invoice\*?`,
		}, "\n"))
		fx.writeMessage("ann", "/search MAY inv", link(3, second)+`, Ann\_1: an INVOICE of May`)
		in := fx.message("ann", "/search Ordner")
		in.User.Language = "de"
		if err := fx.Receive(fx.t.Context(), in); err != nil {
			fx.t.Fatal(err)
		}
		if told := fx.checkStored(chatOf("ann"), "In keiner Nachricht dieses Chats stehen alle diese Wörter."); !told[0].Out.Private {
			fx.t.Errorf("everybody sees it: %+v", told)
		}
	})
}

func TestSearchNamesTheAgentWhereThereAreSeveral(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.settings.Timezone = "UTC"
		fx.settings.Agents["coder"] = intake.Agent{Runner: fx.agents}
		fx.say("ann", "hello", "found it")
		fx.writeMessage("ann", "/search it", `2000\-01\-01 00\:00 UTC, default: found it`)
	})
}

func TestSearchWithoutWordsSaysHowToUseIt(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.say("ann", "hello", "hi")
		const usage = "Send /search and some words to find the messages of this chat that have all of them, such as /search invoice may. Of the last word, the beginning is enough."
		for _, text := range []string{"/search", "/search  ", "/search 🎉", `/search "*' (`, "/search \u202e"} {
			fx.writeMessage("ann", text, usage)
		}
		for _, text := range []string{`"*' OR NEAR(`, strings.Repeat("missing ", 500), "hello\" OR \"hi", "🎉 \u202eolleh"} {
			fx.writeMessage("ann", "/search "+text, "No message of this chat has all these words.")
		}
	})
}

func TestSearchShowsTheNewestTenAndSaysSo(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.settings.Timezone = "UTC"
		for n := range 11 {
			fx.say("ann", fmt.Sprintf("word %d", n), "ok")
		}
		var want []string
		for n := 10; n > 0; n-- {
			want = append(want, fmt.Sprintf(`2000\-01\-01 00\:00 UTC, Ann\_1: word %d`, n))
		}
		fx.writeMessage("ann", "/search word", strings.Join(want, "\n")+"\nThese are the newest 10. More words find fewer messages.")
	})
}

func TestAnExcerptShowsTheFoundWord(t *testing.T) {
	for _, c := range []struct{ text, words, want string }{
		{"short", "short", "short"},
		{strings.Repeat("a ", 100) + "die Überraschung" + strings.Repeat(" z", 100), "uberr", "…" + strings.Repeat("a ", 18) + "die Überraschung" + strings.Repeat(" z", 49) + "…"},
		{strings.Repeat("needles ", 20) + "needle", "needle x", "…needles needles needles needles needles needle"},
		{"nothing of it " + strings.Repeat("x", 200), "other", "nothing of it " + strings.Repeat("x", 96) + "…"},
		{"a\u202eb\u2066c  d\n\ne", "abc", "abc d e"},
		{"cafe\u0301 au lait", "CAFÉ", "café au lait"},
		{"", "x", ""},
	} {
		if got := intake.ExcerptAround(c.text, store.SearchWords(c.words, store.MaxSearchWords)); got != c.want {
			t.Errorf("%.40q: got %q, want %q", c.text, got, c.want)
		}
	}
}
