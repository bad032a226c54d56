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

// simulateReader is simulate with a turn of ann's that reads messages.
func simulateReader(t *testing.T, test func(r *rig, reader *fakeReader)) {
	simulate(t, func(r *rig) {
		reader := &fakeReader{}
		r.lanes.reader = reader
		r.say("ann", "work")
		test(r, reader)
	})
}

func TestAMessageIsReadByTheTurnThatRunsAndSettled(t *testing.T) {
	simulateReader(t, func(r *rig, reader *fakeReader) {
		in := r.message("ann", "the answer")
		in.Media = []string{"/somewhere/answer.md"}
		r.receive(in)
		r.receive(in) // delivered again
		r.same("read", reader.read, []string{`net:ann 2 ann "the answer" [/somewhere/answer.md]`})
		r.has("ann", "work running", "the answer done")
		r.same("records", r.decisions(), []string{"answer text"})
		r.same("the board is buried", r.running("ann").buried, 1)
	})
}

func TestTheMessageOfATurnIsNotOfferedToThatTurn(t *testing.T) {
	simulateReader(t, func(r *rig, reader *fakeReader) {
		r.receive(r.running("ann").inbound.In) // the network did not learn that it was received
		r.same("read", reader.read, []string(nil))
		r.has("ann", "work running")
	})
}

func TestAMessageThatIsReadIsNeitherQueuedNorRejectedNorInjectedNorAnInterruption(t *testing.T) {
	for _, how := range []intake.WhileRunning{intake.Queue, intake.Reject, intake.Inject, intake.Interrupt} {
		t.Run(string(how), func(t *testing.T) {
			simulateReader(t, func(r *rig, reader *fakeReader) {
				r.settings.WhileRunning = how
				r.say("ann", "the answer")
				r.same("read", len(reader.read), 1)
				r.same("cancelled", len(r.running("ann").cancelled), 0)
				r.has("ann", "work running", "the answer done")
			})
		})
	}
}

func TestAMessageThatIsNotReadIsTreatedAsAnyOther(t *testing.T) {
	simulateReader(t, func(r *rig, reader *fakeReader) {
		reader.closed = true
		r.say("ann", "later", "Queued, number 1 in line.")
		r.settings.WhileRunning = intake.Interrupt
		r.say("ann", "now")
		r.same("cancelled", r.running("ann").cancelled, []error{errInterrupted})
		r.has("ann", "work running", "later pending", "now pending")
	})
}

func TestCommandsButtonsAndAnswersAreNotOffered(t *testing.T) {
	simulateReader(t, func(r *rig, reader *fakeReader) {
		r.say("ann", "/status", "Running for 0s: work")
		r.press("ann", "answer:q:1", "This question is no longer open.")
		r.press("ann", "whatever")
		r.ask("q")
		r.hand(r.message("ann", "yes"))
		r.same("answered", r.answered, []string{"q: yes by ann"})
		r.same("read", len(reader.read), 0)
	})
}

func TestACommandThatTheProtocolDoesNotAcceptIsOfferedAsText(t *testing.T) {
	simulateReader(t, func(r *rig, reader *fakeReader) {
		r.running("ann").controller = &fakeController{commands: keysCommands, declines: map[string]bool{"key": true}}
		r.write("ann", "/key Up")
		r.write("ann", "/screen")
		r.settled("ann")
		r.same("read", reader.read, []string{`net:ann 2 ann "/key Up" []`})
	})
}

func TestAMessageForAnotherAgentIsNotOffered(t *testing.T) {
	simulateReader(t, func(r *rig, reader *fakeReader) {
		r.settings.Agents["other"] = intake.Agent{Runner: &fakeAgents{}}
		r.say("ann", "/agent other", "The agent other answers from your next message on.")
		r.say("ann", "for the other", "Queued, number 1 in line.")
		r.say("ann", "/agent default", "The agent default answers from your next message on.")
		r.say("ann", "the answer")
		r.same("read", reader.read, []string{`net:ann 5 ann "the answer" []`})
		r.has("ann", "work running", "/agent other done", "for the other pending", "/agent default done", "the answer done")
	})
}

func TestTheQueueIsReadInOrderBeforeANewMessage(t *testing.T) {
	simulateReader(t, func(r *rig, reader *fakeReader) {
		reader.closed = true // the turn has not begun to read
		r.say("ann", "one", "Queued, number 1 in line.")
		r.say("ann", "two", "Queued, number 2 in line.")
		reader.closed = false
		r.say("ann", "three")
		r.same("read", reader.read, []string{`net:ann 2 ann "one" []`, `net:ann 3 ann "two" []`, `net:ann 4 ann "three" []`})
		r.has("ann", "work running", "one done", "two done", "three done")
		r.same("records", r.decisions(), []string{"answer text", "answer text", "answer text"})
		r.say("ann", "/stop") // there is nothing that waits
	})
}

