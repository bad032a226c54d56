package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"nanobot/gateway/runbook"
)

// begin begins a run, which belongs to the connection's chat.
func (s *session) begin(ctx context.Context, c call) (any, error) {
	b, step, err := s.find(ctx, c.args)
	if err != nil {
		return nil, err
	}
	if err := s.admitWrite(); err != nil {
		return nil, err
	}
	r, a, err := s.o.Runs.Begin(ctx, runbook.Start{
		Runbook: b.Runbook, Source: b.source, By: s.by, Chat: s.chat, Step: step.Index,
	})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun[b.source] = begunRun{r.ID, len(b.Steps)}
	return a, nil
}

// owns reports whether a run is one of this connection's chat, or, if the connection acts for none,
// one that an agent began for none. Any other run does not exist for the connection: `nanobot
// runbook run` proves its own runs.
func (s *session) owns(r runbook.Run) bool { return r.Chat == s.chat && (s.chat != "" || r.By == s.by) }

// load returns a run of this connection.
func (s *session) load(ctx context.Context, id string) (runbook.Run, error) {
	r, err := s.o.Runs.Load(ctx, id)
	if err == nil && !s.owns(r) {
		return runbook.Run{}, runbook.ErrNoRun
	}
	return r, err
}

// findRun returns the ID of the run that a call is about: the one that it names, else the one that
// has issued the nonce, else the last one that this connection began on the URI's runbook.
func (s *session) findRun(ctx context.Context, args arguments, uri, nonce string) (string, error) {
	named, err := args.text("run", 100)
	if err != nil {
		return "", err
	}
	if named != "" {
		_, err := s.load(ctx, named)
		if errors.Is(err, runbook.ErrNoRun) {
			return "", &failure{Code: notFound, Message: fmt.Sprintf("There is no run %q. Call kairos_begin to begin one.", named)}
		}
		return named, err
	}
	last, ok := s.lastRun(uri)
	if nonce == "" {
		return last, noRunUnless(ok)
	}
	if r, err := s.o.Runs.Load(ctx, last); ok && err == nil && r.HasNonce(nonce) {
		return last, nil // without looking through all runs
	}
	r, err := s.o.Runs.FindByNonce(ctx, nonce)
	switch {
	case err == nil && s.owns(r):
		return r.ID, nil
	case err == nil || errors.Is(err, runbook.ErrNoRun):
		return last, noRunUnless(ok)
	}
	return "", err
}

// lastRun returns the last run that this connection began on the runbook of a URI.
func (s *session) lastRun(uri string) (id string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for source, b := range s.begun {
		if source.StepIndex(uri, b.steps) > 0 {
			return b.id, true
		}
	}
	return "", false
}

func noRunUnless(ok bool) error {
	if ok {
		return nil
	}
	return &failure{Code: notFound, Message: "This connection has begun no run of this runbook. Call kairos_begin with its URI, or say which run with run."}
}

// maxSolution is the size of the largest solution: a run keeps those of all its steps.
const maxSolution = 64 << 10

// readSolution returns the solution of a call, or nil, and its nonce. Some models send an object as
// the text of its JSON.
func readSolution(args arguments) (solution json.RawMessage, nonce string, err error) {
	solution = args["solution"]
	var text string
	if json.Unmarshal(solution, &text) == nil && json.Valid([]byte(text)) {
		solution = json.RawMessage(text)
	}
	if len(solution) > maxSolution {
		return nil, "", &failure{Code: tooLarge, Message: fmt.Sprintf("The solution has %d bytes, and at most %d are accepted. Shorten it: the last lines of shell.stdout, shell.stderr or mcp.result will do.", len(solution), maxSolution)}
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(solution, &fields) == nil {
		_ = json.Unmarshal(fields["nonce"], &nonce) // one that is not a string is no nonce
	}
	return solution, nonce, nil
}

// next proves the present step of a run.
func (s *session) next(ctx context.Context, c call) (any, error) {
	uri, err := readURI(c.args)
	if err != nil {
		return nil, err
	}
	solution, nonce, err := readSolution(c.args)
	if err != nil {
		return nil, err
	}
	id, err := s.findRun(ctx, c.args, uri, nonce)
	if err != nil {
		return nil, err
	}
	p := proving{session: s, req: c.req, run: id, call: runbook.Call{URI: uri, Solution: solution}}
	return p.prove(ctx)
}

// maxRemark is the size of the largest message of kairos_attest.
const maxRemark = 8 << 10

// errForeignRun refuses to end a run that a person began.
var errForeignRun = &failure{
	Code:    notAllowed,
	Message: "A person began this run, so only a person can end it. Tell the chat why the run should end.",
}

// attest rates a run.
func (s *session) attest(ctx context.Context, c call) (any, error) {
	uri, err := readURI(c.args)
	if err != nil {
		return nil, err
	}
	rating := runbook.Rating{URI: uri}
	if rating.Outcome, err = c.args.required("outcome", 20); err != nil {
		return nil, err
	}
	if rating.Outcome != "success" && rating.Outcome != "failure" {
		return nil, &failure{Code: invalidArgument, Message: "outcome must be success or failure."}
	}
	if rating.Message, err = c.args.required("message", maxRemark); err != nil {
		return nil, err
	}
	if rating.QualityBonus, err = c.args.number("quality_bonus", 0); err != nil {
		return nil, err
	}
	id, err := s.findRun(ctx, c.args, uri, "")
	if err != nil {
		return nil, err
	}
	var attested runbook.Attested
	_, err = s.o.Runs.Apply(ctx, id, func(r runbook.Run, env runbook.Env) (after runbook.Run, err error) {
		if r.By != s.by && r.Status == runbook.Waiting && rating.Outcome == "failure" {
			return r, errForeignRun
		}
		after, attested, err = runbook.Attest(r, rating, env)
		return after, err
	})
	return attested, err
}
