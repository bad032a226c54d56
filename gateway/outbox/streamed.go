package outbox

import (
	"bytes"
	"slices"

	"nanobot/channels"
	"nanobot/internal/words"
)

// Shown is a transient message that shows a part of an answer while the agent writes it. Out is its
// content, as far as the network has confirmed it.
type Shown struct {
	ID  string
	Out channels.Outgoing
}

// plan splits the message into parts. Where its beginning is shown, text parts replace what is
// shown, and so does a file with the whole text as its caption, which is sent as a new message.
func (m *Message) plan(ch channels.Channel) error {
	planned, err := ch.Plan(m.Message)
	if err != nil {
		return err
	}
	parts := planned
	captioned := len(planned) == 1 && len(m.Media) > 0
	_, edits := ch.(channels.Replacer)
	if edits && len(m.Replace) > 0 && m.Screen == nil && !captioned && slices.ContainsFunc(planned, hasFiles) {
		if parts, err = m.planAroundFiles(ch, planned); err != nil {
			return err
		}
		m.unstreamed = planned
	}
	m.parts = parts
	if m.Live && len(parts) > 0 {
		m.parts[len(parts)-1].Live = true // a caption that is too long is sent before
	}
	for i := range m.parts {
		m.parts[i].InOrder = !m.GivesWay && m.Silent && m.Sequence > 0
		m.parts[i].GivesWay = m.GivesWay || m.parts[i].InOrder
		files := hasFiles(m.parts[i])
		if i < len(m.Replace) && (!files || captioned) && (i == 0 || m.parts[i-1].Replace != "") {
			m.parts[i].Replace = m.Replace[i].ID
			m.parts[i].Unchanged = !files && looksSame(m.Replace[i].Out, m.parts[i])
			// An edit notifies nobody, and neither does the message that is sent where it is
			// refused: people are told by another one.
			m.parts[i].Silent = m.parts[i].Silent || edits && !files
		}
	}
	return nil
}

// planAroundFiles returns the parts of a message with files whose beginning is shown. A text cannot
// be edited into a file, so the text stays in messages of its own and the files follow. A text that
// has become too long follows as a file, too, with its end.
func (m *Message) planAroundFiles(ch channels.Channel, planned []channels.Outgoing) ([]channels.Outgoing, error) {
	text, files := m.Message, m.Message
	text.Media, text.Buttons = nil, nil
	files.Text = ""
	if !m.Mention { // of the author of the message that it replies to
		files.ReplyTo = ""
	}
	parts, err := ch.Plan(text)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(parts, hasFiles) {
		more, err := ch.Plan(files)
		return append(parts, more...), err
	}
	for _, end := range []string{"\n\n" + m.words.Text(words.RestInFile), ""} {
		text.Text = m.ShownText + end
		if parts, err = ch.Plan(text); err == nil && len(parts) == len(m.Replace) && !slices.ContainsFunc(parts, hasFiles) {
			break
		}
	}
	if err != nil || slices.ContainsFunc(parts, hasFiles) {
		return planned, nil //nolint:nilerr // what is shown cannot stay, so that the message is sent as a new one
	}
	files.Text, files.ReplyTo, files.Media = Ending(m.Text, m.Format), m.ReplyTo, nil
	for _, p := range planned {
		files.Media = append(files.Media, p.Media...) // with the text as a file
	}
	more, err := ch.Plan(files)
	if text.Text == m.ShownText { // it has no room for the notice, but the message with the file may have
		files.Text = m.words.Text(words.WholeAnswerInFile) + "\n\n" + files.Text
		if noticed, err := ch.Plan(files); err == nil && len(noticed) == len(more) {
			more = noticed
		}
	}
	return append(parts[:min(len(parts), len(m.Replace))], more...), err
}

// Ending returns the end of a text that is too long for messages. It fits one message, and the
// caption of a file.
func Ending(text string, format channels.Format) string {
	return channels.Ending(text, format, min(len(text)/10, 800))
}

func hasFiles(o channels.Outgoing) bool { return len(o.Media) > 0 }

// looksSame reports whether two messages look the same in the chat.
func looksSame(a, b channels.Outgoing) bool {
	return a.Text != "" && a.Text == b.Text && a.Format == b.Format && a.Details == b.Details &&
		bytes.Equal(a.Form, b.Form) && slices.Equal(a.Buttons, b.Buttons)
}

// Unused returns the transient messages in Replace that no part of the posted message replaces.
func (m *Message) Unused() []Shown {
	return slices.DeleteFunc(slices.Clone(m.Replace), func(s Shown) bool {
		_, used := m.Replacing(s.ID)
		return used
	})
}

// Replacing returns the part of the posted message that replaces a transient message.
func (m *Message) Replacing(id string) (channels.Outgoing, bool) {
	i := slices.IndexFunc(m.parts, func(o channels.Outgoing) bool { return o.Replace == id })
	if i < 0 {
		return channels.Outgoing{}, false
	}
	return m.parts[i], true
}

// NotifiesNobody reports whether no part of the posted message notifies people.
func (m *Message) NotifiesNobody() bool {
	return len(m.parts) > 0 && !slices.ContainsFunc(m.parts, func(o channels.Outgoing) bool { return !o.Silent })
}
