package gateway_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/telegram"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/config"
	"nanobot/gateway"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
	"nanobot/terminal"
)

const busyGroup = -1001

// busyForum is a Telegram group with topics, within Telegram's limits and in synthetic time: the
// gateway, the store and the channel are real.
type busyForum struct {
	t      testing.TB
	api    *telegramtest.Server
	topics []int
	// noRemarks makes the agent send no silent message before an answer.
	noRemarks bool
	faulty    bool // the server fails on purpose

	mu      sync.Mutex
	emitted map[string]time.Time // when the agent has emitted an answer, by its text
	remarks map[string]string    // the silent messages before the answers
}

// runBusyForum runs a gateway for a group with so many topics. Its agent works for as many steps as
// a message says.
func runBusyForum(t *testing.T, topics int, f func(*busyForum)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		api, client := telegramtest.NewInMemory(t)
		forum := &busyForum{t: t, api: api, emitted: map[string]time.Time{}, remarks: map[string]string{}}
		for i := range topics {
			forum.topics = append(forum.topics, api.AddTopic(busyGroup, "topic "+strconv.Itoa(i)))
		}
		api.SetFloodControl(telegramtest.TelegramFloodLimits)
		cfg := config.Default().Terminal
		cfg.Command, cfg.Timeout = "true", config.MaxTimeout
		agent := protocolFunc(func(_ context.Context, tn terminal.Turn) (terminal.Outcome, error) {
			if tn.Envelope.Text == "remark" {
				return terminal.Outcome{Status: terminal.Done}, tn.Emit(terminal.Frame{Kind: terminal.Message, Text: "a remark", Silent: true})
			}
			if tn.Envelope.Text == "stream" {
				return terminal.Outcome{Status: terminal.Done}, forum.stream(tn)
			}
			steps, err := strconv.Atoi(tn.Envelope.Text)
			if err != nil {
				return terminal.Outcome{}, err
			}
			return terminal.Outcome{Status: terminal.Done}, forum.work(tn, steps)
		})
		runner := musttest.Get(terminal.NewRunner(terminal.Options{Config: cfg, Workspace: dir, Protocol: agent, Environ: os.Environ(), Log: zap.NewNop()}))(t)
		opened := musttest.Get(sqlite.Open(t.Context(), filepath.Join(dir, ".nanobot"), sqlite.Options{}))(t)
		ch := musttest.Get(telegram.New(telegram.Options{
			Token: api.Token, APIBase: api.URL, Client: client, Groups: "all", Folder: channelstest.ChatFolders(dir),
		}))(t)
		g := gateway.New(gateway.Options{
			Channels: map[string]channels.Channel{telegram.Name: ch}, Store: opened, MaxConcurrent: 100, Log: zap.NewNop(), BoardDelay: 3 * time.Second,
			Settings: gateway.Settings{Agents: map[string]gateway.Agent{store.DefaultAgent: {Runner: runner, Progress: "edit"}}, WhileRunning: "queue", OnCrash: "report", DrainTimeout: time.Second},
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- g.Run(ctx, nil) }()
		time.Sleep(2 * time.Minute)
		f(forum)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
		forum.checkOrder()
	})
}

// say makes somebody write in a topic.
func (f *busyForum) say(topic int, text string) {
	f.api.UserPosts(telegramtest.UserPost{Chat: busyGroup, From: 7, Topic: f.topics[topic], Text: text})
}

// answer emits an answer, and records when.
func (f *busyForum) answer(tn terminal.Turn, remark string) error {
	f.mu.Lock()
	text := fmt.Sprintf("answer %d", len(f.emitted)+1)
	f.emitted[text], f.remarks[text] = time.Now(), remark
	f.mu.Unlock()
	return tn.Emit(terminal.Frame{Kind: terminal.Message, Text: text})
}

