package access_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/access"
	"nanobot/gateway/store"
	"nanobot/internal/wanttest"
)

// runningTurn is a turn in a chat.
type runningTurn struct{ chat channels.Chat }

func (t runningTurn) Inbound() store.Inbound {
	return store.Inbound{In: channels.Incoming{Chat: t.chat}}
}
func (runningTurn) Revoke()                    {}
func (runningTurn) WaitingInjectors() []string { return nil }
func (runningTurn) WithdrawInjected(string)    {}

// agents are persistent agents.
type agents struct{ ended []string }

func (*agents) IdleAgents() map[string][]string { return nil }
func (a *agents) EndIdleAgent(chat string)      { a.ended = append(a.ended, chat) }

// requests are records, which fail at first.
type requests struct {
	values map[string]string
	failed bool
}

func (r *requests) ListRecords(_ context.Context, prefix string) (map[string]string, error) {
	if !r.failed {
		r.failed = true
		return nil, errors.New("later")
	}
	return map[string]string{prefix + "net:5": r.values[prefix+"net:5"]}, nil
}

func (r *requests) LoadRecord(_ context.Context, key string) (string, error) {
	return r.values[key], nil
}

func (r *requests) SaveRecords(_ context.Context, values map[string]string) error {
	for key, value := range values {
		r.values[key] = value
	}
	return nil
}

func TestAMemberAnswersWhenTheAgentsOfAForgottenChatHaveEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const value = `{"id":"1","chats":["net:eve"]}`
		records := &requests{values: map[string]string{store.ForgetPrefix + "net:5": value}}
		running, all, reread := []runningTurn{{channels.Chat{Channel: "net", ID: "eve"}}}, &agents{}, 0
		r := access.NewRevocation(access.RevocationOptions[runningTurn]{
			RunningTurns: func() []runningTurn { return running }, Agents: func() []access.Agents { return []access.Agents{all} },
			Forgetting: access.Forgetting{Records: records, Member: "a/1", Reread: func() { reread++ }},
			Access:     access.New(access.Options{Settings: func() access.Settings { return access.Settings{} }}), Log: zap.NewNop(),
			Dismissed: func(context.Context) ([]int64, []int64, error) { return nil, nil, nil },
		})
		ctx, cancel := context.WithCancel(t.Context())
		beats, done := make(chan store.Beat), make(chan struct{})
		go func() { r.Run(ctx, beats); close(done) }()
		beat := func() {
			beats <- store.Beat{Revocations: "1"}
			time.Sleep(2 * time.Second) // of the fake clock
			synctest.Wait()
		}
		answer := func() string { return records.values[store.ForgetAnswer(store.ForgetPrefix+"net:5", "a")] }
		beat()
		wanttest.Equal(t, "answer after an error", answer(), "")
		beat()
		wanttest.Equal(t, "answer while a turn runs", answer(), "")
		running = nil
		beat()
		wanttest.Equal(t, "answer", answer(), value)
		wanttest.Equal(t, "reread", reread, 1)
		if len(all.ended) == 0 || slices.ContainsFunc(all.ended, func(chat string) bool { return chat != "net:eve" }) {
			t.Errorf("the agents of %q have ended", all.ended)
		}
		cancel()
		<-done
	})
}
