package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAFrameDoesNotFillTheDisk(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{agent: `truncate -s 100G huge.bin
echo "{\"type\":\"message\",\"text\":\"look\",\"media\":[\"$PWD/huge.bin\",\"$PWD/a.png\"]}"`})
	b.api.UserSends(7, "hi")
	if m := b.awaitMessage(7, "huge.bin"); m.TextOrCaption() != "look\n⚠ \"huge.bin\" (107.4 GB) was not sent: Telegram accepts files up to 2000 MB." || len(m.Photo) == 0 {
		t.Errorf("shown is %q with %d pictures", m.TextOrCaption(), len(m.Photo))
	}
	spool := filepath.Join(filepath.Dir(b.cfg), ".nanobot", "spool")
	left, err := filepath.Glob(spool + "/*/huge.bin")
	if _, serr := os.Stat(spool); err != nil || serr != nil || len(left) > 0 {
		t.Errorf("the spool has %q (%v, %v)", left, err, serr)
	}
}
