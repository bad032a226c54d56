package sqlite_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
)

const workers = 6

// writeUntilKilled is the main function of the child: workers that run turns as fast as they can,
// and print each confirmed write.
func writeUntilKilled(dir string) int {
	s, err := sqlite.Open(ctx, dir, sqlite.Options{})
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	err = runParallel(workers, func(w int) error {
		for n := 0; ; n++ {
			if err := runTurn(s, fmt.Sprint("w", w), fmt.Sprint(os.Getpid(), ".", n)); err != nil {
				fmt.Println("error", err)
				return err
			}
		}
	})
	fmt.Println("error", err)
	return 1
}

// runTurn receives a message, answers it and finishes its turn. Each confirmed write is printed as
// one line.
func runTurn(s *sqlite.Store, chat, message string) error {
	c := channels.Chat{Channel: "net", ID: chat}
	result, err := s.Receive(ctx, store.ReceiveRequest{In: channels.Incoming{Chat: c, ID: message, Text: message}, Cursor: message, Claim: true})
	if err != nil {
		return err
	}
	inbound := result.Inbound
	if result.Disposition != store.Claimed {
		return fmt.Errorf("disposition %d of %s", result.Disposition, message)
	}
	fmt.Println("received", inbound.ID, chat, message)
	delivery, sending, err := s.Enqueue(ctx, store.Outbound{
		Inbound: inbound.ID, Sequence: 1, Parts: []channels.Outgoing{{Chat: c, Text: message}},
		Entry: &store.Entry{Role: "agent", Text: message}, Claim: true,
	})
	if err != nil {
		return err
	}
	if !sending {
		return fmt.Errorf("outbound of %s is not sending", message)
	}
	fmt.Println("enqueued", inbound.ID, chat, delivery.ID)
	if _, err := s.Settle(ctx, delivery.ID, store.Settlement{State: store.Sent, Receipt: "1"}); err != nil {
		return err
	}
	fmt.Println("sent", inbound.ID, chat, delivery.ID)
	if err := s.Remember(ctx, c, "key "+message, message); err != nil {
		return err
	}
	fmt.Println("remembered", inbound.ID, chat, message)
	if _, err := s.Finish(ctx, inbound.ID, store.Done, store.Outcome{}); err != nil {
		return err
	}
	fmt.Println("finished", inbound.ID, chat, message)
	return receiveInParts(s, c, message)
}

// receiveInParts receives a message in two parts.
func receiveInParts(s *sqlite.Store, c channels.Chat, message string) error {
	in := channels.Incoming{Chat: c, Part: &channels.Part{Group: message}, Raw: []byte(message)}
	for _, in.ID = range []string{message + "a", message + "b"} {
		if err := s.StorePart(ctx, in); err != nil {
			return err
		}
		fmt.Println("stored", 0, c.ID, in.ID)
	}
	in.ID, in.Part.Last = message+"a", true
	received, err := s.Receive(ctx, store.ReceiveRequest{In: in, Settle: true})
	if err != nil {
		return err
	}
	fmt.Println("completed", received.Inbound.ID, c.ID, message+"b")
	return nil
}

func TestConfirmedWritesSurviveAKill(t *testing.T) {
	dir := t.TempDir()
	confirmed := 0
	rounds := killtest.Rounds(t, 20, 500)
	for range rounds {
		acks := writeAndKill(t, dir, 10+rand.IntN(40), time.Duration(rand.IntN(3000))*time.Microsecond)
		s := openStore(t, dir, sqlite.Options{}) // the lock of the dead child must be free
		left := musttest.Get(s.Adopt(ctx))(t)
		for _, ack := range acks {
			verifyConfirmation(t, s, left, strings.Fields(ack))
		}
		verifyNoKnownParts(t, s)
		recoverState(t, s, left)
		closeStore(t, s)
		if t.Failed() {
			t.FailNow()
		}
		confirmed += len(acks)
	}
	if confirmed < 200 {
		t.Errorf("only %d writes were confirmed, which is too few", confirmed)
	}
	t.Logf("%d confirmed writes, none lost", confirmed)
}

// writeAndKill runs the child, kills it some time after it has printed so many lines, and returns
// all lines.
func writeAndKill(t *testing.T, dir string, count int, after time.Duration) []string {
	t.Helper()
	exe := musttest.Get(os.Executable())(t)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "NANOBOT_TEST_WRITER="+dir)
	out := musttest.Get(cmd.StdoutPipe())(t)
	child := killtest.Start(t, cmd)
	var acks []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if acks = append(acks, lines.Text()); len(acks) == count {
			defer time.AfterFunc(after, func() { _ = child.Signal(os.Kill) }).Stop()
		}
	}
	_ = child.Wait() // it was killed
	return acks
}

