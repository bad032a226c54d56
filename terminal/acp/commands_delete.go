package acp

import (
	"context"
	"slices"

	"nanobot/internal/words"
	"nanobot/terminal"
	"nanobot/terminal/acp/form"
)

// sessionsCommand lists the sessions. Followed by deleteWord it deletes one.
const sessionsCommand, deleteWord = "/sessions", "delete"

// canDelete reports whether one of the listed sessions can be deleted. The current one cannot.
func (x *turn) canDelete(all []form.Option) bool {
	return bool(x.a.initResponse.Capabilities.Session.Delete) && slices.ContainsFunc(all, x.isOther)
}

func (x *turn) isOther(o form.Option) bool { return o.Value != x.s.id }

// deleteSession deletes one of the listed sessions from the agent, or lists those that it can
// delete.
func (x *turn) deleteSession(ctx context.Context, all []form.Option, wanted string) (said string, err error) {
	w := x.t.Words
	all = slices.DeleteFunc(slices.Clone(all), func(o form.Option) bool { return !x.isOther(o) })
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
	_, hung, err := x.a.Call(ctx, x.StopTimeout, "session/delete", map[string]string{"sessionId": o.Value}, nil)
	if x.a.unusable = x.a.unusable || hung; err != nil {
		return "", err
	}
	return w.Text(words.SessionDeleted, o.Name), nil
}
