package display

// answerState is how an answer that the agent is writing is shown. While it is, the answer itself
// is the sign that the agent works, so that the turn needs no board without content, and one place
// has the Stop button.
type answerState int

const (
	noAnswer      answerState = iota // there is none, or it cannot be shown
	hiddenAnswer                     // nothing of it is shown yet
	draftAnswer                      // as a draft: it has no buttons, and a message removes it
	growingAnswer                    // as messages, the last of which has the Stop button
)

// replacesBoard reports whether a board without content is not shown. One that was sent stays until
// the answer is shown.
func (s answerState) replacesBoard(sent bool) bool {
	return s >= draftAnswer || s == hiddenAnswer && !sent
}

// beginAnswer records that the agent is writing an answer.
func (b *board) beginAnswer() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answer = max(b.answer, hiddenAnswer)
}

// showsAnswer records that the unfinished answer is shown now. Progress that was reported before it
// is over.
func (b *board) showsAnswer(how answerState) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.answer == how {
		return
	}
	b.answer = how
	if !b.content.Lasting {
		b.content = Content{}
	}
	b.requestUpdate()
}

// endAnswer records that the answer is complete, or cannot be shown. If the turn goes on for
// Options.Delay, it has a board again.
func (b *board) endAnswer() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.answer != noAnswer {
		b.answer, b.due = noAnswer, false
		b.timer.Reset(b.d.o.Delay)
	}
}

// withdraw removes a board that an answer replaces. It reports whether it did.
func (b *board) withdraw() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.id == "" || b.stopping || !b.content.isEmpty() || !b.answer.replacesBoard(true) {
		return false
	}
	b.remove()
	b.id, b.sent, b.below = "", false, 0
	return true
}
