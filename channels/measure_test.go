package channels_test

import (
	"testing"

	"nanobot/channels"
)

func TestMeasuresCountAsTheNetworksDo(t *testing.T) {
	for _, tt := range []struct {
		text         string
		utf16, runes int
	}{
		{"", 0, 0}, {"abc", 3, 3}, {"é", 1, 1}, {"狐", 1, 1}, {"👍", 2, 1}, {"👍🏽", 4, 2}, {"\xff", 1, 1},
	} {
		if n := channels.UTF16(tt.text); n != tt.utf16 {
			t.Errorf("UTF16(%q) = %d, want %d", tt.text, n, tt.utf16)
		}
		if n := channels.Runes(tt.text); n != tt.runes {
			t.Errorf("Runes(%q) = %d, want %d", tt.text, n, tt.runes)
		}
	}
}
