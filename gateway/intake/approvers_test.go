package intake_test

import (
	"testing"

	"nanobot/gateway/intake"
)

func TestApproversAreComparedByChannelAndID(t *testing.T) {
	list := []string{"telegram:1", "example:@ann:example.org"}
	for _, test := range []struct {
		list          []string
		channel, user string
		want          bool
	}{
		{nil, "telegram", "5", true},
		{list, "telegram", "1", true},
		{list, "discord", "1", false},
		{list, "telegram", "12", false},
		{list, "telegram", "", false},
		{list, "example", "@ann:example.org", true},
	} {
		if got := intake.Approves(test.list, test.channel, test.user); got != test.want {
			t.Errorf("%q, %s:%s: %v", test.list, test.channel, test.user, got)
		}
	}
}
