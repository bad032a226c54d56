package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"nanobot/gateway/runbook"
)

// kairosBegin starts a run, which belongs to the connection's chat.
func (s *session) kairosBegin(ctx context.Context, c call) (any, error) {
	b, step, err := s.findStep(ctx, c.args)
	if err != nil {
		return nil, err
	}
	if err := s.admitWrites(1); err != nil {
		return nil, err
	}
	r, a, err := s.options.Runs.Begin(ctx, runbook.Start{
		Runbook: b.Runbook, Source: b.source, By: s.by, Chat: s.chat, Step: step.Index,
	})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastRuns[b.source] = startedRun{r.ID, len(b.Steps)}
	return a, nil
}

// ownsRun reports whether a run belongs to the connection's chat or, if the connection acts for no
// chat, was started by an agent without a chat. Other runs do not exist for the connection:
// `nanobot runbook run` proves its own runs.
func (s *session) ownsRun(r runbook.Run) bool {
	return r.Chat == s.chat && (s.chat != "" || r.By == s.by)
}

// loadRun returns a run of this connection.
func (s *session) loadRun(ctx context.Context, id string) (runbook.Run, error) {
	r, err := s.options.Runs.Load(ctx, id)
	if err == nil && !s.ownsRun(r) {
		return runbook.Run{}, runbook.ErrNoRun
	}
	return r, err
}

// findRun returns the ID of the run of a call: the run that it names, else the one that has issued
// the nonce, else the last one that this connection has started from the URI's runbook.
func (s *session) findRun(ctx context.Context, args *arguments, uri, nonce string) (string, error) {
	named := args.text("run", 100)
	if args.err != nil {
		return "", args.err
	}
	if named != "" {
		_, err := s.loadRun(ctx, named)
		if errors.Is(err, runbook.ErrNoRun) {
			return "", &failure{Code: notFound, Message: fmt.Sprintf("There is no run %q. Call kairos_begin to begin one.",
				named)}
		}
		return named, err
	}
	last, ok := s.lastRun(uri)
	if nonce == "" {
		return last, noRunError(ok)
	}
	if r, err := s.options.Runs.Load(ctx, last); ok && err == nil && r.HasNonce(nonce) {
		return last, nil // without a search through all runs
	}
	r, err := s.options.Runs.FindByNonce(ctx, nonce)
	switch {
	case err == nil && s.ownsRun(r):
		return r.ID, nil
	case err == nil || errors.Is(err, runbook.ErrNoRun):
		return last, noRunError(ok)
	}
	return "", err
}

// lastRun returns the last run that this connection has started from the runbook of a URI.
func (s *session) lastRun(uri string) (id string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for source, b := range s.lastRuns {
		if source.StepIndex(uri, b.steps) > 0 {
			return b.id, true
		}
	}
	return "", false
}

func noRunError(ok bool) error {
	if ok {
		return nil
	}
	return &failure{
		Code: notFound,
		Message: "This connection has begun no run of this runbook. Call kairos_begin with its URI, or say which run with " +
			"run.",
	}
}

// maxSolution limits a solution, since a run stores those of all its steps.
const maxSolution = 64 << 10

// readSolution returns the solution of a call, or nil, and its nonce. Some models send the JSON of
// an object as a string.
func readSolution(args *arguments) (solution json.RawMessage, nonce string) {
	solution = args.values["solution"]
	var text string
	if json.Unmarshal(solution, &text) == nil && json.Valid([]byte(text)) {
		solution = json.RawMessage(text)
	}
	if len(solution) > maxSolution {
		args.fail(tooLarge,
			"The solution has %d bytes, and at most %d are accepted. Shorten it: the last lines of shell.stdout, shell.stderr "+
				"or mcp.result will do.", len(solution), maxSolution)
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(solution, &fields) == nil {
		_ = json.Unmarshal(fields["nonce"], &nonce) // only a string is a nonce
	}
	return solution, nonce
}

// kairosNext proves the current step of a run.
func (s *session) kairosNext(ctx context.Context, c call) (any, error) {
	uri := readURI(c.args)
	solution, nonce := readSolution(c.args)
	id, err := s.findRun(ctx, c.args, uri, nonce)
	if err != nil {
		return nil, err
	}
	p := proofCall{session: s, req: c.req, run: id, call: runbook.Call{URI: uri, Solution: solution}}
	return p.prove(ctx)
}

// maxRating limits the message of kairos_attest.
const maxRating = 8 << 10

// errPersonsRun refuses to end a run that a person has started.
var errPersonsRun = &failure{
	Code:    notAllowed,
	Message: "A person began this run, so only a person can end it. Tell the chat why the run should end.",
}

// kairosAttest rates a run.
func (s *session) kairosAttest(ctx context.Context, c call) (any, error) {
	uri := readURI(c.args)
	rating := runbook.Rating{
		URI: uri, Outcome: c.args.requiredText("outcome", 20), Message: c.args.requiredText("message", maxRating),
		QualityBonus: c.args.number("quality_bonus", 0),
	}
	if rating.Outcome != "success" && rating.Outcome != "failure" {
		c.args.refuse("outcome must be success or failure.")
	}
	id, err := s.findRun(ctx, c.args, uri, "")
	if err != nil {
		return nil, err
	}
	var attested runbook.Attested
	_, err = s.options.Runs.Apply(ctx, id, func(r runbook.Run, env runbook.Env) (after runbook.Run, err error) {
		if r.By != s.by && r.Status == runbook.Waiting && rating.Outcome == "failure" {
			return r, errPersonsRun
		}
		after, attested, err = runbook.Attest(r, rating, env)
		return after, err
	})
	return attested, err
}
