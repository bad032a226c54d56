package runbook_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/gateway/runbook"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/musttest"
)

var _ runbook.Records = store.Records(nil)

// memoryStore is a store in memory.
type memoryStore struct {
	lock   sync.Mutex
	values map[string]string
	swaps  int
	// between is called once, between the loading of a value and its swap.
	between func()
}

func (m *memoryStore) LoadRecord(_ context.Context, key string) (string, error) {
	m.lock.Lock()
	defer m.lock.Unlock()
	return m.values[key], nil
}

func (m *memoryStore) ListRecords(_ context.Context, prefix string) (map[string]string, error) {
	m.lock.Lock()
	defer m.lock.Unlock()
	found := maps.Clone(m.values)
	maps.DeleteFunc(found, func(key, _ string) bool { return !strings.HasPrefix(key, prefix) })
	return found, nil
}

func (m *memoryStore) SwapRecord(_ context.Context, key, old, value string) (bool, error) {
	if between := m.between; between != nil {
		m.between = nil
		between()
	}
	m.lock.Lock()
	defer m.lock.Unlock()
	m.swaps++
	if m.values[key] != old {
		return false, nil
	}
	m.values[key] = value
	if value == "" {
		delete(m.values, key)
	}
	return true, nil
}

func newRuns() (runbook.Runs, *memoryStore) {
	m := &memoryStore{values: map[string]string{}}
	return runbook.Runs{Records: m}, m
}

func must[T any](t testing.TB, v T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func signed(r runbook.Run, s solution) json.RawMessage {
	g := fixture{run: r}
	return json.RawMessage(asJSON(g.sign(s)))
}

func TestOfTwoProcessesThatProveAStepOneRecords(t *testing.T) {
	runs, m := newRuns()
	r, _, err := runs.Begin(t.Context(), runbook.Start{Runbook: parse(t, deploy), Source: source})
	if err != nil {
		t.Fatal(err)
	}
	call := runbook.Call{URI: source.StepURI(1), Solution: signed(r, built)}
	var other runbook.Answer
	m.between = func() {
		_, other, err = runbook.Transition(t.Context(), runs, r.ID, runbook.Next, call)
		if err != nil {
			t.Error(err)
		}
	}
	after, a, err := runbook.Transition(t.Context(), runs, r.ID, runbook.Next, call)
	if err != nil || other.Outcome != runbook.Advanced || a.Outcome != runbook.Repeated || a.ProofHash != other.ProofHash || len(after.Records) != 1 {
		t.Errorf("%v: one says %s\nthe other %s", err, asJSON(other), asJSON(a))
	}
	swaps := m.swaps
	if _, a, err := runbook.Transition(t.Context(), runs, r.ID, runbook.Next, call); err != nil || a.Outcome != runbook.Repeated || m.swaps != swaps {
		t.Errorf("a repetition is stored: %v, %s", err, asJSON(a))
	}
}

func TestNothingIsStoredWhenATransitionFails(t *testing.T) {
	runs, m := newRuns()
	r, _, _ := runs.Begin(t.Context(), runbook.Start{Runbook: parse(t, deploy), Source: source})
	before := maps.Clone(m.values)
	if _, _, err := runbook.Transition(t.Context(), runs, r.ID, runbook.Approve, runbook.Approval{Step: 1, By: "net:7"}); !errors.Is(err, runbook.ErrNotRequired) || !maps.Equal(before, m.values) {
		t.Errorf("%v", err)
	}
	if _, _, err := runbook.Transition(t.Context(), runs, "none", runbook.Next, runbook.Call{}); !errors.Is(err, runbook.ErrNoRun) || !strings.Contains(err.Error(), "kairos_begin") {
		t.Errorf("a run that is not there: %v", err)
	}
}

func TestAStoredRunGoesThroughAllTransitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs, _ := newRuns()
		r, a, err := runs.Begin(t.Context(), runbook.Start{Runbook: parse(t, deploy), Source: source, Chat: "net:1", By: "net:7"})
		must(t, a, err)
		failing := runbook.Proof{Step: 1, By: "gateway", Type: "shell", Value: runbook.ShellProof{ExitCode: 1}}
		for range 3 {
			r, a, err = runbook.Transition(t.Context(), runs, r.ID, runbook.Prove, failing)
			must(t, a, err)
		}
		r, a, err = runbook.Transition(t.Context(), runs, r.ID, runbook.Skip, runbook.SkipDecision{Step: 1, By: "net:7", Reason: "later"})
		must(t, a, err)
		time.Sleep(2 * time.Hour) // of synctest: the nonce expires
		old := signed(r, uploaded)
		if _, a, _ = runbook.Transition(t.Context(), runs, r.ID, runbook.Next, runbook.Call{URI: source.StepURI(2), Solution: old}); a.ErrorCode != "NONCE_MISMATCH" {
			t.Errorf("%s", asJSON(a))
		}
		r = must1(runs.Load(t.Context(), r.ID))
		r, a, err = runbook.Transition(t.Context(), runs, r.ID, runbook.Next, runbook.Call{URI: source.StepURI(2), Solution: signed(r, uploaded)})
		must(t, a, err)
		r, a, err = runbook.Transition(t.Context(), runs, r.ID, runbook.Decline, runbook.Refusal{Step: 3, By: "net:7", End: true})
		must(t, a, err)
		if r.Status != runbook.Declined || len(r.Records) != 2 {
			t.Errorf("%+v", r)
		}
	})
}

