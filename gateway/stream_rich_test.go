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
	fx := newFixture(t, deltaScript("one")+waitForFileScript("shown")+deltaScript(" two")+`echo '{"type":"progress","text":"counting"}'; `+waitForFileScript("edited")+
		deltaScript(" three")+`echo '{"type":"message","text":"One, two, three."}'; `+deltaScript("More")).start()
	fx.net.UserWrites("1", "u", "write")
	transient := fx.awaitText("1", "one")
	if !transient.Silent || transient.Kind != "message" {
		t.Errorf("the first that is shown is %+v", transient)
	}
	fx.touchFile("shown")
	if got := fx.awaitText("1", "one two"); got.ID != transient.ID {
		t.Errorf("it became %+v", got)
	}
	fx.touchFile("edited")
	fx.awaitText("1", "More")
	fx.stop()
	all := fx.net.Sent("1")
	if strings.Join(texts(all), "|") != "One, two, three.|More" || all[0].ID != transient.ID || fx.net.Replaced() != 1 {
		t.Errorf("%d replacements; shown is %+v", fx.net.Replaced(), all)
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
			fx := newFixture(t, deltaScript("half a")+waitForFileScript("shown")+c.end).start()
			fx.net.UserWrites("1", "u", "write")
			fx.awaitText("1", "half a")
			fx.touchFile("shown")
			if c.person != "" {
				fx.net.UserWrites("1", "u", c.person)
			}
			fx.expect("1", strings.Split(c.want, "|")...)
			fx.stop()
			fx.expect("1", strings.Split(c.want, "|")...)
		})
	}
}

func TestADaemonThatDiesWhileAnAnswerIsStreamedLeavesNoHalfAnswerTwice(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, `if [ ! -e again ]; then `+deltaScript("half a")+`sleep 600; fi; `+deltaScript("a whole")+deltaScript(" answer"))
	fx.settings.OnCrash = "retry"
	fx.settings.DrainTimeout = 0
	fx.start()
	fx.net.UserWrites("1", "u", "write")
	fx.awaitText("1", "half a")
	fx.awaitTrue("the record of what is shown", func() bool { // a shutdown during the call leaves it without
		shown, err := fx.store.Transients(t.Context())
		return err == nil && len(shown) == 1
	})
	fx.stop()
	fx.touchFile("again")
	fx.start()
	if calls, ok := fx.net.Await("1", testTimeout, func(c []gatewaytest.Call) bool { return strings.Join(texts(c), "|") == "a whole answer" }); !ok {
		t.Errorf("shown is %q", texts(calls))
	}
}

func TestTelegramShowsDeltasAsADraftAndNotifiesOnce(t *testing.T) {
	t.Parallel()
	fx, api := newTelegramFixtureWith(t, deltaScript("slow")+waitForFileScript("shown")+deltaScript(" and **steady**"), func(*telegram.Options) {})
	fx.protocol = rich.Protocol{}
	fx.start()
	api.UserSends(7, "write")
	fx.awaitTrue("the draft", func() bool { d, _ := api.Draft(7); return d.Text == "slow" })
	fx.touchFile("shown")
	last := awaitTelegramText(t, api, 7, "slow and steady")
	fx.stop()
	if shown := api.BotMessages(7); len(shown) != 1 || last.Silent || len(last.Entities) != 1 {
		t.Errorf("shown is %+v", shown)
	}
}
