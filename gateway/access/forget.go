package access

import (
	"context"
	"encoding/json"
	"slices"

	"go.uber.org/zap"

	"nanobot/gateway/store"
)

// Forgetting answers the requests of commands that forget a person, see store.ForgetPrefix.
type Forgetting struct {
	Records interface {
		ListRecords(ctx context.Context, prefix string) (map[string]string, error)
		LoadRecord(ctx context.Context, key string) (string, error)
		SaveRecords(ctx context.Context, values map[string]string) error
	}
	Member string // of the store
	// Reread has the daemon read what the command may have removed, such as schedules.
	Reread func()
}

// answerForgetting ends the persistent agents of the chats in requests, and answers each when no
// turn runs in its chats.
func (r *Revocation[T]) answerForgetting(ctx context.Context) error {
	if !r.forgetting {
		return nil
	}
	f := r.o.Forgetting
	requests, err := f.Records.ListRecords(ctx, store.ForgetPrefix)
	if err != nil {
		return err
	}
	open := false
	for key, value := range requests {
		answer := store.ForgetAnswer(key, store.MemberName(f.Member))
		answered, err := f.Records.LoadRecord(ctx, answer)
		if err != nil {
			return err
		}
		if answered == value {
			continue
		}
		if r.endAgentsOf(value) {
			open = true
			continue
		}
		f.Reread()
		if err := f.Records.SaveRecords(ctx, map[string]string{answer: value}); err != nil {
			return err
		}
		r.o.Log.Info("the agents of a person who is being forgotten have ended", zap.String("request", key))
	}
	r.forgetting = open
	return nil
}

// endAgentsOf ends the turns and persistent agents of the chats of a request. It reports whether a
// turn runs in one of them.
func (r *Revocation[T]) endAgentsOf(request string) (running bool) {
	var wanted store.ForgetRequest
	_ = json.Unmarshal([]byte(request), &wanted) // one of a later version has no chats
	for _, t := range r.o.RunningTurns() {
		if slices.Contains(wanted.Chats, t.Inbound().In.Chat.String()) {
			running = true
			t.Revoke()
		}
	}
	for _, agents := range r.o.Agents() {
		for _, chat := range wanted.Chats {
			agents.EndIdleAgent(chat)
		}
	}
	return running
}
