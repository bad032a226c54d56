package access

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/acp/rpc"
	"nanobot/terminal/acp/view"
	"nanobot/terminal/steps"
)

// clientCall is a call of a client method (fs or terminal), which needs permission whether the
// agent asks for one or not.
type clientCall struct {
	tool     view.ToolCall // shown in the question; its kind is execute, edit or read
	title    words.Key     // says what the agent wants
	logName  string        // the command or the path, quoted for the log, without values of variables
	realPath string        // the path without symbolic links; "" for commands
	target   string        // the file behind a symbolic link; "": none
	// protected means that a person who is asked decides about this call alone: no permission in
	// force covers it.
	protected bool
	// variables are those of a command.
	variables []string
	// makes reports whether writing the file makes exactly these changes; nil: nothing is written.
	makes func([]view.FileDiff) bool
	// addDetail, if not nil, adds details that are expensive to compute, before a question is
	// asked.
	addDetail func(about *view.ToolCall)
}

// Option IDs of the gateway's own questions.
const (
	allowOnce, allowSession, reject = "once", "session", "no"
)

// callOptions returns the options of the question about a call.
func callOptions(w words.Words, kind string) []option {
	all := map[string]words.Key{
		"execute": words.ButtonAllowCommands, "edit": words.ButtonAllowWriting,
		"read": words.ButtonAllowReading,
	}
	return []option{
		{ID: allowOnce, Name: w.Text(words.ButtonAllowOnce), Kind: "allow_once"},
		{ID: allowSession, Name: w.Text(all[kind]), Kind: "allow_always"},
		{ID: reject, Name: w.Text(words.ButtonReject), Kind: "reject_once"},
	}
}

// describe sets the title and the details of the question in the language of the person.
func (c *clientCall) describe(w words.Words) {
	c.tool.Title = w.Text(c.title)
	var more []string // one block, so that a question states how much of it is omitted
	c.tool.Notes = nil
	for _, v := range c.variables {
		more = append(more, w.Text(words.CommandVariable, view.CodeLine(v)))
	}
	if c.target != "" {
		c.tool.Notes = append(c.tool.Notes, w.Text(words.FileTarget, view.CodeLine(c.target)))
	}
	if c.protected {
		c.tool.Notes = append(c.tool.Notes, w.Text(words.FileProtected))
	}
	if len(more) > 0 {
		c.tool.Content = []rpc.Block{{Type: "text", Text: strings.Join(more, "\n")}}
	}
}

// checkPermission decides about a call: by the configuration, by a permission in force, or by
// asking the person. It returns nil if the call is allowed.
func (s *Session) checkPermission(ctx context.Context, turn *Turn, c clientCall) *rpc.Error {
	kind := c.tool.Kind
	r := ruleFor(s.policy, kind)
	if kind == "read" && r == "ask" && s.policy.Rules[kind] == "" {
		// Some agents read every file through the client and ask for none of it. Reading stays
		// within the workspace and changes nothing, so it needs a question only if a rule says so.
		r = "allow"
	}
	switch {
	case r == "deny":
		s.auditDecision(turn, c, "refused by rule")
		return rpc.Refused("the bot's configuration does not allow %s", callKindNames[kind])
	case r == "allow":
		if kind != "read" { // reads are frequent and change nothing
			s.auditDecision(turn, c, "allowed by rule")
		}
		return nil
	case turn == nil:
		return rpc.Refused("there is nobody to ask, because no prompt is running")
	case s.hasGrant(turn, c):
		return nil
	}
	return s.askAboutCall(ctx, turn, c)
}

// callKindNames are the kinds of calls in error messages.
var callKindNames = map[string]string{"execute": "commands", "edit": "writing files", "read": "reading files"}

// hasGrant reports whether a permission in force covers a call.
func (s *Session) hasGrant(turn *Turn, c clientCall) bool {
	if c.protected {
		return false
	}
	if _, ok := s.grants.useFor(c); ok {
		s.auditDecision(turn, c, "allowed for the session")
		return true
	}
	if tool, ok := turn.grants.useFor(c); ok {
		s.auditDecision(turn, c, "allowed with tool call "+terminal.OneLine(tool, steps.TitleLength))
		return true
	}
	return false
}

// errTurnEnded is the response to a call that came too late.
var errTurnEnded = &rpc.Error{Code: rpc.CodeCancelled, Message: "the turn has ended"}

