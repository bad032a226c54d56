package intake_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"nanobot/gateway/intake"
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
func runIntakeWithReader(t *testing.T, test func(r *fixture, reader *fakeReader)) {
	runIntake(t, func(r *fixture) {
		reader := &fakeReader{}
		r.lanes.reader = reader
		r.writeMessage("ann", "work")
		test(r, reader)
	})
}

func TestAMessageIsReadByTheTurnThatRunsAndSettled(t *testing.T) {
	runIntakeWithReader(t, func(r *fixture, reader *fakeReader) {
		in := r.message("ann", "the answer")
		in.Media = []string{"/somewhere/answer.md"}
		r.receive(in)
		r.receive(in) // delivered again
		r.checkEqual("read", reader.read, []string{`net:ann 2 ann "the answer" [/somewhere/answer.md]`})
		r.checkInbounds("ann", "work running", "the answer done")
		r.checkEqual("records", r.decisions(), []string{"answer text"})
		r.checkEqual("the board is buried", r.runningTurn("ann").boardMoves, 1)
	})
}

func TestTheMessageOfATurnIsNotOfferedToThatTurn(t *testing.T) {
	runIntakeWithReader(t, func(r *fixture, reader *fakeReader) {
		r.receive(r.runningTurn("ann").inbound.In) // the network did not learn that it was received
		r.checkEqual("read", reader.read, []string(nil))
		r.checkInbounds("ann", "work running")
	})
}

func TestAMessageThatIsReadIsNeitherQueuedNorRejectedNorInjectedNorAnInterruption(t *testing.T) {
	for _, how := range []intake.WhileRunning{intake.Queue, intake.Reject, intake.Inject, intake.Interrupt} {
		t.Run(string(how), func(t *testing.T) {
			runIntakeWithReader(t, func(r *fixture, reader *fakeReader) {
				r.settings.WhileRunning = how
				r.writeMessage("ann", "the answer")
				r.checkEqual("read", len(reader.read), 1)
				r.checkEqual("cancelled", len(r.runningTurn("ann").cancelled), 0)
				r.checkInbounds("ann", "work running", "the answer done")
			})
		})
	}
}

func TestAMessageThatIsNotReadIsTreatedAsAnyOther(t *testing.T) {
	runIntakeWithReader(t, func(r *fixture, reader *fakeReader) {
		reader.closed = true
		r.writeMessage("ann", "later")
		r.settings.WhileRunning = intake.Interrupt
		r.writeMessage("ann", "now")
		r.checkEqual("cancelled", r.runningTurn("ann").cancelled, []error{errInterrupted})
		r.checkInbounds("ann", "work running", "later pending", "now pending")
	})
}

func TestCommandsButtonsAndAnswersAreNotOffered(t *testing.T) {
	runIntakeWithReader(t, func(r *fixture, reader *fakeReader) {
		r.writeMessage("ann", "/status", "Running for 0s: work")
		r.pressButton("ann", "answer:q:1", "This question is no longer open.")
		r.pressButton("ann", "whatever")
		r.askQuestion("q")
		r.receiveInBackground(r.message("ann", "yes"))
		r.checkEqual("answered", r.answered, []string{"q: yes by ann"})
		r.checkEqual("read", len(reader.read), 0)
	})
}

func TestACommandThatTheProtocolDoesNotAcceptIsOfferedAsText(t *testing.T) {
	runIntakeWithReader(t, func(r *fixture, reader *fakeReader) {
		r.runningTurn("ann").controller = &fakeController{commands: keysCommands, declines: map[string]bool{"key": true}}
		r.writeToProtocol("ann", "/key Up")
		r.writeToProtocol("ann", "/screen")
		r.awaitAndCheck("ann")
		r.checkEqual("read", reader.read, []string{`net:ann 2 ann "/key Up" []`})
	})
}

func TestAMessageForAnotherAgentIsNotOffered(t *testing.T) {
	runIntakeWithReader(t, func(r *fixture, reader *fakeReader) {
		r.settings.Agents["other"] = intake.Agent{Runner: &fakeAgents{}}
		r.writeMessage("ann", "/agent other", "Your next message goes to other.")
		r.writeMessage("ann", "for the other")
		r.writeMessage("ann", "/agent default", "Your next message goes to default.")
		r.writeMessage("ann", "the answer")
		r.checkEqual("read", reader.read, []string{`net:ann 5 ann "the answer" []`})
		r.checkInbounds("ann", "work running", "/agent other done", "for the other pending", "/agent default done", "the answer done")
	})
}

func TestTheQueueIsReadInOrderBeforeANewMessage(t *testing.T) {
	runIntakeWithReader(t, func(r *fixture, reader *fakeReader) {
		reader.closed = true // the turn has not begun to read
		r.writeMessage("ann", "one")
		r.writeMessage("ann", "two")
		reader.closed = false
		r.writeMessage("ann", "three")
		r.checkEqual("read", reader.read, []string{`net:ann 2 ann "one" []`, `net:ann 3 ann "two" []`, `net:ann 4 ann "three" []`})
		r.checkInbounds("ann", "work running", "one done", "two done", "three done")
		r.checkEqual("records", r.decisions(), []string{"answer text", "answer text", "answer text"})
		r.writeMessage("ann", "/stop") // there is nothing that waits
	})
}

