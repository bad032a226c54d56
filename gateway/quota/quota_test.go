package quota_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/config"
	"nanobot/gateway/quota"
	"nanobot/gateway/route"
	"nanobot/gateway/store"
	"nanobot/internal/wanttest"
	"nanobot/internal/words"
)

func TestAMessageCountsForThePeopleChatsAndAgentsOfItsQuotas(t *testing.T) {
	rules := []config.Quota{
		{Per: "user", Turns: 5}, {Per: "chat", Seconds: 60, Match: config.Match{Kind: config.Values{"group"}}}, {Per: "agent", Cost: 0.5},
	}
	chat := channels.Chat{Channel: "net", ID: "c"}
	for _, test := range []struct {
		facts route.Facts
		want  string
	}{
		{route.Facts{Chat: chat, User: "7", Group: true, Origin: channels.Person}, "turns net:7 5, seconds net:c 60, cost coder 0.5"},
		{route.Facts{Chat: chat, User: "7", Origin: channels.Person}, "turns net:7 5, cost coder 0.5"},
		{route.Facts{Chat: chat, User: "7", Group: true, Origin: channels.BySchedule("x")}, "seconds net:c 60, cost coder 0.5"},
		{route.Facts{Chat: chat, Group: true, Origin: channels.Person}, "seconds net:c 60, cost coder 0.5"},
	} {
		var got []string
		for _, q := range quota.Of(rules, test.facts, "coder") {
			got = append(got, fmt.Sprint(q.Unit, " ", q.Subject, " ", q.Limit))
		}
		wanttest.Equal(t, fmt.Sprint(test.facts), strings.Join(got, ", "), test.want)
	}
}

func TestAQuotaKeepsItsCountWhenItsLimitChanges(t *testing.T) {
	q := config.Quota{Per: "user", Turns: 5, Match: config.Match{User: config.Values{"7"}}}
	more, other, cost := q, q, config.Quota{Per: "user", Cost: 5, Match: q.Match}
	more.Turns, other.Match = 6, config.Match{User: config.Values{"8"}}
	if q.Rule() != more.Rule() || q.Rule() == other.Rule() || q.Rule() == cost.Rule() {
		t.Error(q.Rule(), more.Rule(), other.Rule(), cost.Rule())
	}
}

func TestTheNoticeNamesWhatIsUsedAndWhenItRenews(t *testing.T) {
	all := []store.Quota{
		{Per: "user", Unit: store.QuotaTurns, Limit: 1},
		{Per: "chat", Unit: store.QuotaSeconds, Limit: 3600},
		{Per: "agent", Subject: "coder", Unit: store.QuotaCost, Limit: 2.5},
	}
	near := store.Admission{Admitted: true, Tell: []store.UsedQuota{{Quota: 0, Used: 1}, {Quota: 1, Used: 2900}, {Quota: 2, Used: 2}}}
	spent := store.Admission{Tell: []store.UsedQuota{{Quota: 2, Used: 3}}}
	renews := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for language, want := range map[string]string{
		"en": "Used today: 1 of 1 turn per person. The limit renews at 00:00 (UTC).\n" +
			"Used today: 48 min of 1 h per chat. The limit renews at 00:00 (UTC).\n" +
			"Used today: $2.00 of $2.50 for the agent coder. The limit renews at 00:00 (UTC).\n" +
			"This message gets no answer: the limit of $2.50 a day for the agent coder is used up. It renews at 00:00 (UTC).",
		"de": "Heute verbraucht: 1 von 1 Durchgang pro Person. Das Limit erneuert sich um 00:00 (UTC).\n" +
			"Heute verbraucht: 48 min von 1 h pro Chat. Das Limit erneuert sich um 00:00 (UTC).\n" +
			"Heute verbraucht: $2.00 von $2.50 für den Agenten coder. Das Limit erneuert sich um 00:00 (UTC).\n" +
			"Diese Nachricht bekommt keine Antwort: Das Limit von $2.50 am Tag für den Agenten coder ist aufgebraucht. Ab 00:00 (UTC) geht es weiter.",
	} {
		w := words.New(words.Settings{}).For(language)
		wanttest.Equal(t, language, quota.Notice(w, all, near, renews)+"\n"+quota.Notice(w, all, spent, renews), want)
	}
	wanttest.Equal(t, "nothing to tell", quota.Notice(words.Words{}, all, store.Admission{Admitted: true}, renews), "")
}