// work emits a board with so many steps, a step every two seconds, its fold with a diff, and the
// answer. With an odd number of steps there is a silent remark before the answer.
func (f *busyForum) work(tn terminal.Turn, steps int) error {
	if steps == 0 {
		return f.answer(tn, "")
	}
	board := terminal.Frame{Kind: terminal.Progress, Board: true}
	for i := range steps {
		board.Step, board.Text = i+1, fmt.Sprintf("board of step %d", i+1)
		if err := tn.Emit(board); err != nil {
			return err
		}
		time.Sleep(2 * time.Second)
	}
	board.Fold = &terminal.Fold{Steps: steps, Details: "all steps", Required: tn.HasBoard()}
	if err := tn.Emit(board); err != nil {
		return err
	}
	if f.noRemarks || steps%2 == 0 {
		return f.answer(tn, "")
	}
	remark := "remark of " + tn.Run
	if err := tn.Emit(terminal.Frame{Kind: terminal.Message, Text: remark, Silent: true}); err != nil {
		return err
	}
	return f.answer(tn, remark)
}

// stream emits an answer that is shown while it is written, for ten seconds. Meanwhile all others
// ask twice, so that the group is saturated when it is complete.
func (f *busyForum) stream(tn terminal.Turn) error {
	for i := range 10 {
		if err := tn.Emit(terminal.Frame{Kind: terminal.Partial, Text: fmt.Sprintf("unfinished, second %d", i)}); err != nil {
			return err
		}
		if i == 7 {
			for topic := range 2 * len(f.topics[1:]) {
				f.say(1+topic%(len(f.topics)-1), "0")
			}
		}
		time.Sleep(time.Second)
	}
	return f.answer(tn, "")
}

// sent returns the calls that have sent or edited messages.
func (f *busyForum) sent() (calls []telegramtest.Call) {
	for _, c := range f.api.Calls("") {
		if c.Method == "sendMessage" || c.Method == "editMessageText" {
			calls = append(calls, c)
		}
	}
	return calls
}

// awaitAnswers waits until so many answers were sent, and returns what each has waited.
func (f *busyForum) awaitAnswers(n int) (waits []time.Duration) {
	for range 1000 {
		waits = nil
		for _, c := range f.sent() {
			f.mu.Lock()
			at, ok := f.emitted[c.Params["text"]]
			f.mu.Unlock()
			if ok && c.Status == 200 {
				waits = append(waits, c.At.Sub(at))
			}
		}
		if len(waits) >= n {
			return waits
		}
		time.Sleep(time.Second)
	}
	f.t.Fatalf("%d of %d answers were sent", len(waits), n)
	return nil
}

// checkOrder checks that Telegram has refused nothing, and that whatever is no answer was not sent
// while an answer of another topic waited. A silent message goes before the answer of its topic.
func (f *busyForum) checkOrder() {
	f.t.Helper()
	topicOf := map[string]string{} // of the answers
	for _, c := range f.sent() {
		topicOf[c.Params["text"]] = c.Params["message_thread_id"]
	}
	sent := map[string]time.Time{}
	for _, c := range f.sent() {
		if c.Status != 200 && !f.faulty {
			f.t.Errorf("%s of %q: %s", c.Method, c.Params["text"], c.Description)
		}
		sent[c.Params["text"]] = c.At
		if remark := f.remarks[c.Params["text"]]; remark != "" && sent[remark].IsZero() {
			f.t.Errorf("%q was sent before %q", c.Params["text"], remark)
		}
	}
	for _, c := range f.sent() {
		if _, isAnswer := f.emitted[c.Params["text"]]; isAnswer {
			continue
		}
		ownWaits := false
		var others []string
		for text, at := range f.emitted {
			if !at.Before(c.At) || !sent[text].After(c.At) {
				ownWaits = ownWaits || at.Equal(c.At) && topicOf[text] == c.Params["message_thread_id"]
				continue
			}
			if topicOf[text] == c.Params["message_thread_id"] {
				ownWaits = true
			} else {
				others = append(others, text)
			}
		}
		if len(others) > 0 && (c.Method == "editMessageText" || !ownWaits) {
			f.t.Errorf("%s of %q at %s while %q waited", c.Method, c.Params["text"], c.At, others)
		}
	}
}

