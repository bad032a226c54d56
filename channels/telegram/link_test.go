package telegram_test

import "testing"

func TestMessagesOfSupergroupsHaveAddresses(t *testing.T) {
	r := newTestChannel(t)
	for _, c := range []struct{ chat, id, want string }{
		{"-1001234567890", "7", "https://t.me/c/1234567890/7"},
		{"-1001234567890_45", "9", "https://t.me/c/1234567890/45/9"},
		{"-1001234567890", "99:7", "https://t.me/c/1234567890/7"},
		{"-123", "-1001234567890/7", "https://t.me/c/1234567890/7"}, // the group became a supergroup
		{"-123", "7", ""},
		{"42", "7", ""},
		{"-1001234567890", "0", ""},
		{"-1001234567890", "x", ""},
		{"-1000000000000", "7", ""},
	} {
		for _, group := range []bool{false, true} {
			if got := r.LinkMessage(chatOf(c.chat), group, c.id); got != c.want {
				t.Errorf("%s of %s: %q, want %q", c.id, c.chat, got, c.want)
			}
		}
	}
}
