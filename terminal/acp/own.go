package acp

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"nanobot/terminal"
)

// ownCall is a call of a method that we carry out for the agent, for which it needs permission
// whether it asks for one or not.
type ownCall struct {
	about tool   // as the person is asked about it; its kind is execute, edit or read
	name  string // for the log: the command line or the path
	real  string // where the path leads without links; "": there is none
	// detail, if not nil, adds to about what is only looked up for a question.
	detail func(about *tool)
}

// Answers to a question of our own.
const (
	allowOnce, allowSession, reject = "once", "session", "no"
)

// ownOptions are what a person is offered who is asked about a call.
func ownOptions(kind string) []permissionOption {
	all := map[string]string{"execute": "Allow commands for this session", "edit": "Allow writing for this session", "read": "Allow reading for this session"}
	return []permissionOption{
		{ID: allowOnce, Name: "Allow once", Kind: "allow_once"},
		{ID: allowSession, Name: all[kind], Kind: "allow_always"},
		{ID: reject, Name: "Reject", Kind: "reject_once"},
	}
}

// permit decides about a call: by the configuration, by a permission that is open, or by the
// person. It returns nil if the call may be carried out.
func (s *session) permit(ctx context.Context, turn *running, c ownCall) *rpcError {
	kind := c.about.kind
	r := rule(s.cfg, kind)
	if kind == "read" && r == "ask" && s.cfg.Rules[kind] == "" {
		// Some agents read every file through us and ask for none of it. Reading stays within the
		// workspace and changes nothing, so it is asked for only where a rule says so.
		r = "allow"
	}
	switch {
	case r == "deny":
		s.decided(turn, c, "refused by rule")
		return refusedCall("the bot's configuration does not allow %s", what[kind])
	case r == "allow":
		if kind != "read" { // which are many, and change nothing
			s.decided(turn, c, "allowed by rule")
		}
		return nil
	case turn == nil:
		return refusedCall("nobody is there to be asked, because no prompt is worked on")
	case s.covered(turn, c):
		return nil
	}
	return s.askOwn(ctx, turn, c)
}

// what names the kinds of calls in an error.
var what = map[string]string{"execute": "commands", "edit": "writing files", "read": "reading files"}

// covered reports whether a permission that is open covers a call.
func (s *session) covered(turn *running, c ownCall) bool {
	if _, ok := s.always.cover(c.about.kind, c.real); ok {
		s.decided(turn, c, "allowed for the session")
		return true
	}
	if tool, ok := turn.grants.cover(c.about.kind, c.real); ok {
		s.decided(turn, c, "allowed with tool call "+terminal.OneLine(tool, titleLength))
		return true
	}
	return false
}

// askOwn asks the person about a call. One question is open at a time, so that an answer for the
// session covers those that wait.
func (s *session) askOwn(ctx context.Context, turn *running, c ownCall) *rpcError {
	ctx, done, ok := s.whileAsking(ctx, turn)
	if !ok {
		return &rpcError{Code: codeCancelled, Message: "the turn has ended"}
	}
	defer done()
	select {
	case s.asking <- struct{}{}:
		defer func() { <-s.asking }()
	case <-ctx.Done():
		return &rpcError{Code: codeCancelled, Message: "cancelled"}
	}
	if s.covered(turn, c) {
		return nil
	}
	if c.detail != nil {
		c.detail(&c.about)
	}
	d := permissions{turn.t, s.cfg, turn.view}.askPerson(ctx, &c.about, ownOptions(c.about.kind))
	switch {
	case ctx.Err() != nil || d.option == nil:
		s.decided(turn, c, "cancelled by "+d.by)
		return &rpcError{Code: codeCancelled, Message: "cancelled"}
	case d.option.ID == reject:
		s.decided(turn, c, "refused by "+d.by)
		if !d.person {
			return refusedCall("nobody allowed it")
		}
		return refusedCall("the person did not allow it")
	case d.option.ID == allowSession:
		s.always.add(grant{method: c.about.kind, all: true})
	}
	s.decided(turn, c, d.option.Name+" by "+d.by)
	return nil
}

