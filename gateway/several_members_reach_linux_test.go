package gateway_test

import (
	"slices"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/gateway/gatewaytest"
	"nanobot/gateway/store"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// asks is an agent that asks a question, and repeats the answer.
const asks = `read -r line; echo '{"type":"ask","id":"q","text":"Which?","options":["red","blue"]}'; read -r answer
	case $answer in *blue*) echo '{"type":"message","text":"it is blue"}';; esac`

func TestAnswersReachTheMemberThatAsks(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(*sharedBot, gatewaytest.Call){
		"typed":   func(b *sharedBot, _ gatewaytest.Call) { b.write("1", "blue") },
		"pressed": func(b *sharedBot, q gatewaytest.Call) { b.net.UserPresses("1", "u", q.Buttons[1]) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newSharedBot(t, asks)
			_, worker := b.startPair()
			b.write("1", "ask")
			question := b.await("1", "Which?")
			worker.awaitTrue("the question is delivered", func() bool {
				open := musttest.Get(worker.store.OpenQuestions(t.Context(), worker.turn("1").In.Chat))(t)
				return len(open) == 1 && open[0].Receipt != ""
			})
			answer(b, question)
			b.await("1", "it is blue")
			wanttest.Equal(t, "the turn", worker.awaitEnd("1").State, store.Done)
		})
	}
}

func TestStopReachesTheMemberThatRunsTheTurn(t *testing.T) {
	t.Parallel()
	b := newSharedBot(t, stays)
	leader, worker := b.startPair()
	b.write("1", "work")
	b.await("1", "begun")
	b.write("1", "later")
	b.await("1", "Queued.")
	b.write("1", "/stop all")
	b.await("1", "1 waiting message dropped.")
	b.await("1", "Stopped.")
	worker.awaitTrue("the end of the agent", func() bool { return worker.gw.Activity()[store.DefaultAgent].Turns == 0 })
	wanttest.Equal(t, "messages that wait", musttest.Get(leader.store.CountPending(t.Context(), worker.turn("1").In.Chat))(t), 0)
}

func TestWhatAPersonWritesReachesTheTurnOfAnotherMember(t *testing.T) {
	t.Parallel()
	b := newSharedACPBot(t, "-queueing")
	b.settings.WhileRunning = "inject"
	_, worker := b.startPair()
	b.write("1", "say one\nsteer\nsay , two")
	worker.awaitTrue("the agent", func() bool { return len(worker.gw.Activity()[store.DefaultAgent].PIDs) == 1 })
	b.await("1", "one") // on the board
	b.write("1", "say three")
	wanttest.EqualSlices(t, "the answers", b.awaitAnswers("1", 2), []string{"one, two", "three"})
}

func TestANewMessageInterruptsTheTurnOfAnotherMember(t *testing.T) {
	t.Parallel()
	b := newSharedBot(t, `read -r line; echo '{"type":"message","text":"begun"}'; case $line in *wait*) sleep 600;; esac`)
	b.settings.WhileRunning = "interrupt"
	b.startPair()
	b.write("1", "wait")
	b.await("1", "begun")
	b.write("1", "other")
	b.awaitTrue("the second turn", func() bool {
		return len(slices.DeleteFunc(b.net.Sent("1"), func(c gatewaytest.Call) bool { return c.Text != "begun" })) == 2
	})
}

func TestAMessageIsRejectedWhileAnotherMemberRunsTheTurn(t *testing.T) {
	t.Parallel()
	b := newSharedBot(t, stays)
	b.settings.WhileRunning = "reject"
	b.startPair()
	b.write("1", "work")
	b.await("1", "begun")
	b.write("1", "more")
	b.await("1", "I am still working on your last message.")
}

func TestNewReachesTheMemberThatKeepsTheAgent(t *testing.T) {
	t.Parallel()
	b := newSharedACPBot(t, "")
	_, worker := b.startPair()
	for n, want := range []string{"prompts so far: 1", "prompts so far: 2"} {
		b.write("1", "history")
		wanttest.Equal(t, "the answer", b.awaitAnswers("1", n+1)[n], want)
		worker.awaitEnd("1")
	}
	b.write("1", "/new")
	b.await("1", "This is a new conversation.")
	b.write("1", "history")
	wanttest.Equal(t, "the answer in the new conversation", b.awaitAnswers("1", 4)[3], "prompts so far: 1")
}

// admit gives the person access by pairing, instead of by the settings.
func (b *sharedBot) admit(m *member) (person store.Person) {
	b.t.Helper()
	person = store.Person{Channel: "net", User: "u"}
	_, _, err := m.store.Admit(b.t.Context(), person, time.Minute)
	musttest.Do(b.t, err)
	return person
}

func TestRevokedAccessEndsTheTurnOfAnotherMember(t *testing.T) {
	t.Parallel()
	b := newSharedBot(t, stays)
	b.settings.AllowFrom = map[string][]string{"net": {"boss"}}
	leader, worker := b.startPair()
	person := b.admit(leader)
	b.write("1", "work")
	b.await("1", "begun")
	musttest.Get(leader.store.Revoke(t.Context(), person, true))(t)
	wanttest.Equal(t, "how the turn ended", worker.awaitEnd("1").Outcome.Status, store.Revoked)
}

func TestRevokedAccessEndsTheIdleAgentOfAnotherMember(t *testing.T) {
	t.Parallel()
	b := newSharedACPBot(t, "")
	b.settings.AllowFrom = map[string][]string{"net": {"boss"}}
	leader, worker := b.startPair()
	person := b.admit(leader)
	b.write("1", "history")
	b.await("1", "prompts so far: 1")
	worker.awaitEnd("1")
	worker.awaitTrue("the idle agent", func() bool { return len(worker.runners[0].IdleAgents()) == 1 })
	musttest.Get(leader.store.Revoke(t.Context(), person, true))(t)
	worker.awaitTrue("its end", func() bool { return len(worker.runners[0].IdleAgents()) == 0 })
}

func TestAnEditReachesTheMemberThatRunsTheTurn(t *testing.T) {
	t.Parallel()
	b := newSharedBot(t, stays)
	leader, _ := b.startPair()
	b.write("1", "work")
	b.await("1", "begun")
	running := leader.turn("1")
	edit := running.In
	edit.Text, edit.Change = "work harder", channels.Edited
	musttest.Do(t, leader.gw.ReceiveMessage(t.Context(), edit))
	offer := b.await("1", "You edited this after I had started on it.")
	wanttest.Equal(t, "buttons", len(offer.Buttons), 1)
}

func TestStopReachesTheMemberThatKeepsBackgroundCommands(t *testing.T) {
	t.Parallel()
	b := newSharedACPBot(t, "-resume")
	_, worker := b.startPair()
	fx := &fixture{t: t, net: b.net, dir: b.dir}
	fx.store = worker.store
	pid := fx.leaveCommand()
	b.write("1", "/status")
	b.await("1", "Still running: `echo $$")
	b.write("1", "/stop")
	b.await("1", "1 command stopped.")
	wanttest.Equal(t, "the command lives", isAlive(pid), false)
}
