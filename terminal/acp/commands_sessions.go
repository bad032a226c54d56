package acp

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/acp/form"
	"nanobot/terminal/acp/rpc"
)

// maxSessions limits the sessions in a list, maxSessionPages the session/list calls for it.
const maxSessions, maxSessionPages = 15, 10

// sessionInfo is one entry of the agent's session/list.
type sessionInfo struct {
	ID      string               `json:"sessionId"`
	Cwd     rpc.Optional[string] `json:"cwd"`
	Title   rpc.Optional[string] `json:"title"`
	Updated rpc.Optional[string] `json:"updatedAt"`
}

// runSessionsCommand lists the earlier sessions and switches to the chosen one.
func (x *turn) runSessionsCommand(ctx context.Context, wanted string) (said string, err error) {
	if !x.a.initResponse.Capabilities.Session.List {
		return x.t.Words.Text(words.SessionsUnlisted), nil
	}
	all, own, err := x.listSessions(ctx)
	if err != nil {
		return "", err
	}
	if i := slices.IndexFunc(all, func(o form.Option) bool { return o.Value == wanted }); i >= 0 {
		return x.switchSession(ctx, &all[i]) // a full ID is proof enough
	}
	if rest, ok := strings.CutPrefix(wanted+" ", deleteWord+" "); ok && x.canDelete(own) {
		return x.deleteSession(ctx, own, strings.TrimSpace(rest))
	}
	return x.chooseOwnSession(ctx, own, wanted)
}

// chooseOwnSession lets the person choose among the sessions of listSessions.
func (x *turn) chooseOwnSession(ctx context.Context, all []form.Option, wanted string) (said string, err error) {
	if len(all) == 0 {
		return x.t.Words.Text(words.NoSessions), nil
	}
	options := all
	if x.canDelete(all) {
		options = append(slices.Clone(all), form.NewOption(x.t.Words.Text(words.ButtonDelete), deleteWord))
	}
	p := optionPicker{
		question: x.t.Words.Text(words.WhichSession), command: sessionsCommand, options: options, current: x.s.id,
	}
	switch {
	case wanted == "" && !x.a.initResponse.canRestore():
		return p.render(x.t.Words, x.t.Words.Text(words.SessionsFixed)), nil
	case wanted == "":
		return x.offer(ctx, p)
	}
	o := form.FindOption(options, wanted)
	switch {
	case o == nil:
		return p.render(x.t.Words, x.t.Words.Text(words.UnknownSession, terminal.Shorten(wanted, 80))), nil
	case o.Value == deleteWord:
		return x.deleteSession(ctx, all, "")
	}
	return x.switchSession(ctx, o)
}

// listSessions returns the sessions of the agent, newest first, and those among them that are in
// its folder and that the person may choose from: those that this chat has had, and others as
// SessionAccess says.
func (x *turn) listSessions(ctx context.Context) (all, own []form.Option, err error) {
	past, err := x.memory.loadPast(ctx)
	if err != nil {
		return nil, nil, err
	}
	access, err := x.t.SessionAccess(ctx)
	if err != nil {
		return nil, nil, err
	}
	found, err := x.fetchSessions(ctx)
	if err != nil {
		return nil, nil, err
	}
	names := sessionNames(found)
	for i, s := range found {
		o := form.NewOption(names[i], s.ID)
		all = append(all, o)
		if len(own) == maxSessions || s.ID != x.s.id && !s.isIn(x.t.ExecEnv().Dir) {
			continue
		}
		shown := s.ID == x.s.id || slices.ContainsFunc(past,
			func(p pastSession) bool { return p.sessionRecord == sessionRecord{s.ID, x.commandHash} })
		if !shown {
			if shown, err = x.maySeeSession(ctx, s.ID, access); err != nil {
				return nil, nil, err
			}
		}
		if shown {
			own = append(own, o)
		}
	}
	return all, own, nil
}

// maySeeSession reports whether somebody may see a session that this chat has not had.
func (x *turn) maySeeSession(ctx context.Context, id string, access terminal.SessionAccess) (bool, error) {
	if access != terminal.SessionsElsewhere {
		return access == terminal.AllSessions, nil
	}
	ofChat, err := x.t.Memory().Load(ctx, terminal.SessionMemory(id))
	return err == nil && ofChat == "", err
}

// fetchSessions calls session/list until there are no more pages.
func (x *turn) fetchSessions(ctx context.Context) ([]sessionInfo, error) {
	var all []sessionInfo
	params := map[string]any{"cwd": x.t.ExecEnv().Dir}
	for range maxSessionPages {
		result, hung, err := x.a.Call(ctx, x.StopTimeout, "session/list", params, nil)
		if x.a.unusable = x.a.unusable || hung; err != nil {
			return nil, err
		}
		var page struct {
			Sessions []sessionInfo        `json:"sessions"`
			Next     rpc.Optional[string] `json:"nextCursor"`
		}
		if err := rpc.DecodeLenient(result, &page); err != nil {
			return nil, &rpc.Error{Code: rpc.CodeInternal, Message: "the agent's list of sessions is invalid: " + err.Error()}
		}
		all = append(all, page.Sessions...)
		if page.Next.V == "" {
			break
		}
		params["cursor"] = page.Next.V
	}
	all = slices.DeleteFunc(all, func(s sessionInfo) bool { return s.ID == "" })
	slices.SortStableFunc(all, func(a, b sessionInfo) int { return b.time().Compare(a.time()) })
	return all, nil
}