func must1[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestARunIsFoundByItsNonces(t *testing.T) {
	runs, m := newRuns()
	start := runbook.Start{Runbook: parse(t, deploy), Source: source}
	a, _, _ := runs.Begin(t.Context(), start)
	b, _, _ := runs.Begin(t.Context(), start)
	first := a.Issued.Nonce
	a, _, _ = runbook.Transition(t.Context(), runs, a.ID, runbook.Next, runbook.Call{URI: source.StepURI(1), Solution: signed(a, built)})
	for nonce, want := range map[string]string{first: a.ID, a.Issued.Nonce: a.ID, b.Issued.Nonce: b.ID} {
		if r, err := runs.FindByNonce(t.Context(), nonce); err != nil || r.ID != want {
			t.Errorf("%v, %s, want %s", err, r.ID, want)
		}
	}
	for _, nonce := range []string{"", "x", "make", a.ID} {
		if _, err := runs.FindByNonce(t.Context(), nonce); !errors.Is(err, runbook.ErrNoRun) {
			t.Errorf("%q: %v", nonce, err)
		}
	}
	list, err := runs.List(t.Context(), "")
	if err != nil || len(list) != 2 || list[0].Began.After(list[1].Began) {
		t.Errorf("%v, %+v", err, list)
	}
	m.values["runbook/run/bad"] = "{"
	if list, err := runs.List(t.Context(), ""); err == nil || len(list) != 2 {
		t.Errorf("with a run that cannot be read: %v, %d", err, len(list))
	}
}

func TestTheRunsOfAChatAreListed(t *testing.T) {
	m := &memoryStore{values: map[string]string{}}
	runs := runbook.Runs{Records: m}
	var own []string
	for _, chat := range []string{`net:a"<b>`, "net:1", `net:a"<b>`, ""} {
		r, _, err := runs.Begin(t.Context(), runbook.Start{Runbook: parse(t, deploy), Source: source, Chat: chat})
		if err != nil {
			t.Fatal(err)
		}
		if chat == `net:a"<b>` {
			own = append(own, r.ID)
		}
	}
	m.values["runbook/run/bad"] = "{" // of no chat
	list, err := runs.List(t.Context(), `net:a"<b>`)
	if err != nil || len(list) != 2 || list[0].ID != own[0] || list[1].ID != own[1] {
		t.Errorf("%v, %+v, want %q", err, list, own)
	}
}

func TestADamagedRunIsNotLoaded(t *testing.T) {
	g := begin(t, deploy)
	g.solve()
	good := g.run.Encode()
	for from, to := range map[string]string{`"version":1`: `"version":2`, "Text of Build": "Text", `"step":2,"issued"`: `"step":9,"issued"`, `"accepted":[{"step":1`: `"accepted":[{"step":7`} {
		bad := strings.Replace(good, from, to, 1)
		if _, err := runbook.DecodeRun(bad); err == nil || bad == good {
			t.Errorf("%s was loaded", to)
		}
	}
}

func TestMintedRunbooksAreStoredByTheirLabel(t *testing.T) {
	runs, m := newRuns()
	ctx := t.Context()
	first, err := runs.Mint(ctx, runbook.MintRequest{Text: deploy, Model: "model"})
	if err != nil || first.Runbook.Label != "Deploy" || first.Source() != runbook.MintedSource("", "Deploy") {
		t.Fatalf("%v, %+v", err, first)
	}
	if again, err := runs.Mint(ctx, runbook.MintRequest{Text: "# Deploy\n"}); !errors.Is(err, runbook.ErrDuplicate) || again.Text != deploy {
		t.Errorf("the same label: %v, %+v", err, again)
	}
	changed := strings.Replace(deploy, "Build", "Compile", 1)
	m.between = func() { must1(runs.Mint(ctx, runbook.MintRequest{Text: "# Deploy\nbetween", Force: true})) }
	if _, err := runs.Mint(ctx, runbook.MintRequest{Text: changed, Force: true}); err != nil {
		t.Error(err)
	}
	must1(runs.Mint(ctx, runbook.MintRequest{Text: "# Another"}))
	list, err := runs.ListMinted(ctx, "")
	if err != nil || len(list) != 2 || list[0].Runbook.Label != "Another" || list[1].Text != changed || len(list[1].Runbook.Steps) != 4 {
		t.Errorf("%v, %+v", err, list)
	}
	var refused *runbook.InvalidTextError
	if _, err := runs.Mint(ctx, runbook.MintRequest{Text: "# A\n## B\n```\n{\"challenge\":{}}\n```"}); !errors.As(err, &refused) || !strings.HasPrefix(err.Error(), `line 3: Step "B": `) {
		t.Errorf("%v", err)
	}
	m.values["runbook/minted/x"] = `{"version":1,"text":"none"}`
	if list, err := runs.ListMinted(ctx, ""); err == nil || len(list) != 2 {
		t.Errorf("with one that cannot be read: %v, %d", err, len(list))
	}
}

// TestProcessesShareTheSQLiteStore has two processes, as far as the store can tell, prove the steps
// of one run and store the approvals of one step.
func TestProcessesShareTheSQLiteStore(t *testing.T) {
	dir := t.TempDir()
	open := func(shared bool) runbook.Runs {
		s := musttest.Get(sqlite.Open(t.Context(), dir, sqlite.Options{Shared: shared}))(t)
		t.Cleanup(func() { s.Close() })
		return runbook.Runs{Records: s}
	}
	a, b := open(false), open(true) // the daemon, and a command beside it
	text := "# B\n" + section("Ask", `{"type":"user_input","user_input":{"approvals":3}}`) + section("Build", buildChallenge)
	must1(a.Mint(t.Context(), runbook.MintRequest{Text: text}))
	minted := must1(b.ListMinted(t.Context(), ""))[0]
	r, _, err := b.Begin(t.Context(), runbook.Start{Runbook: minted.Runbook, Source: source, Chat: "net:1"})
	if err != nil {
		t.Fatal(err)
	}
	var people sync.WaitGroup
	for i, by := range []string{"net:1", "net:2", "net:3"} {
		people.Go(func() {
			runs := []runbook.Runs{a, b}[i%2]
			if _, _, err := runbook.Transition(t.Context(), runs, r.ID, runbook.Approve, runbook.Approval{Step: 1, By: by}); err != nil {
				t.Error(err)
			}
		})
	}
	people.Wait()
	r = must1(a.Load(t.Context(), r.ID))
	if r.Step != 2 || !strings.Contains(r.Records[0].Record, "net:1") || !strings.Contains(r.Records[0].Record, "net:2") || !strings.Contains(r.Records[0].Record, "net:3") {
		t.Fatalf("%s", r.Encode())
	}
	if r, _, err = runbook.Transition(t.Context(), b, r.ID, runbook.Next, runbook.Call{URI: source.StepURI(2), Solution: signed(r, built)}); err != nil || r.Status != runbook.Complete {
		t.Errorf("%v, %s", err, r.Status)
	}
	if _, err := must1(a.Load(t.Context(), r.ID)).Verify(); err != nil {
		t.Error(err)
	}
}
