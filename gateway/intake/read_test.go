package intake_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/gateway/intake"
	"nanobot/gateway/store"
	"nanobot/internal/musttest"
	"nanobot/terminal"
)

// fakeReader reads messages while it is open, each once.
type fakeReader struct {
	closed bool
	err    error
	panics bool
	known  map[string]bool
	read   []string
}

func (r *fakeReader) ReadMessage(_ context.Context, m terminal.PersonMessage) (bool, error) {
	switch {
	case r.panics:
		panic("cannot read")
	case r.closed || r.err != nil:
		return false, r.err
	case m.ID != "" && r.known[m.ID]:
		return true, nil
	}
	if r.known == nil {
		r.known = map[string]bool{}
	}
	r.known[m.ID] = true
	r.read = append(r.read, fmt.Sprintf("%s %s %s %q %v", m.Chat, m.ID, m.User, m.Text, m.Media))
	return true, nil
}

// runIntakeWithReader is runIntake with a turn of ann's that reads messages.
func runIntakeWithReader(t *testing.T, test func(fx *fixture, reader *fakeReader)) {
	runIntake(t, func(fx *fixture) {
		reader := &fakeReader{}
		fx.lanes.reader = reader
		fx.writeMessage("ann", "work")
		test(fx, reader)
	})
}

func TestAMessageIsReadByTheTurnThatRunsAndSettled(t *testing.T) {
	runIntakeWithReader(t, func(fx *fixture, reader *fakeReader) {
		in := fx.message("ann", "the answer")
		in.Media = []string{"/somewhere/answer.md"}
		fx.receive(in)
		fx.receive(in) // delivered again
		fx.checkEqual("read", reader.read, []string{`net:ann 2 ann "the answer" [/somewhere/answer.md]`})
		fx.checkInbounds("ann", "work running", "the answer done")
		fx.checkEqual("records", fx.decisions(), []string{"answer text"})
		fx.checkEqual("the board is buried", fx.runningTurn("ann").boardMoves, 1)
	})
}

func TestTheMessageOfATurnIsNotOfferedToThatTurn(t *testing.T) {
	runIntakeWithReader(t, func(fx *fixture, reader *fakeReader) {
		fx.receive(fx.runningTurn("ann").inbound.In) // the network did not learn that it was received
		fx.checkEqual("read", reader.read, []string(nil))
		fx.checkInbounds("ann", "work running")
	})
}

func TestAMessageThatIsReadIsNeitherQueuedNorRejectedNorInjectedNorAnInterruption(t *testing.T) {
	for _, how := range []intake.WhileRunning{intake.Queue, intake.Reject, intake.Inject, intake.Interrupt} {
		t.Run(string(how), func(t *testing.T) {
			runIntakeWithReader(t, func(fx *fixture, reader *fakeReader) {
				fx.settings.WhileRunning = how
				fx.writeMessage("ann", "the answer")
				fx.checkEqual("read", len(reader.read), 1)
				fx.checkEqual("cancelled", len(fx.runningTurn("ann").cancelled), 0)
				fx.checkInbounds("ann", "work running", "the answer done")
			})
		})
	}
}

func TestAMessageThatIsNotReadIsTreatedAsAnyOther(t *testing.T) {
	runIntakeWithReader(t, func(fx *fixture, reader *fakeReader) {
		reader.closed = true
		fx.writeMessage("ann", "later")
		fx.settings.WhileRunning = intake.Interrupt
		fx.writeMessage("ann", "now")
		fx.checkEqual("cancelled", fx.runningTurn("ann").cancelled, []error{errInterrupted})
		fx.checkInbounds("ann", "work running", "later pending", "now pending")
	})
}

func TestCommandsButtonsAndAnswersAreNotOffered(t *testing.T) {
	runIntakeWithReader(t, func(fx *fixture, reader *fakeReader) {
		fx.writeMessage("ann", "/status", "Running for 0s: work")
		fx.pressButton("ann", "answer:q:1", "This question is no longer open.")
		fx.pressButton("ann", "whatever")
		fx.askQuestion("q")
		fx.receiveInBackground(fx.message("ann", "yes"))
		fx.checkEqual("answered", fx.answered, []string{"q: yes by ann"})
		fx.checkEqual("read", len(reader.read), 0)
	})
}