// whileAsking ties a question to the turn: the turn does not end before the question has, and the
// question ends when the turn is to.
func (s *session) whileAsking(ctx context.Context, turn *running) (_ context.Context, done func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn == nil || s.turn != turn {
		return nil, nil, false
	}
	ctx, cancel := context.WithCancel(ctx)
	answered := make(chan struct{})
	turn.asks.Go(func() { // while the turn runs, and so before anybody waits for it
		select {
		case <-turn.over:
			cancel()
			<-answered
		case <-answered:
		}
	})
	return ctx, func() {
		cancel()
		close(answered)
	}, true
}

// decided notes a decision for the operator's record.
func (s *session) decided(turn *running, c ownCall, how string) {
	if turn != nil {
		turn.view.decided("permission: %s %q: %s", c.about.kind, c.name, how)
		return
	}
	s.agent.log("info", "permission: "+c.about.kind+" "+c.name+": "+how)
}

func refusedCall(format string, args ...any) *rpcError {
	e := invalid(format, args...)
	e.Code, e.Message = codeRefused, "refused: "+e.Message
	return e
}

// commandCall is terminal/create as a person is asked about it: with all that decides what is run.
func commandCall(dir string, params json.RawMessage) ownCall {
	var p struct {
		Command string                         `json:"command"`
		Args    []string                       `json:"args"`
		Env     []struct{ Name, Value string } `json:"env"`
		Cwd     string                         `json:"cwd"`
	}
	_ = json.Unmarshal(params, &p) // what cannot be read is not carried out either
	line := p.Command
	if len(p.Args) > 0 {
		raw, _ := json.Marshal(append([]string{p.Command}, p.Args...))
		line = words(raw)
	}
	c := ownCall{about: tool{kind: "execute", title: "The agent wants to run a command"}, name: commandLine(params)}
	c.about.input.command, c.about.input.more = head(line)
	var more []string // in one piece, so that a question says how much of it is not shown
	if p.Cwd != "" && p.Cwd != dir {
		more = append(more, "in "+terminal.CodeSpan(p.Cwd))
	}
	for _, v := range p.Env {
		more = append(more, "with "+terminal.CodeSpan(v.Name+"="+v.Value))
	}
	if len(more) > 0 {
		c.about.made = []block{{Type: "text", Text: strings.Join(more, "\n")}}
	}
	return c
}

// fileCall is a call that reads or writes a file, as a person is asked about it.
func fileCall(kind, title, path string, at *spot) ownCall {
	c := ownCall{about: tool{kind: kind, title: title, path: path}, name: terminal.OneLine(path, 500), real: at.path}
	if at.path != path {
		c.about.made = append(c.about.made, block{Type: "text", Text: "which is " + terminal.CodeSpan(at.path)})
	}
	return c
}

// showChange adds to a question what writing the text would change.
func (s *spot) showChange(about *tool, text string) {
	d := fileDiff{Path: s.path, NewText: text}
	old, err := s.content()
	switch {
	case err == nil:
		d.OldText = &old
	case errors.Is(err, errNoFile):
	default:
		return // it is too large, or no text
	}
	about.diffs = []fileDiff{d}
}

// permitted finds a file for a call that is permitted; nil permits all.
func permitted(p terminal.ExecEnv, path string, allow func(*spot) *rpcError) (*spot, *rpcError) {
	at, rerr := find(p, path)
	if rerr != nil || allow == nil {
		return at, rerr
	}
	rerr = allow(at)
	at.close()
	if rerr != nil {
		return nil, rerr
	}
	now, rerr := find(p, path)
	if rerr == nil && now.path != at.path { // somebody has put a link there while the person was asked
		now.close()
		return nil, refusedCall("path %q leads elsewhere than when it was asked for", path)
	}
	return now, rerr
}