// verifyConfirmation checks that the store contains one confirmed write.
func verifyConfirmation(t *testing.T, s *sqlite.Store, left store.Adopted, ack []string) {
	t.Helper()
	if len(ack) != 4 {
		t.Fatalf("the child printed %q", ack)
	}
	var id int64
	musttest.Get(fmt.Sscan(ack[1], &id))(t)
	chat := channels.Chat{Channel: "net", ID: ack[2]}
	if ack[0] == "stored" {
		verifyPart(t, s, chat, ack)
		return
	}
	inbound, found, err := s.Inbound(ctx, id)
	if err != nil || !found {
		t.Fatalf("%v: inbound is lost (%v)", ack, err)
	}
	switch ack[0] {
	case "received":
		if inbound.In.ID != ack[3] || inbound.Attempt != 1 {
			t.Errorf("%v: got %+v", ack, inbound)
		}
	case "enqueued":
		history, err := s.History(ctx, chat, 1<<30, 0)
		if err != nil || !hasAgentEntry(history, id) {
			t.Errorf("%v: outbound is lost (%v)", ack, err)
		}
	case "sent":
		for _, delivery := range left.Deliveries {
			if fmt.Sprint(delivery.ID) == ack[3] {
				t.Errorf("%v: delivery is in flight again", ack)
			}
		}
	case "remembered":
		if got, err := s.Recall(ctx, chat, "key "+ack[3]); err != nil || got != ack[3] {
			t.Errorf("%v: its memory is %q (%v)", ack, got, err)
		}
	case "finished":
		if inbound.State != store.Done {
			t.Errorf("%v: it is %s", ack, inbound.State)
		}
	case "completed":
		if known, err := s.Known(ctx, chat, ack[3]); err != nil || !known {
			t.Errorf("%v: its last part is not known (%v)", ack, err)
		}
	default:
		t.Errorf("the child printed %q", ack)
	}
}

// verifyPart checks that an acknowledged part is stored, or that its message was received.
func verifyPart(t *testing.T, s *sqlite.Store, chat channels.Chat, ack []string) {
	t.Helper()
	parts := musttest.Get(s.Parts(ctx, "net"))(t)
	waits := slices.ContainsFunc(parts, func(p channels.Incoming) bool { return p.Chat == chat && p.ID == ack[3] })
	known, err := s.Known(ctx, chat, ack[3])
	if err != nil || waits == known {
		t.Errorf("%v: it waits: %v, it is known: %v (%v)", ack, waits, known, err)
	}
}

// verifyNoKnownParts checks that no part is stored whose message was received, and drops all parts.
func verifyNoKnownParts(t *testing.T, s *sqlite.Store) {
	t.Helper()
	parts := musttest.Get(s.Parts(ctx, "net"))(t)
	for _, p := range parts {
		if known, err := s.Known(ctx, p.Chat, p.ID); known || err != nil {
			t.Errorf("part %s waits though its message was received (%v)", p.ID, err)
		}
	}
	for _, p := range parts {
		if err := s.DropParts(ctx, p.Chat, p.Part.Group); err != nil {
			t.Error(err)
		}
	}
}

func hasAgentEntry(history []store.Entry, inbound int64) bool {
	for _, e := range history {
		if e.Inbound == inbound && e.Role == "agent" {
			return true
		}
	}
	return false
}

// recoverState settles and finishes what a gateway would after a crash, and starts new
// conversations so that the next round is as fast.
func recoverState(t *testing.T, s *sqlite.Store, left store.Adopted) {
	t.Helper()
	for _, delivery := range left.Deliveries {
		if _, err := s.Settle(ctx, delivery.ID, store.Settlement{State: store.Unknown}); err != nil {
			t.Error(err)
		}
	}
	if n := len(left.Inbounds); n > workers {
		t.Errorf("%d inbound messages were running", n)
	}
	for _, i := range left.Inbounds {
		if _, err := s.Finish(ctx, i.ID, store.Interrupted, store.Outcome{}); err != nil {
			t.Error(err)
		}
	}
	for w := range workers {
		in := channels.Incoming{Chat: channels.Chat{Channel: "net", ID: fmt.Sprint("w", w)}}
		if _, err := s.Receive(ctx, store.ReceiveRequest{In: in, Settle: true, StartConversation: true}); err != nil {
			t.Error(err)
		}
	}
}
