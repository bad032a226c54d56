package web_test

import (
	"testing"

	"nanobot/channels"
)

func TestFileLimitIsTheLargestFileThatABrowserCanFetch(t *testing.T) {
	if most, words := newFixture(t).ch.FileLimit(channels.Chat{}, ""); most != 2<<30 || words != "files here may have up to 2048 MB" {
		t.Errorf("%d, %q", most, words)
	}
}
