package web_test

import (
	"testing"

	"nanobot/channels"
	"nanobot/internal/postgrestest"
	"nanobot/internal/wanttest"
)

// TestAPageContinuesOnAnotherMember moves a page to a second member, while a turn of the first one
// still sends.
func TestAPageContinuesOnAnotherMember(t *testing.T) {
	dir, database := t.TempDir(), postgrestest.Schema(t)
	old := newMember(t, dir, database)
	old.startGateway()
	old.postText("ann", "web-a-known-to-nobody-else", "question")
	old.awaitIncoming(1)
	page := old.openStream("ann", "0")
	seen := page.next("message").id
	old.sendAsBot(answerTo("web-a-known-to-nobody-else", "beginning"), "1")
	last := page.next("message").id
	old.stop()
	old.stop = func() {}

	leader := newMember(t, dir, database)
	leader.startGateway()
	page = leader.openStream("ann", seen)
	wanttest.Equal(t, "the page resumes after", page.next("ready").id, seen)
	again := page.next("message")
	wanttest.Equal(t, "the page gets", again.data["text"], any("beginning"))
	wanttest.Equal(t, "its number is", again.id, last)

	end := answerTo("web-a-known-to-nobody-else", "end")
	end.Media = []channels.File{{Name: "a.txt", Content: "from the old leader"}}
	old.sendAsBot(end, "2")
	message := page.next("message")
	wanttest.Equal(t, "the page gets", message.data["text"], any("end"))
	file := message.data["media"].([]any)[0].(object)["id"].(string)
	status, content, _ := leader.request("ann", "GET", "/api/media/"+file, "", nil)
	wanttest.Equal(t, "the file is", content, "from the old leader")
	wanttest.Equal(t, "with status", status, 200)
	leader.sendAsBot(end, "2") // as after a takeover: it is not sent again
	leader.postText("ann", "web-a-known-to-nobody-else", "next")
	wanttest.Equal(t, "then comes", page.next("message").data["text"], any("next"))
	wanttest.EqualSlices(t, "received were", texts(leader.awaitIncoming(1)), []string{"next"})
}

func TestAStreamDoesNotRepeatWhatAnotherMemberHasSent(t *testing.T) {
	dir, database := t.TempDir(), postgrestest.Schema(t)
	old, leader := newMember(t, dir, database), newMember(t, dir, database)
	leader.postText("ann", "web-a-known-to-nobody-else", "question")
	page := old.openStream("ann", "")
	old.sendAsBot(answerTo("web-a-known-to-nobody-else", "answer"), "1")
	seen := page.next("message").id // the leader, which does not listen yet, does not know it
	wanttest.Equal(t, "the page resumes after", leader.openStream("ann", seen).next("ready").id, seen)
}
