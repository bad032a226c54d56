package telegram_test

import (
	"testing"

	"nanobot/channels/channelstest"
	"nanobot/channels/telegram/telegramtest"
)

func TestTheChannelKeepsItsContract(t *testing.T) {
	channelstest.Run(t, func(t *testing.T) channelstest.Subject {
		r := newRig(t)
		return channelstest.Subject{
			Channel:    r.Channel,
			Chat:       chatOf("42"),
			Sent:       func() []channelstest.Sent { return sent(t, r.server) },
			Say:        func(text string) { r.server.Say(person, text) },
			Redelivers: true,
			Normal:     channelstest.Letters,
		}
	})
}

// sent is what the person was shown, one element a call.
func sent(t *testing.T, s *telegramtest.Server) []channelstest.Sent {
	t.Helper()
	var out []channelstest.Sent
	last := 0
	for _, m := range s.Shown(person) {
		if m.Call != last {
			out = append(out, channelstest.Sent{})
			last = m.Call
		}
		one := &out[len(out)-1]
		one.Text += m.Words()
		if info := m.File(); info != nil {
			f, ok := s.File(info.FileID)
			if !ok {
				t.Fatalf("there is no file %s", info.FileID)
			}
			one.Files = append(one.Files, channelstest.SentFile{Name: f.Name, Content: string(f.Content)})
		}
	}
	return out
}
