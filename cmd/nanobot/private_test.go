package main

import (
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"

	"nanobot/channels/telegram/telegramtest"
)

func TestEverythingInTheStateIsPrivate(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{agent: `echo '{"type":"message","text":"got it","media":["'$PWD'/a.png"]}'`})
	b.api.UserPosts(telegramtest.UserPost{Chat: 7, Text: "look", Media: &telegramtest.Media{
		Kind: "document", Name: "notes.txt", Content: []byte("notes"),
	}})
	b.api.WaitForText(t, 7, "got it")
	b.signal(syscall.SIGTERM)
	b.awaitExit()
	workspace := filepath.Dir(b.cfg)
	for _, folder := range []string{filepath.Join(workspace, ".nanobot"), filepath.Join(workspace, "users", "7")} {
		entries := 0
		err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			entries++
			info, err := e.Info()
			if err == nil && info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s is open to others: %v", path, info.Mode())
			}
			return err
		})
		if err != nil || entries < 2 {
			t.Errorf("%s has %d entries: %v", folder, entries, err)
		}
	}
}
