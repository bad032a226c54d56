package gateway_test

import (
	"strings"
	"testing"

	"nanobot/channels/telegram"
	"nanobot/gateway/gatewaytest"
	"nanobot/terminal/rich"
)

// deltaScript is a shell script that prints a delta.
func deltaScript(text string) string {
	return `echo '{"type":"delta","text":"` + text + `"}'; `
}

func TestTheDeltasOfARichAgentAreOneMessageThatIsShownWhileItIsWritten(t *testing.T) {
	t.Parallel()
	r := newFixture(t, deltaScript("one")+waitForFileScript("shown")+deltaScript(" two")+`echo '{"type":"progress","text":"counting"}'; `+waitForFileScript("edited")+
		deltaScript(" three")+`echo '{"type":"message","text":"One, two, three."}'; `+deltaScript("More")).start()
	r.net.UserWrites("1", "u", "write")
	transient := r.awaitText("1", "one")
	if !transient.Silent || transient.Kind != "message" {
		t.Errorf("the first that is shown is %+v", transient)
	}
	r.touchFile("shown")
	if got := r.awaitText("1", "one two"); got.ID != transient.ID {
		t.Errorf("it became %+v", got)
	}
	r.touchFile("edited")
	r.awaitText("1", "More")
	r.stop()
	all := r.net.Sent("1")
	if strings.Join(texts(all), "|") != "One, two, three.|More" || all[0].ID != transient.ID || r.net.Replaced() != 1 {
		t.Errorf("%d replacements; shown is %+v", r.net.Replaced(), all)
	}
}

func TestWhatARichAgentHasWrittenStays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ end, person, want string }{
		"when it is killed":  {end: "kill -9 $$", want: "half a|Killed by SIGKILL"},
		"when it is stopped": {end: "sleep 600", person: "/stop", want: "half a|Stopped."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newFixture(t, deltaScript("half a")+waitForFileScript("shown")+c.end).start()
			r.net.UserWrites("1", "u", "write")
			r.awaitText("1", "half a")
			r.touchFile("shown")
			if c.person != "" {
				r.net.UserWrites("1", "u", c.person)
			}
			r.expect("1", strings.Split(c.want, "|")...)
			r.stop()
			r.expect("1", strings.Split(c.want, "|")...)
		})
	}
}

func TestADaemonThatDiesWhileAnAnswerIsStreamedLeavesNoHalfAnswerTwice(t *testing.T) {
	t.Parallel()
	r := newFixture(t, `if [ ! -e again ]; then `+deltaScript("half a")+`sleep 600; fi; `+deltaScript("a whole")+deltaScript(" answer"))
	r.settings.OnCrash = "retry"
	r.settings.DrainTimeout = 0
	r.start()
	r.net.UserWrites("1", "u", "write")
	r.awaitText("1", "half a")
	r.stop()
	r.touchFile("again")
	r.start()
	if calls, ok := r.net.Await("1", testTimeout, func(c []gatewaytest.Call) bool { return strings.Join(texts(c), "|") == "a whole answer" }); !ok {
		t.Errorf("shown is %q", texts(calls))
	}
}

func TestTelegramShowsDeltasAsADraftAndNotifiesOnce(t *testing.T) {
	t.Parallel()
	r, api := newTelegramFixtureWith(t, deltaScript("slow")+waitForFileScript("shown")+deltaScript(" and **steady**"), func(*telegram.Options) {})
	r.protocol = rich.Protocol{}
	r.start()
	api.UserSends(7, "write")
	r.awaitTrue("the draft", func() bool { d, _ := api.Draft(7); return d.Text == "slow" })
	r.touchFile("shown")
	last := awaitTelegramText(t, api, 7, "slow and steady")
	r.stop()
	if shown := api.BotMessages(7); len(shown) != 1 || last.Silent || len(last.Entities) != 1 {
		t.Errorf("shown is %+v", shown)
	}
}
