package blocks_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"nanobot/internal/musttest"
	"nanobot/internal/words"
	"nanobot/terminal"
)

// answerRemarks makes the person answer questions about remarks with what is in the channel: an
// option or an error. It returns the questions.
func (r *fixture) answerRemarks(replies <-chan any) *[]terminal.Question {
	asked := &[]terminal.Question{}
	r.ask = func(ctx context.Context, q terminal.Question) (terminal.Answer, error) {
		r.mu.Lock()
		*asked = append(*asked, q)
		r.mu.Unlock()
		select {
		case reply := <-replies:
			if err, failed := reply.(error); failed {
				return terminal.Answer{}, err
			}
			return terminal.Answer{Text: reply.(string), By: "ann"}, nil
		case <-ctx.Done():
			return terminal.Answer{}, ctx.Err()
		}
	}
	return asked
}

func TestARemarkIsAskedAbout(t *testing.T) {
	for name, row := range map[string]struct {
		reply    any
		sequence int // after the reply
		messages int
	}{
		"yes":                 {"Yes", 2, 3},
		"no":                  {"No", 1, 1},
		"another message":     {&terminal.DismissedError{By: "ann"}, 1, 1},
		"no answer in time":   {terminal.ErrNoAnswer, 1, 1},
		"there is nobody":     {terminal.ErrNobodyToAsk, 2, 3},
		"the model's command": {nil, 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			withPerson(t, func(r *fixture) {
				replies := make(chan any, 1)
				asked := r.answerRemarks(replies)
				stop, ended := r.startTurn("go")
				text := "Thanks, one moment."
				if row.reply == nil {
					text = "[MESSAGE]\nhi\n[/MESSAGE]"
					row.messages++
				}
				r.sendMessage("m1", text)
				advanceTime(3 * time.Second)
				if row.reply != nil {
					checkEqual(t, "questions", len(*asked), 1)
					q := (*asked)[0]
					checkEqual(t, "question", q.Text+" "+strings.Join(q.Options, "|"), "Was this the model's answer? Yes|No")
					if q.Approval || q.OtherText != terminal.OtherTextDismisses || !q.UniqueID {
						t.Errorf("%+v", q)
					}
					read, err := r.runner.ReadMessage(t.Context(), terminal.PersonMessage{Chat: "cli:1", ID: "m2", Text: "x"})
					if read || err != nil {
						t.Errorf("a message during the question: %t, %v", read, err)
					}
					replies <- row.reply
				}
				advanceTime(time.Minute)
				checkEqual(t, "sequence", r.session().SequenceNumber, row.sequence)
				checkEqual(t, "messages", len(r.sentTexts()), row.messages)
				if row.reply == nil {
					checkEqual(t, "questions", len(*asked), 0)
				}
				if row.sequence == 2 && row.reply != nil {
					checkContains(t, r.sentTexts()[1], "There is no command in that answer.")
					checkContains(t, r.sent[r.session().SessionID+"_seq0002.txt"], "[FAILED] PARSE_ERROR: No commands found in the response")
				}
				r.sendMessage("m3", "[DONE]\nready\n[/DONE]") // the round goes on waiting
				advanceTime(3 * time.Second)
				checkEqual(t, "status", (<-ended).Status, terminal.Done)
				r.sendMessage("m1", text) // it is known as read
				stop()
			})
		})
	}
}

func TestARemarkThatIsSavedInTheInboxIsAskedAbout(t *testing.T) {
	withPerson(t, func(r *fixture) {
		r.words = words.New(words.Settings{}).For("de")
		replies := make(chan any, 1)
		asked := r.answerRemarks(replies)
		_, ended := r.startTurn("go")
		r.putFile(r.folder("inbox", "todo.txt"), "buy milk")
		advanceTime(5 * time.Second)
		checkEqual(t, "question", (*asked)[0].Text+" "+strings.Join((*asked)[0].Options, "|"), "War das die Antwort des Modells? Ja|Nein")
		replies <- "Nein"
		advanceTime(time.Minute)
		checkEqual(t, "the file", r.readSessionFile("inbox", "processed", "todo.txt"), "buy milk")
		checkEqual(t, "questions", len(*asked), 1)
		r.putFile(r.folder("inbox", "answer.txt"), "[DONE]\nready\n[/DONE]")
		checkEqual(t, "status", (<-ended).Status, terminal.Done)
		checkEqual(t, "rounds", r.session().SequenceNumber, 1)
	})
}

func TestARemarkIsAskedAboutAgainAfterARestart(t *testing.T) {
	withPerson(t, func(r *fixture) {
		replies := make(chan any, 1)
		asked := r.answerRemarks(replies)
		stop, ended := r.startTurn("go")
		r.sendMessage("m1", "one moment")
		advanceTime(3 * time.Second)
		stop()
		<-ended
		joined := roundName(r.session().SessionID, 1)
		joined = strings.TrimSuffix(joined, ".txt") + "-joined.txt"
		checkEqual(t, "the remark", r.readSessionFile("inbox", joined), "one moment")
		// A kill may also have left the message that the remark was joined from.
		part := roundName(r.session().SessionID, 1) + "-000001-0123456789abcdef.part"
		r.putFile(r.folder("inbox", part), "one moment")
		_, ended = r.startTurn("go")
		checkEqual(t, "questions", len(*asked), 2)
		checkEqual(t, "ID", (*asked)[1].ID, (*asked)[0].ID)
		if _, err := os.Stat(r.folder("inbox", part)); err == nil {
			t.Error("the part is still there")
		}
		replies <- &terminal.DismissedError{By: "ann"}
		advanceTime(0)
		r.sendMessage("m2", "[DONE]\nready\n[/DONE]") // offered as soon as the question has ended
		checkEqual(t, "status", (<-ended).Status, terminal.Done)
		checkEqual(t, "the answer", r.readSessionFile("inbox", "processed", joined), "[DONE]\nready\n[/DONE]")
		left := musttest.Get(os.ReadDir(r.folder("inbox")))(t)
		checkEqual(t, "files in the inbox", len(left), 1) // the folder processed
	})
}