func TestFiveAgentsThatEndAtTheSameMomentAnswerBeforeAnythingElseIsSent(t *testing.T) {
	t.Parallel()
	runBusyForum(t, 6, func(f *busyForum) {
		for i := range 5 {
			f.say(i, "20")
		}
		time.Sleep(40 * time.Second)
		f.say(5, "0")
		waits := f.awaitAnswers(6)
		// Three at once, and then about one in a second, as in every chat.
		if slices.Max(waits) > 4*time.Second {
			t.Errorf("the answers have waited %s", waits)
		}
		time.Sleep(3 * time.Minute)
		count := map[string]int{}
		for _, c := range f.api.Calls("") {
			if kind := f.kindOf(c); kind != "" {
				count[kind] += max(countDeleted(c), 1)
			}
		}
		if count["board"] != 5 || count["edit of a board"] < 1 || count["fold"]+count["removed board"] != 5 {
			t.Errorf("was shown: %v", count)
		}
		for _, m := range f.api.BotMessages(busyGroup) {
			if strings.Contains(m.Text, "board of step") {
				t.Errorf("a board stays: %q", m.Text)
			}
		}
	})
}

func TestTheBoardOfAnAgentAloneInAGroupIsFolded(t *testing.T) {
	t.Parallel()
	runBusyForum(t, 1, func(f *busyForum) {
		for i, steps := range []string{"2", "4", "20"} {
			f.say(0, steps)
			f.awaitAnswers(i + 1)
			time.Sleep(time.Minute)
		}
		count := map[string]int{}
		for _, c := range f.api.Calls("") {
			count[f.kindOf(c)]++
		}
		if count["fold"] != 3 || count["removed board"] != 0 {
			t.Errorf("was shown: %v", count)
		}
	})
}

func TestTenPeopleWhoAskASecondApartAreAnsweredAtOnce(t *testing.T) {
	t.Parallel()
	runBusyForum(t, 10, func(f *busyForum) {
		for i := range 10 {
			f.say(i, "0")
			time.Sleep(time.Second)
		}
		if waits := f.awaitAnswers(10); slices.Max(waits) > 500*time.Millisecond {
			t.Errorf("the answers have waited %s", waits)
		}
	})
}

func TestInARandomGroupNothingIsSentWhileAnAnswerWaits(t *testing.T) {
	t.Parallel()
	for seed := range uint64(killtest.Rounds(t, 2, 30)) {
		r := rand.New(rand.NewPCG(seed, 1))
		topics, asked := 4+r.IntN(12), 0
		runBusyForum(t, topics, func(f *busyForum) {
			for range 60 {
				f.say(r.IntN(topics), strconv.Itoa(max(r.IntN(30)-10, 0)))
				asked++
				time.Sleep(time.Duration(r.ExpFloat64() * float64(6*time.Second)))
			}
			f.awaitAnswers(asked)
			time.Sleep(6 * time.Minute)
		})
	}
}

func TestAStreamedAnswerInASaturatedGroupLosesItsStopButton(t *testing.T) {
	t.Parallel()
	runBusyForum(t, 12, func(f *busyForum) {
		f.say(0, "stream")
		time.Sleep(5 * time.Second)
		hasStop := func() bool {
			return slices.ContainsFunc(f.api.BotMessages(busyGroup), func(m telegramtest.Message) bool {
				return strings.HasPrefix(m.Text, "unfinished") && m.ReplyMarkup != nil
			})
		}
		if !hasStop() {
			t.Error("the answer is not shown while it is written")
		}
		time.Sleep(7500 * time.Millisecond)
		if hasStop() {
			t.Error("the button has outlived the turn by two seconds")
		}
		if waits := f.awaitAnswers(23); slices.Max(waits) < 20*time.Second {
			t.Errorf("the answers have waited %s, so that the group was not saturated", waits)
		}
	})
}