// isIn reports whether a session is about a folder. Some agents list those of all folders.
func (s sessionInfo) isIn(dir string) bool {
	return s.Cwd.V == "" || filepath.Clean(s.Cwd.V) == filepath.Clean(dir)
}

// time returns when a session was last used. Agents that do not report it keep their own order.
func (s sessionInfo) time() time.Time {
	t, err := time.Parse(time.RFC3339, s.Updated.V)
	if err != nil {
		return time.Time{}
	}
	return t
}

// name returns the title of a session with its time in a layout.
func (s sessionInfo) name(layout string) string {
	name := terminal.OneLine(s.Title.V, 60)
	if name == "" {
		name = terminal.Shorten(s.ID, 40)
	}
	if t := s.time(); !t.IsZero() {
		name += t.UTC().Format(layout)
	}
	return name
}

// sessionNames returns names by which people tell the sessions apart: those of one title and minute
// have the seconds, and if these are the same or unknown, the end of the ID.
func sessionNames(all []sessionInfo) []string {
	names := make([]string, len(all))
	rename := func(name func(sessionInfo) string) {
		count := map[string]int{}
		for _, n := range names {
			count[n]++
		}
		for i, s := range all {
			if count[names[i]] > 1 || names[i] == "" {
				names[i] = name(s)
			}
		}
	}
	rename(func(s sessionInfo) string { return s.name(" (2 Jan 15:04)") })
	rename(func(s sessionInfo) string { return s.name(" (2 Jan 15:04:05)") })
	rename(func(s sessionInfo) string { return s.name(" (2 Jan 15:04:05)") + " …" + s.ID[max(0, len(s.ID)-6):] })
	return names
}

// switchSession makes an earlier session the chat's. If that fails, the current session stays.
func (x *turn) switchSession(ctx context.Context, o *form.Option) (said string, err error) {
	if o.Value == x.s.id {
		return x.t.Words.Text(words.SameSession), nil
	}
	s := newSession(x.a, x.t.ExecEnv())
	s.startReplay(o.Value) // before the check below, so that two chats cannot open the session at the same time
	old := x.a.setSession(s)
	if x.isOpenInAnotherChat(o.Value, x.t.Envelope.SessionKey) {
		x.a.setSession(old)
		s.access.Table.Close()
		return x.t.Words.Text(words.SessionElsewhere), nil
	}
	x.notices = nil // those of this turn's session are shown
	if err = x.a.restoreSession(ctx, s, o.Value); err == nil {
		err = x.continueSession(ctx, s)
	}
	if err == nil {
		s.idStored, err = x.memory.setCurrent(ctx, s.id, s.state())
	}
	if err != nil {
		x.a.setSession(old)
		s.access.Table.Close()
		if ctx.Err() == nil && (errors.Is(err, errNotRestorable) || errors.Is(err, errNotReady)) {
			return x.t.Words.Text(words.SessionNotResumed), nil
		}
		return "", err
	}
	x.a.closeSession(ctx, old)
	s.words = x.t.Words
	x.t.Report(s.agentInfo())
	return strings.Join(append([]string{x.t.Words.Text(words.SessionChosen, o.Name)}, x.notices...), "\n\n"), nil
}

// sessionsCommand lists the sessions. Followed by deleteWord it deletes one.
const sessionsCommand, deleteWord = "/sessions", "delete"

// canDelete reports whether one of the listed sessions can be deleted. The current one cannot.
func (x *turn) canDelete(all []form.Option) bool {
	return bool(x.a.initResponse.Capabilities.Session.Delete) && slices.ContainsFunc(all, x.s.isOther)
}

func (s *session) isOther(o form.Option) bool { return o.Value != s.id }

// deleteSession deletes one of the listed sessions from the agent, or lists those that it can
// delete.
func (x *turn) deleteSession(ctx context.Context, all []form.Option, wanted string) (said string, err error) {
	w := x.t.Words
	all = slices.DeleteFunc(slices.Clone(all), func(o form.Option) bool { return !x.s.isOther(o) })
	p := optionPicker{
		question: w.Text(words.DeleteWhich), command: sessionsCommand + " " + deleteWord, options: all, approval: true,
	}
	if wanted == "" {
		return x.offer(ctx, p)
	}
	o := form.FindOption(all, wanted)
	if o == nil {
		return p.render(w, w.Text(words.UnknownSession, terminal.Shorten(wanted, 80))), nil
	}
	if x.isOpenInAnotherChat(o.Value, x.t.Envelope.SessionKey) {
		return w.Text(words.SessionElsewhere), nil
	}
	question := w.Text(words.ApproveDelete, terminal.CodeSpan(o.Name))
	if said, err = x.approve(ctx, question, words.SessionKept); said != "" || err != nil {
		return said, err
	}
	if x.isOpenInAnotherChat(o.Value, x.t.Envelope.SessionKey) { // since the question
		return w.Text(words.SessionElsewhere), nil
	}
	_, hung, err := x.a.Call(ctx, x.StopTimeout, "session/delete", map[string]string{"sessionId": o.Value}, nil)
	if x.a.unusable = x.a.unusable || hung; err != nil {
		return "", err
	}
	return w.Text(words.SessionDeleted, o.Name), nil
}