func TestATurnThatBeginsToWaitReadsTheQueue(t *testing.T) {
	runIntakeWithReader(t, func(r *fixture, reader *fakeReader) {
		reader.closed = true
		r.writeMessage("ann", "one")
		reader.closed = false
		for range 2 {
			if err := r.OfferQueue(r.t.Context(), chatOf("ann")); err != nil {
				t.Fatal(err)
			}
		}
		r.checkEqual("read", reader.read, []string{`net:ann 2 ann "one" []`})
		r.checkInbounds("ann", "work running", "one done")
		r.finishTurn("ann")
		if err := r.OfferQueue(r.t.Context(), chatOf("ann")); err != nil {
			t.Error(err)
		}
	})
}

func TestATurnThatBeginsToReadWhileAMessageIsStoredReadsIt(t *testing.T) {
	runIntakeWithReader(t, func(r *fixture, reader *fakeReader) {
		reader.closed = true
		r.lanes.onAccept = func() {
			reader.closed = false
			if err := r.OfferQueue(r.t.Context(), chatOf("ann")); err != nil { // there is nothing yet
				t.Error(err)
			}
		}
		r.writeMessage("ann", "one") // nobody is told that it is queued
		r.checkEqual("read", reader.read, []string{`net:ann 2 ann "one" []`})
		r.checkInbounds("ann", "work running", "one done")
	})
}

func TestAMessageThatAlreadyHadATurnIsNotRead(t *testing.T) {
	runIntake(t, func(r *fixture) {
		before := r.writeMessage("ann", "before")
		r.finishTurn("ann")
		reader := &fakeReader{}
		r.lanes.reader = reader
		r.writeMessage("ann", "work")
		r.pressButton("ann", fmt.Sprintf("again:%d", before.ID))
		r.writeMessage("ann", "the answer")
		r.checkEqual("read", len(reader.read), 1)
		r.checkInbounds("ann", "before pending", "work running", fmt.Sprintf("again:%d done", before.ID), "the answer done")
	})
}

func TestAMessageThatCannotBeReadIsQueuedAndDoesNotBlockItsChannel(t *testing.T) {
	for name, breaks := range map[string]func(*fakeReader){
		"error": func(f *fakeReader) { f.err = errors.New("no space left on device") },
		"panic": func(f *fakeReader) { f.panics = true },
	} {
		t.Run(name, func(t *testing.T) {
			runIntakeWithReader(t, func(r *fixture, reader *fakeReader) {
				r.settings.WhileRunning = intake.Interrupt
				breaks(reader)
				r.writeMessage("ann", "one")
				r.checkEqual("cancelled", len(r.runningTurn("ann").cancelled), 0)
				r.checkEqual("it is offered again", r.runningTurn("ann").offers, 1)
				r.checkEqual("logged", r.logs.FilterMessage("message not read by the running turn, queued instead").Len(), 1)
				if err := r.OfferQueue(r.t.Context(), chatOf("ann")); err == nil {
					t.Error("the queue was read")
				}
				*reader = fakeReader{}
				r.writeMessage("ann", "two")
				r.checkEqual("read", reader.read, []string{`net:ann 2 ann "one" []`, `net:ann 3 ann "two" []`})
			})
		})
	}
}

func TestAMessageThatWasReadAndNotStoredIsNotAcknowledged(t *testing.T) {
	runIntakeWithReader(t, func(r *fixture, reader *fakeReader) {
		r.disk.broken = true
		in := r.message("ann", "the answer")
		if err := r.Receive(r.t.Context(), in); !errors.Is(err, errDiskFull) {
			t.Fatalf("the network was told %v", err)
		}
		r.checkEqual("read", len(reader.read), 1)
		r.disk.broken = false
		r.receive(in) // the network delivers it again
		r.checkEqual("read", reader.read, []string{`net:ann 2 ann "the answer" []`})
		r.checkInbounds("ann", "work running", "the answer done")
		reader.closed = true
		r.writeMessage("ann", "more")
		reader.closed, r.disk.broken = false, true
		if err := r.OfferQueue(r.t.Context(), chatOf("ann")); !errors.Is(err, errDiskFull) {
			t.Errorf("the turn was told %v", err)
		}
		r.disk.broken = false
		if err := r.OfferQueue(r.t.Context(), chatOf("ann")); err != nil {
			t.Error(err)
		}
		r.checkEqual("read", len(reader.read), 2)
		r.checkInbounds("ann", "work running", "the answer done", "more done")
	})
}

func TestStatusSaysThatATurnWaitsForThePerson(t *testing.T) {
	runIntakeWithReader(t, func(r *fixture, _ *fakeReader) {
		time.Sleep(time.Hour)
		r.runningTurn("ann").waitingSince = time.Now()
		time.Sleep(time.Minute)
		r.writeMessage("ann", "/status", "Waiting for you for 1m0s: work")
	})
}

func TestAnAnswerThatComesTooLateForItsQuestionIsRead(t *testing.T) {
	runIntakeWithReader(t, func(r *fixture, reader *fakeReader) {
		r.askQuestion("q")
		r.lanes.onAccept = func() {
			if _, err := r.store.Withdraw(r.t.Context(), "q"); err != nil {
				t.Error(err)
			}
		}
		r.writeMessage("ann", "yes")
		r.checkEqual("answered", len(r.answered), 0)
		r.checkEqual("read", reader.read, []string{`net:ann 2 ann "yes" []`})
		r.checkInbounds("ann", "work running", "yes done")
	})
}