func TestACommandThatTheProtocolDoesNotAcceptIsOfferedAsText(t *testing.T) {
	runIntakeWithReader(t, func(fx *fixture, reader *fakeReader) {
		fx.runningTurn("ann").controller = &fakeController{commands: keysCommands, declines: map[string]bool{"key": true}}
		fx.writeToProtocol("ann", "/key Up")
		fx.writeToProtocol("ann", "/screen")
		fx.awaitAndCheck("ann")
		fx.checkEqual("read", reader.read, []string{`net:ann 2 ann "/key Up" []`})
	})
}

func TestAMessageForAnotherAgentIsNotOffered(t *testing.T) {
	runIntakeWithReader(t, func(fx *fixture, reader *fakeReader) {
		fx.settings.Agents["other"] = intake.Agent{Runner: &fakeAgents{}}
		fx.writeMessage("ann", "/agent other", "Your next message goes to other.")
		fx.writeMessage("ann", "for the other")
		fx.writeMessage("ann", "/agent default", "Your next message goes to default.")
		fx.writeMessage("ann", "the answer")
		fx.checkEqual("read", reader.read, []string{`net:ann 5 ann "the answer" []`})
		fx.checkInbounds("ann", "work running", "/agent other done", "for the other pending", "/agent default done", "the answer done")
	})
}

func TestTheQueueIsReadInOrderBeforeANewMessage(t *testing.T) {
	runIntakeWithReader(t, func(fx *fixture, reader *fakeReader) {
		reader.closed = true // the turn has not begun to read
		fx.writeMessage("ann", "one")
		fx.writeMessage("ann", "two")
		reader.closed = false
		fx.writeMessage("ann", "three")
		fx.checkEqual("read", reader.read, []string{`net:ann 2 ann "one" []`, `net:ann 3 ann "two" []`, `net:ann 4 ann "three" []`})
		fx.checkInbounds("ann", "work running", "one done", "two done", "three done")
		fx.checkEqual("records", fx.decisions(), []string{"answer text", "answer text", "answer text"})
		fx.writeMessage("ann", "/stop") // there is nothing that waits
	})
}

func TestATurnThatBeginsToWaitReadsTheQueue(t *testing.T) {
	runIntakeWithReader(t, func(fx *fixture, reader *fakeReader) {
		reader.closed = true
		fx.writeMessage("ann", "one")
		reader.closed = false
		for range 2 {
			musttest.Do(t, fx.OfferQueue(fx.t.Context(), chatOf("ann")))
		}
		fx.checkEqual("read", reader.read, []string{`net:ann 2 ann "one" []`})
		fx.checkInbounds("ann", "work running", "one done")
		fx.finishTurn("ann")
		if err := fx.OfferQueue(fx.t.Context(), chatOf("ann")); err != nil {
			t.Error(err)
		}
	})
}

func TestATurnThatWaitsForAPersonReadsNoAutomaticMessage(t *testing.T) {
	runIntakeWithReader(t, func(fx *fixture, reader *fakeReader) {
		in := channels.Incoming{Chat: chatOf("ann"), Origin: channels.ByHook("ci"), Text: "build failed"}
		musttest.Get(fx.ReceiveAutomatic(fx.t.Context(), store.ReceiveRequest{In: in}, ""))(t)
		musttest.Do(t, fx.OfferQueue(fx.t.Context(), chatOf("ann")))
		fx.writeMessage("ann", "yes")
		fx.checkEqual("read", reader.read, []string{`net:ann 2 ann "yes" []`})
		fx.checkInbounds("ann", "work running", "build failed pending", "yes done")
	})
}

func TestATurnThatBeginsToReadWhileAMessageIsStoredReadsIt(t *testing.T) {
	runIntakeWithReader(t, func(fx *fixture, reader *fakeReader) {
		reader.closed = true
		fx.lanes.onAccept = func() {
			reader.closed = false
			if err := fx.OfferQueue(fx.t.Context(), chatOf("ann")); err != nil { // there is nothing yet
				t.Error(err)
			}
		}
		fx.writeMessage("ann", "one") // nobody is told that it is queued
		fx.checkEqual("read", reader.read, []string{`net:ann 2 ann "one" []`})
		fx.checkInbounds("ann", "work running", "one done")
	})
}

