package postgres_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/gateway/store/postgres"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
	"nanobot/internal/postgrestest"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
)

// turnScript makes all changes of turns in a chat of its own, and writes down what each answers.
type turnScript struct {
	*postgres.Store
	chat   channels.Chat
	others []string // the channels of the other scripts
	log    strings.Builder
	err    error
}

func (s *turnScript) note(what string, err error, values ...any) {
	fmt.Fprintln(&s.log, what, values)
	if err != nil && s.err == nil {
		s.err = fmt.Errorf("%s: %w", what, err)
	}
}

func (s *turnScript) in(id string) channels.Incoming {
	return channels.Incoming{Chat: s.chat, ID: id, Text: "hello " + id, User: channels.User{ID: "7", Name: "Ann"}}
}

func (s *turnScript) out(texts ...string) (all []channels.Outgoing) {
	for _, text := range texts {
		all = append(all, channels.Outgoing{Chat: s.chat, Text: text})
	}
	return all
}

func (s *turnScript) receive(r store.ReceiveRequest) int64 {
	result, err := s.Receive(ctx, r)
	s.note("receive "+r.In.ID, err, result.Disposition, result.Running != 0, result.Waiting, result.Replied, result.Released)
	return result.Inbound.ID
}

func (s *turnScript) claim() (id int64) {
	all, err := s.Claim(ctx, store.ClaimRequest{Limit: 1, ExceptChannels: s.others})
	for _, i := range all {
		id = i.ID
		s.note("claimed", nil, i.In.ID, i.In.Text, i.Attempt, len(i.Token) > 0, i.Asks)
	}
	s.note("claim", err, len(all))
	return id
}

func (s *turnScript) finish(id int64, out store.Outcome) {
	next, err := s.Finish(ctx, id, store.Done, out)
	s.note("finish", err, next)
}

// send claims the next delivery and settles it.
func (s *turnScript) send(state store.State) {
	d, sending, err := s.NextDelivery(ctx, s.chat, 0)
	s.note("next delivery", err, sending, d.Out.Text, d.Tries)
	more, err := s.Settle(ctx, d.ID, store.Settlement{State: state, Receipt: "r"})
	s.note("settle", err, more)
}

func (s *turnScript) runTurns() {
	first := s.receive(store.ReceiveRequest{In: s.in("1"), Claim: true, Remember: store.Memory{Key: "k", Value: "v"}})
	board := store.Transient{Chat: s.chat, ID: "71", Inbound: first, Board: true}
	s.note("add transient", s.AddTransient(ctx, board))
	s.receive(store.ReceiveRequest{In: s.in("2"), Answer: s.out("it waits")})
	edited := s.in("2")
	edited.Text, edited.Change = "edited", channels.Edited
	change, err := s.ChangeMessage(ctx, store.ChangeRequest{In: edited})
	s.note("change message", err, change.Effect)
	s.send(store.Sent)
	d, sending, err := s.Enqueue(ctx, store.Outbound{
		Inbound: first, Sequence: 1, Parts: s.out("a", "b"), Entry: &store.Entry{Role: "agent", Text: "a b"}, Claim: true,
	})
	s.note("enqueue", err, sending, d.Out.Text)
	more, err := s.Settle(ctx, d.ID, store.Settlement{State: store.Sent, Receipt: "r"})
	s.note("settle", err, more)
	s.send(store.Pending)
	s.send(store.Sent)
	question := store.Question{Question: terminal.Question{ID: "q" + s.chat.String()}, Inbound: first, Chat: s.chat}
	s.note("ask", s.Ask(ctx, question, store.Outbound{Inbound: first, Sequence: 2, Parts: s.out("why?")}))
	s.receive(store.ReceiveRequest{In: s.in("3"), Reply: &store.Reply{Question: question.ID, Text: "so", By: "7"}})
	withdrawn, err := s.Withdraw(ctx, question.ID)
	s.note("withdraw", err, withdrawn)
	s.note("mark stopped", s.MarkStopped(ctx, s.chat, first))
	s.finish(first, store.Outcome{Status: "done", Fold: &store.Fold{Summary: "1 step"}, Trace: "t", Keeps: true})
	s.note("replace fold", s.ReplaceFold(ctx, first))
	s.note("end fold", s.EndFold(ctx, board))
	second := s.claim()
	s.note("requeue", s.Requeue(ctx, second, true))
	s.finish(s.claim(), store.Outcome{Status: "done"})
	s.note("restart", s.Restart(ctx, first))
	again := s.claim()
	s.receive(store.ReceiveRequest{In: s.in("4")})
	s.note("settle pending", s.SettlePending(ctx, s.receive(store.ReceiveRequest{In: s.in("5")})))
	n, err := s.Cancel(ctx, s.chat, 0)
	s.note("cancel", err, n)
	s.finish(again, store.Outcome{Status: "done"})
	s.note("forward", s.Forward(ctx, s.in("6")))
	forwarded, err := s.Forwarded(ctx, 100)
	for _, m := range forwarded {
		if m.In.Chat == s.chat {
			s.note("drop forwarded", s.DropForwarded(ctx, m.ID), m.In.ID)
		}
	}
	s.note("release", errJoin(err, s.Release(ctx, []string{s.chat.String()})))
	s.runOthers()
}

