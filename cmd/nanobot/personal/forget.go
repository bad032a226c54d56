package personal

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"nanobot/gateway/retry"
	"nanobot/gateway/store"
)

// passes is how often everything is removed: a daemon may write something while turns and agents
// end, and receive messages that were on their way.
const passes = 2

// awaitPause is the time between two looks at whether the daemon has ended the work of a person.
const awaitPause = 20 * time.Millisecond

// Forget removes what is stored of a person, and prints how much that was. It can be repeated after
// it was interrupted. confirm asks whether to do so.
func Forget(ctx context.Context, o Options, confirm func() error) error {
	request := store.ForgetPrefix + o.Person.Channel + ":" + o.Person.User
	earlier, err := o.Store.LoadRecord(ctx, request)
	if err != nil {
		return err
	}
	var begun store.ForgetRequest
	_ = json.Unmarshal([]byte(earlier), &begun) // one of a later version
	s, err := newSubject(ctx, o, begun.Chats...)
	if err != nil {
		return err
	}
	if earlier == "" {
		err = s.checkAnything(ctx)
	}
	if err == nil {
		err = confirm()
	}
	if err != nil {
		return err
	}
	removed := map[string]int{}
	for range passes {
		if err := s.endWork(ctx, request); err != nil {
			return err
		}
		if s, err = newSubject(ctx, o, s.chatKeys()...); err != nil { // with what has come meanwhile
			return err
		}
		for _, p := range s.places() {
			n, err := p.remove(ctx)
			if err != nil {
				return fmt.Errorf("forget %s: %w; run this again", s.name(), err)
			}
			for name, n := range n {
				removed[name] += n
			}
		}
	}
	if err := s.erase(ctx, request); err != nil {
		return err
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(removed)) {
		if removed[name] > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", strings.ReplaceAll(name, "_", " "), removed[name]))
		}
	}
	_, err = fmt.Fprintf(o.Out, "Everything that was stored of %s is removed: %s.\n", s.name(), strings.Join(parts, ", "))
	return err
}

// checkAnything returns an error if nothing is stored of the person.
func (s *subject) checkAnything(ctx context.Context) error {
	for _, rows := range s.stored {
		if len(rows) > 0 {
			return nil // without reading files
		}
	}
	_, found, err := s.read(ctx)
	if err == nil && !found {
		err = s.nothing()
	}
	return err
}

// endWork drops the pending messages of the person, and waits until the daemon has ended their
// turns and the agents of their chats.
func (s *subject) endWork(ctx context.Context, request string) error {
	value, err := json.Marshal(store.ForgetRequest{ID: rand.Text(), Chats: s.chatKeys()})
	if err != nil {
		return err
	}
	if err := s.Store.SaveRecords(ctx, map[string]string{request: string(value)}); err != nil {
		return err
	}
	if err := s.Store.Dismiss(ctx, s.Person); err != nil {
		return err
	}
	for until := time.Now().Add(s.StopTimeout); time.Now().Before(until); {
		ended, err := s.workEnded(ctx, request, string(value))
		if err != nil || ended {
			return err
		}
		if !retry.Sleep(ctx, awaitPause) {
			return context.Cause(ctx)
		}
	}
	return fmt.Errorf("a turn of %s, or in their chats, has not ended yet, so not everything is removed; run this again",
		s.name())
}

// workEnded reports whether the work of the person has ended, or no daemon runs.
func (s *subject) workEnded(ctx context.Context, request, value string) (bool, error) {
	if !s.DaemonRuns(ctx) {
		return true, nil
	}
	turns, sends, err := s.Store.Dismissed(ctx)
	if err != nil || len(turns)+len(sends) > 0 {
		return false, err
	}
	members, err := s.Store.ListMembers(ctx)
	for _, m := range members {
		if m.State == store.Gone || err != nil {
			continue
		}
		var answer string
		answer, err = s.Store.LoadRecord(ctx, store.ForgetAnswer(request, m.Name))
		if answer != value {
			return false, err
		}
	}
	return err == nil, err
}

// erase removes what was deleted from the files of the state, and then the request.
func (s *subject) erase(ctx context.Context, request string) error {
	err := s.Store.EraseRemoved(ctx)
	if err == nil && s.History != nil {
		err = s.History.EraseRemoved(ctx)
	}
	if err != nil {
		return fmt.Errorf("what was removed may still be in the files of the state: %w; run this again", err)
	}
	gone := map[string]string{request: ""}
	members, err := s.Store.ListMembers(ctx)
	for _, m := range members {
		gone[store.ForgetAnswer(request, m.Name)] = ""
	}
	return errors.Join(err, s.Store.SaveRecords(ctx, gone))
}
