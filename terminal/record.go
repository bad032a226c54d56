package terminal

import "context"

// Recording records one turn. Its methods may be called from many goroutines. They neither fail nor
// wait for anything but the disk, so that the turn does not depend on them.
type Recording interface {
	// Envelope is called before the agent gets the message.
	Envelope(e Envelope)
	// Frame is called with each frame before the chat gets it. The files of Frame.Checked are open.
	Frame(f Frame)
	// Ask is called with each question and returns its number. Answer is called with the answer to
	// it, or with the reason why there is none.
	Ask(q Question) (number int)
	Answer(number int, a Answer, err error)
	// Inject is called with each message that the agent gets during the turn.
	Inject(in Injection)
	// Exit is called at the end of the turn. A turn that was not recorded to its end has none.
	Exit(out Outcome, err error)
}

// RecordFunc begins the recording of a turn; nil: the turn is not recorded. secret says that the
// text of the message is a password.
type RecordFunc func(req Request, secret bool) Recording

// Injected reports that the agent gets a message of Chat.Injections.
type Injected Injection

func (Injected) isReport() {}

// recordedChat is the chat of a turn that is recorded.
type recordedChat struct {
	Chat
	Recording
}

// record begins the recording of a turn, if it is to be recorded, and replaces its chat. end ends
// it, with the result of the turn.
func (r *Runner) record(req Request, chat *Chat, out *Outcome, err *error) (end func()) {
	if r.o.Record == nil {
		return func() {}
	}
	recording := r.o.Record(req, r.ReadsSecret(ControlRequest{Chat: req.chatKey(), Args: req.Text}))
	if recording == nil {
		return func() {}
	}
	*chat = &recordedChat{Chat: *chat, Recording: recording}
	return func() {
		if out.Status != "" || *err != nil { // otherwise the protocol panics
			recording.Exit(*out, *err)
		}
	}
}

// recordEnvelope records the envelope of the turn and returns it.
func (t *turn) recordEnvelope(e Envelope) Envelope {
	if c, ok := t.Chat.(*recordedChat); ok {
		c.Envelope(e)
	}
	return e
}

// Emit records a frame and passes it on.
func (c *recordedChat) Emit(f Frame) error {
	c.Frame(f)
	return c.Chat.Emit(f)
}

// Ask records a question and its answer.
func (c *recordedChat) Ask(ctx context.Context, q Question) (Answer, error) {
	number := c.Recording.Ask(q)
	a, err := c.Chat.Ask(ctx, q)
	c.Answer(number, a, err)
	return a, err
}

// Report records what the agent gets during the turn.
func (c *recordedChat) Report(r Report) {
	if in, ok := r.(Injected); ok {
		c.Inject(Injection(in))
		return
	}
	c.Chat.Report(r)
}