// runOthers makes changes of schedules, records and people.
func (s *turnScript) runOthers() {
	name := "s" + s.chat.String()
	saved, err := s.SaveSchedule(ctx, store.Schedule{Name: name, Chat: s.chat, Maker: "7"}, 1)
	s.note("save schedule", err, saved)
	due := store.Occurrence{Schedule: name, Due: time.UnixMicro(1), Wall: "w", Outcome: store.Ran}
	byHook := s.in("7")
	byHook.Origin = channels.ByHook("ci")
	s.receive(store.ReceiveRequest{In: byHook, Occurrences: []store.Occurrence{due}, Settle: true})
	removed, err := s.RemoveSchedule(ctx, name)
	s.note("remove schedule", err, removed)
	swapped, err := s.SwapRecord(ctx, name, "", "v")
	s.note("swap record", err, swapped)
	outsider := store.Person{Channel: s.chat.Channel, User: "8"}
	in := s.in("8")
	in.User.ID = "8"
	paired, err := s.RequestPairing(ctx, store.PairingRequest{
		In: in, Code: "C" + s.chat.Channel, Limits: store.CodeLimits{Life: time.Hour, Open: 9, PerHour: 9}, Coded: s.out("code"),
	})
	s.note("request pairing", err, paired)
	_, accepted, err := s.Accept(ctx, "C"+s.chat.Channel, time.Hour)
	s.note("accept", err, accepted)
	greeted, err := s.Greet(ctx, outsider, s.out("welcome"))
	s.note("greet", err, greeted)
	s.note("forget message", s.ForgetMessage(ctx, outsider))
	revoked, err := s.Revoke(ctx, outsider, true)
	s.note("revoke", err, revoked)
}

func errJoin(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// countScripts returns how many scripts run at the same time.
func countScripts() int { return killtest.Pick(2, 4) }

// runScripts runs scripts at the same time, and has another member adopt what they leave. It
// returns what all changes have answered, and what is in the tables.
func runScripts(t *testing.T, proxy *postgrestest.Proxy, decide func(request []byte) postgrestest.Fate) (string, error) {
	t.Helper()
	scripts := countScripts()
	s := openMember(t, postgres.Options{URL: proxy.URL()})
	other := openMember(t, postgres.Options{URL: proxy.URL(), Name: "two"})
	proxy.Decide(decide)
	all := make([]*turnScript, scripts)
	var group errgroup.Group
	for n := range all {
		all[n] = &turnScript{Store: s, chat: channels.Chat{Channel: fmt.Sprint("net", n), ID: "a"}}
		for o := range scripts {
			if o != n {
				all[n].others = append(all[n].others, fmt.Sprint("net", o))
			}
		}
		group.Go(func() error { all[n].runTurns(); return all[n].err })
	}
	err := group.Wait()
	var log strings.Builder
	for _, script := range all {
		log.WriteString(script.log.String())
		script.receive(store.ReceiveRequest{In: script.in("9"), Claim: true})
	}
	err = errJoin(err, s.Close())
	adopted, adopting := other.Adopt(ctx)
	fmt.Fprintln(&log, "adopted", len(adopted.Inbounds), len(adopted.Deliveries), len(adopted.Transients))
	var rows string
	musttest.Do(t, connect(t).QueryRow(ctx, `SELECT concat_ws(' ',
		(SELECT string_agg(state || ':' || attempt, ',' ORDER BY chat, id) FROM inbox),
		(SELECT string_agg(state || ':' || tries || ':' || sequence, ',' ORDER BY chat, id) FROM outbox),
		(SELECT count(*) FROM transcript), (SELECT count(*) FROM seen), (SELECT count(*) FROM transient),
		(SELECT string_agg(value, ',' ORDER BY chat, key) FROM memory), (SELECT count(*) FROM occurrence))`).Scan(&rows))
	return log.String() + rows, errJoin(err, adopting)
}

// forgetCalls has the database treat a call that is repeated like a new one.
func forgetCalls(t *testing.T) {
	t.Helper()
	var function string
	musttest.Do(t, connect(t).QueryRow(ctx,
		"SELECT pg_get_functiondef('change(text, integer, bigint, bigint, boolean, text, text, text, jsonb)'::regprocedure)").Scan(&function))
	const known = "last.op = number"
	wanttest.Equal(t, "how often it compares the numbers", strings.Count(function, known), 1)
	execSQL(t, strings.Replace(function, known, "false", 1))
}

func TestAllChangesOfATurnAnswerTheSameWhateverIsCut(t *testing.T) {
	var want string
	for _, c := range []struct {
		name         string
		cuts, forget bool
	}{{name: "without cuts"}, {name: "with cuts", cuts: true}, {"control, in which numbers of calls mean nothing", true, true}} {
		t.Run(c.name, func(t *testing.T) {
			openMember(t, postgres.Options{Name: "first"})
			if c.forget {
				forgetCalls(t)
			}
			proxy := postgrestest.NewProxy(t)
			var mu sync.Mutex
			random := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // the same cuts each time
			cuts := map[postgrestest.Fate]int{}
			got, err := runScripts(t, proxy, func(request []byte) postgrestest.Fate {
				mu.Lock()
				defer mu.Unlock()
				if !c.cuts || bytes.Contains(request, []byte("transaction_read_only")) || bytes.Contains(request, []byte("stmtcache")) &&
					bytes.Contains(request, []byte("SELECT")) { // connects or prepares
					return postgrestest.Pass
				}
				fate := postgrestest.Pass
				switch random.IntN(12) {
				case 0, 1, 2:
					fate = postgrestest.CutBehind // only then the call has an answer to find
				case 3:
					fate = postgrestest.CutBefore
				}
				cuts[fate]++
				return fate
			})
			if want == "" {
				want = got
			}
			if c.cuts && (cuts[postgrestest.CutBefore] < 3*countScripts() || cuts[postgrestest.CutBehind] < 10*countScripts()) {
				t.Errorf("too few were cut: %v", cuts)
			}
			if !c.forget {
				musttest.Do(t, err)
				wanttest.Equal(t, "what was answered and stored", got, want)
			} else if err == nil && got == want {
				t.Error("the same was answered and stored")
			}
		})
	}
}
