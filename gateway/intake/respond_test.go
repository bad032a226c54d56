package intake_test

import (
	"testing"

	"nanobot/gateway/press"
	"nanobot/gateway/store"
)

// pressInGroup presses a button in a group, and returns what only the person was shown.
func (fx *fixture) pressInGroup(user, data string) (shown []string) {
	fx.t.Helper()
	in := fx.messageInChat("ann", user, "", data)
	in.Group = true
	in.Respond = func(text string) { shown = append(shown, text) }
	fx.receive(in)
	in.Respond = nil // as after a restart
	in.ID += "-again"
	fx.receive(in)
	return shown
}

func TestARefusalAfterAPressIsForThePersonWhoHasPressedOnly(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.setApprovers(store.DefaultAgent, "net:ann")
		fx.writeMessage("ann", "hello")
		fx.askApproval("q")
		fx.checkEqual("an approval", fx.pressInGroup("bob", press.Answer("q", 1)), []string{onlyApprovers})
		fx.checkEqual("an old question", fx.pressInGroup("bob", press.Answer("none", 1)), []string{"This question is no longer open."})
		fx.checkEqual("a message that does not wait", fx.pressInGroup("bob", press.Cancel(99)), []string{"That message is no longer waiting."})
		fx.checkEqual("a message that was pruned", fx.pressInGroup("bob", press.Resend(99)),
			[]string{"That message has been sent again already, or is no longer stored."})
		fx.checkEqual("a stranger", fx.pressInGroup("eve", press.Answer("q", 1)),
			[]string{"You have no access to this bot. To ask for it, write to the bot in a private chat."})
		pairings, err := fx.store.Pairings(fx.t.Context())
		if err != nil || len(pairings) > 0 {
			fx.t.Errorf("pairings are %+v (%v)", pairings, err)
		}
		fx.settings.RatePerMinute = 1
		fx.pressInGroup("ann", press.Answer("none", 1))
		fx.checkEqual("too many", fx.pressInGroup("ann", press.Answer("none", 1)),
			[]string{"That is more than 1 messages a minute. Please wait a little."})
		fx.checkStored(chatOf("ann"))
	})
}

func TestARefusalInAPrivateChatIsAMessageWherePressesCannotBeAnswered(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		fx.pressButton("ann", press.Answer("none", 1), "This question is no longer open.")
		var shown []string
		in := fx.message("ann", "")
		in.Press, in.Respond = press.Answer("none", 1), func(text string) { shown = append(shown, text) }
		fx.receive(in)
		fx.checkEqual("shown", shown, []string{"This question is no longer open."})
		fx.checkStored(chatOf("ann"))
	})
}