func TestAMessageThatAlreadyHadATurnIsNotRead(t *testing.T) {
	runIntake(t, func(fx *fixture) {
		before := fx.writeMessage("ann", "before")
		fx.endTurn("ann", store.Interrupted)
		reader := &fakeReader{}
		fx.lanes.reader = reader
		fx.writeMessage("ann", "work")
		fx.pressButton("ann", fmt.Sprintf("again:%d", before.ID))
		fx.writeMessage("ann", "the answer")
		fx.checkEqual("read", len(reader.read), 1)
		fx.checkInbounds("ann", "before pending", "work running", fmt.Sprintf("again:%d done", before.ID), "the answer done")
	})
}

func TestAMessageThatCannotBeReadIsQueuedAndDoesNotBlockItsChannel(t *testing.T) {
	for name, breaks := range map[string]func(*fakeReader){
		"error": func(f *fakeReader) { f.err = errors.New("no space left on device") },
		"panic": func(f *fakeReader) { f.panics = true },
	} {
		t.Run(name, func(t *testing.T) {
			runIntakeWithReader(t, func(fx *fixture, reader *fakeReader) {
				fx.settings.WhileRunning = intake.Interrupt
				breaks(reader)
				fx.writeMessage("ann", "one")
				fx.checkEqual("cancelled", len(fx.runningTurn("ann").cancelled), 0)
				fx.checkEqual("it is offered again", fx.runningTurn("ann").offers, 1)
				fx.checkEqual("logged", fx.logs.FilterMessage("message not read by the running turn, queued instead").Len(), 1)
				if err := fx.OfferQueue(fx.t.Context(), chatOf("ann")); err == nil {
					t.Error("the queue was read")
				}
				*reader = fakeReader{}
				fx.writeMessage("ann", "two")
				fx.checkEqual("read", reader.read, []string{`net:ann 2 ann "one" []`, `net:ann 3 ann "two" []`})
			})
		})
	}
}

func TestAMessageThatWasReadAndNotStoredIsNotAcknowledged(t *testing.T) {
	runIntakeWithReader(t, func(fx *fixture, reader *fakeReader) {
		fx.disk.broken = true
		in := fx.message("ann", "the answer")
		if err := fx.Receive(fx.t.Context(), in); !errors.Is(err, errDiskFull) {
			t.Fatalf("the network was told %v", err)
		}
		fx.checkEqual("read", len(reader.read), 1)
		fx.disk.broken = false
		fx.receive(in) // the network delivers it again
		fx.checkEqual("read", reader.read, []string{`net:ann 2 ann "the answer" []`})
		fx.checkInbounds("ann", "work running", "the answer done")
		reader.closed = true
		fx.writeMessage("ann", "more")
		reader.closed, fx.disk.broken = false, true
		if err := fx.OfferQueue(fx.t.Context(), chatOf("ann")); !errors.Is(err, errDiskFull) {
			t.Errorf("the turn was told %v", err)
		}
		fx.disk.broken = false
		if err := fx.OfferQueue(fx.t.Context(), chatOf("ann")); err != nil {
			t.Error(err)
		}
		fx.checkEqual("read", len(reader.read), 2)
		fx.checkInbounds("ann", "work running", "the answer done", "more done")
	})
}

func TestStatusSaysThatATurnWaitsForThePerson(t *testing.T) {
	runIntakeWithReader(t, func(fx *fixture, _ *fakeReader) {
		time.Sleep(time.Hour)
		fx.runningTurn("ann").waitingSince = time.Now()
		time.Sleep(time.Minute)
		fx.writeMessage("ann", "/status", "Waiting for you for 1m0s: work")
	})
}

func TestAnAnswerThatComesTooLateForItsQuestionIsRead(t *testing.T) {
	runIntakeWithReader(t, func(fx *fixture, reader *fakeReader) {
		fx.askQuestion("q")
		fx.lanes.onAccept = func() {
			if _, err := fx.store.Withdraw(fx.t.Context(), "q"); err != nil {
				t.Error(err)
			}
		}
		fx.writeMessage("ann", "yes")
		fx.checkEqual("answered", len(fx.answered), 0)
		fx.checkEqual("read", reader.read, []string{`net:ann 2 ann "yes" []`})
		fx.checkInbounds("ann", "work running", "yes done")
	})
}