func TestATurnThatBeginsToWaitReadsTheQueue(t *testing.T) {
	simulateReader(t, func(r *rig, reader *fakeReader) {
		reader.closed = true
		r.say("ann", "one", "Queued, number 1 in line.")
		reader.closed = false
		for range 2 {
			if err := r.OfferQueue(r.t.Context(), chatOf("ann")); err != nil {
				t.Fatal(err)
			}
		}
		r.same("read", reader.read, []string{`net:ann 2 ann "one" []`})
		r.has("ann", "work running", "one done")
		r.finish("ann")
		if err := r.OfferQueue(r.t.Context(), chatOf("ann")); err != nil {
			t.Error(err)
		}
	})
}

func TestATurnThatBeginsToReadWhileAMessageIsStoredReadsIt(t *testing.T) {
	simulateReader(t, func(r *rig, reader *fakeReader) {
		reader.closed = true
		r.lanes.onAccept = func() {
			reader.closed = false
			if err := r.OfferQueue(r.t.Context(), chatOf("ann")); err != nil { // there is nothing yet
				t.Error(err)
			}
		}
		r.say("ann", "one") // nobody is told that it is queued
		r.same("read", reader.read, []string{`net:ann 2 ann "one" []`})
		r.has("ann", "work running", "one done")
	})
}

func TestAMessageThatAlreadyHadATurnIsNotRead(t *testing.T) {
	simulate(t, func(r *rig) {
		before := r.say("ann", "before")
		r.finish("ann")
		reader := &fakeReader{}
		r.lanes.reader = reader
		r.say("ann", "work")
		r.press("ann", fmt.Sprintf("again:%d", before.ID))
		r.say("ann", "the answer")
		r.same("read", len(reader.read), 1)
		r.has("ann", "before pending", "work running", fmt.Sprintf("again:%d done", before.ID), "the answer done")
	})
}

func TestAMessageThatCannotBeReadIsQueuedAndDoesNotBlockItsChannel(t *testing.T) {
	for name, breaks := range map[string]func(*fakeReader){
		"error": func(f *fakeReader) { f.err = errors.New("no space left on device") },
		"panic": func(f *fakeReader) { f.panics = true },
	} {
		t.Run(name, func(t *testing.T) {
			simulateReader(t, func(r *rig, reader *fakeReader) {
				r.settings.WhileRunning = intake.Interrupt
				breaks(reader)
				r.say("ann", "one", "Queued, number 1 in line.")
				r.same("cancelled", len(r.running("ann").cancelled), 0)
				r.same("it is offered again", r.running("ann").again, 1)
				r.same("logged", r.logs.FilterMessage("message not read by the running turn, queued instead").Len(), 1)
				if err := r.OfferQueue(r.t.Context(), chatOf("ann")); err == nil {
					t.Error("the queue was read")
				}
				*reader = fakeReader{}
				r.say("ann", "two")
				r.same("read", reader.read, []string{`net:ann 2 ann "one" []`, `net:ann 3 ann "two" []`})
			})
		})
	}
}

func TestAMessageThatWasReadAndNotStoredIsNotAcknowledged(t *testing.T) {
	simulateReader(t, func(r *rig, reader *fakeReader) {
		r.disk.broken = true
		in := r.message("ann", "the answer")
		if err := r.Receive(r.t.Context(), in); !errors.Is(err, errDiskFull) {
			t.Fatalf("the network was told %v", err)
		}
		r.same("read", len(reader.read), 1)
		r.disk.broken = false
		r.receive(in) // the network delivers it again
		r.same("read", reader.read, []string{`net:ann 2 ann "the answer" []`})
		r.has("ann", "work running", "the answer done")
		reader.closed = true
		r.say("ann", "more", "Queued, number 1 in line.")
		reader.closed, r.disk.broken = false, true
		if err := r.OfferQueue(r.t.Context(), chatOf("ann")); !errors.Is(err, errDiskFull) {
			t.Errorf("the turn was told %v", err)
		}
		r.disk.broken = false
		if err := r.OfferQueue(r.t.Context(), chatOf("ann")); err != nil {
			t.Error(err)
		}
		r.same("read", len(reader.read), 2)
		r.has("ann", "work running", "the answer done", "more done")
	})
}

func TestStatusSaysThatATurnWaitsForThePerson(t *testing.T) {
	simulateReader(t, func(r *rig, _ *fakeReader) {
		time.Sleep(time.Hour)
		r.running("ann").awaits = time.Now()
		time.Sleep(time.Minute)
		r.say("ann", "/status", "Waiting for you for 1m0s: work")
	})
}

func TestAnAnswerThatComesTooLateForItsQuestionIsRead(t *testing.T) {
	simulateReader(t, func(r *rig, reader *fakeReader) {
		r.ask("q")
		r.lanes.onAccept = func() {
			if _, err := r.store.Withdraw(r.t.Context(), "q"); err != nil {
				t.Error(err)
			}
		}
		r.say("ann", "yes")
		r.same("answered", len(r.answered), 0)
		r.same("read", reader.read, []string{`net:ann 2 ann "yes" []`})
		r.has("ann", "work running", "yes done")
	})
}