// askAboutCall asks the person about a call. Only one question is open at a time, so that an answer
// for the whole session also covers the calls that wait.
func (s *Session) askAboutCall(ctx context.Context, turn *Turn, c clientCall) *rpc.Error {
	ctx, done, ok := s.BeginQuestion(ctx, turn)
	if !ok {
		return errTurnEnded
	}
	defer done()
	if s.hasGrant(turn, c) {
		return nil
	}
	c.describe(turn.view.Words())
	if c.addDetail != nil {
		c.addDetail(&c.tool)
	}
	options := callOptions(turn.view.Words(), c.tool.Kind)
	if c.protected {
		options = slices.DeleteFunc(options, func(o option) bool { return o.ID == allowSession })
	}
	labels := make([]string, len(options))
	for i, o := range options {
		labels[i] = o.Name
	}
	d := decider{s.policy, turn.view}.askPerson(ctx, &c.tool, options, labels)
	switch {
	case ctx.Err() != nil || d.option == nil:
		s.auditDecision(turn, c, "cancelled by "+d.by)
		return &rpc.Error{Code: rpc.CodeCancelled, Message: "cancelled"}
	case d.option.ID == reject:
		s.auditDecision(turn, c, "refused by "+d.by)
		if !d.person {
			return rpc.Refused("nobody allowed it")
		}
		return rpc.Refused("the person did not allow it")
	case d.option.ID == allowSession:
		s.grants.add(grant{method: c.tool.Kind, every: true})
	}
	english := findOptionID(callOptions(words.Words{}, c.tool.Kind), d.option.ID)
	d.option = &english
	s.auditDecision(turn, c, d.String())
	return nil
}

// findOptionID returns the option with an ID, which must exist.
func findOptionID(options []option, id string) option {
	return options[slices.IndexFunc(options, func(o option) bool { return o.ID == id })]
}

// auditDecision records a decision in the audit log. The decision is first, since the agent chooses
// how long the rest is.
func (s *Session) auditDecision(turn *Turn, c clientCall, how string) {
	if turn != nil {
		turn.view.Audit("permission: %s: %s: %s", c.tool.Kind, how, c.logName)
		return
	}
	s.log("info", "permission: "+c.tool.Kind+": "+how+": "+c.logName)
}

// newCommandCall describes terminal/create for a question, with everything that determines which
// command runs.
func newCommandCall(dir string, p terminalParams) clientCall {
	line := view.ShellCommand(p.Command, p.Args)
	c := clientCall{tool: view.ToolCall{Kind: "execute"}, title: words.WantsCommand, logName: terminal.AuditQuote(line)}
	c.tool.Input = view.ToolInput{Command: line, Folder: p.Cwd}
	if c.tool.Input.Folder = c.tool.Input.FolderOutside(dir); c.tool.Input.Folder != "" {
		c.logName += " in " + terminal.AuditQuote(p.Cwd)
	}
	var names []string // values may be secrets
	for _, v := range p.Env {
		c.variables, names = append(c.variables, v.Name+"="+v.Value), append(names, v.Name)
	}
	if len(names) > 0 {
		c.logName += " with " + terminal.AuditQuote(strings.Join(names, " "))
	}
	return c
}

// newFileCall describes reading or writing a file for a question.
func newFileCall(kind string, title words.Key, path string, at *agentFile) clientCall {
	c := clientCall{
		tool: view.ToolCall{Kind: kind, Path: path}, title: title, logName: terminal.AuditQuote(path),
		realPath: at.path,
	}
	if at.path != path {
		c.target = at.path
	}
	return c
}

// diff returns the change that writing text would make.
func (a *agentFile) diff(text string) view.FileDiff {
	d := view.FileDiff{Path: a.path, NewText: text}
	old, err := a.content()
	switch {
	case err == nil:
		d.OldText = &old
	case errors.Is(err, fs.ErrNotExist):
	default: // too large, or not text: the new text is shown as a whole
		d.OldText = new(string)
	}
	return d
}

// makes reports whether writing text to the file makes exactly these changes of it. The texts of a
// change may be those of the whole file, or of a part that the file has once.
func (a *agentFile) makes(changes []view.FileDiff, text string) bool {
	now, err := a.content()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	for _, d := range changes {
		old := ""
		if d.OldText != nil {
			old = *d.OldText
		}
		at := strings.Index(now, old)
		switch {
		case now == old:
			now = d.NewText
		case old != "" && at >= 0 && at == strings.LastIndex(now, old):
			now = now[:at] + d.NewText + now[at+len(old):]
		default:
			return false
		}
	}
	return now == text
}

// resolvePermittedFile resolves a file and asks allow for permission. The file is resolved again
// afterwards, since a person may take minutes to answer.
func resolvePermittedFile(p terminal.ExecEnv, path string, allow func(*agentFile) *rpc.Error) (*agentFile, *rpc.Error) {
	at, rerr := resolveFile(p, path)
	if rerr != nil {
		return nil, rerr
	}
	rerr = allow(at)
	at.close()
	if rerr != nil {
		return nil, rerr
	}
	now, rerr := resolveFile(p, path)
	if rerr == nil && now.path != at.path { // a symbolic link was created while the person was asked
		now.close()
		return nil, rpc.Refused("path %q leads to another file than when permission was asked", path)
	}
	return now, rerr
}
