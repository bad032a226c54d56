package channels_test

import (
	"testing"

	"nanobot/channels"
)

func TestANumericUserIDIsWrittenAsNetworksWriteIt(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"1", "123456789", "1189998819991197253"} {
		if err := channels.CheckNumericID(id); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	for _, id := range []string{"", "*", "0", "007", "-100123", "@bob", "bob", "12 34", "1e9", "+7", "99999999999999999999", "７"} {
		if channels.CheckNumericID(id) == nil {
			t.Errorf("%q is taken for an id", id)
		}
	}
}
