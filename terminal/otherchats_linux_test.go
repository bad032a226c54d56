package terminal_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

const otherChats = "it belongs to another chat"

// chatFile writes a file into the folder of a chat and returns its path.
func (b *turnFixture) chatFile(chat, name, content string) string {
	b.t.Helper()
	musttest.Do(b.t, os.MkdirAll(filepath.Join(b.workspace, "users", chat), 0o700))
	return b.putFile(filepath.Join("users", chat, name), content)
}

// pathsInto returns paths with which chat 8 may try to send the photo of chat 7.
func pathsInto(t *testing.T, b *turnFixture, photo string) map[string]string {
	t.Helper()
	outside := t.TempDir()
	mine := filepath.Dir(b.chatFile("8", "mine.png", "mine"))
	folder := filepath.Dir(photo)
	musttest.Do(t, os.Symlink(photo, filepath.Join(mine, "link.png")))
	musttest.Do(t, os.Symlink(folder, filepath.Join(b.workspace, "folder")))
	musttest.Do(t, os.Symlink(filepath.Dir(folder), filepath.Join(outside, "all")))
	musttest.Do(t, os.Symlink("link.png", filepath.Join(mine, "chain.png")))
	musttest.Do(t, os.Link(photo, filepath.Join(b.workspace, "hard.png")))
	musttest.Do(t, os.Link(photo, filepath.Join(mine, "hard.png")))
	musttest.Do(t, os.Link(photo, filepath.Join(outside, "hard.png")))
	held := musttest.Get(os.Open(folder))(t)
	t.Cleanup(func() { _ = held.Close() })
	file := musttest.Get(os.Open(photo))(t)
	t.Cleanup(func() { _ = file.Close() })
	return map[string]string{
		"its path":                          photo,
		"dots":                              mine + "/../7/photo.png",
		"dots and slashes":                  b.workspace + "//users/./8/..//7/photo.png",
		"a link to it":                      mine + "/link.png",
		"a link to a link":                  mine + "/chain.png",
		"a link to its folder":              b.workspace + "/folder/photo.png",
		"a link to all folders":             outside + "/all/7/photo.png",
		"a hard link in the workspace":      b.workspace + "/hard.png",
		"a hard link in one's own folder":   mine + "/hard.png",
		"a hard link elsewhere":             outside + "/hard.png",
		"an open folder":                    fmt.Sprintf("/proc/%d/fd/%d/photo.png", os.Getpid(), held.Fd()),
		"an open file":                      fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), file.Fd()),
		"the root of a process":             fmt.Sprintf("/proc/%d/root%s", os.Getpid(), photo),
		"the folder of a process":           fmt.Sprintf("/proc/%d/cwd/%s", os.Getpid(), relativeToHere(t, photo)),
		"a file that is not there":          folder + "/none.png",
		"a folder of a chat that is not":    filepath.Dir(folder) + "/9/none.png",
		"no chat's folder":                  b.putFile("users/stray.png", "x"),
		"a file below a file that is there": photo + "/x.png",
	}
}

func relativeToHere(t *testing.T, path string) string {
	t.Helper()
	here := musttest.Get(os.Getwd())(t)
	rel := musttest.Get(filepath.Rel(here, path))(t)
	return rel
}

func TestNoFileOfAnotherChatIsSentWhateverMediaRootsSays(t *testing.T) {
	b := newTurnFixture(t, "rich", "")
	photo := b.chatFile("7", "photo.png", "of chat 7")
	ways := pathsInto(t, b, photo)
	b.req.ChatID = "8"
	mine := filepath.Join(b.workspace, "users/8/mine.png")
	for name, roots := range map[string][]string{
		"by default": nil, "everything": {"/"}, "all chats": {b.workspace, filepath.Join(b.workspace, "users"), os.TempDir()},
		"the chat by name": {filepath.Dir(photo), filepath.Dir(mine), os.TempDir()},
	} {
		b.opts.Config.MediaRoots = roots
		for way, path := range ways {
			b.opts.Config.Command = frame(object{"type": "message", "text": "look", "media": []string{path, mine}})
			b.run()
			if len(b.frames) != 1 || fileNames(b.frames[0].Checked) != "mine.png" {
				t.Errorf("%s, %s: sent %+v", name, way, b.frames)
			} else if got := b.frames[0].Text; roots == nil && !strings.Contains(got, otherChats) {
				t.Errorf("%s, %s: said %q", name, way, got)
			}
		}
	}
}

func TestAPathIntoAnotherChatInPlainTextIsNotSent(t *testing.T) {
	b := newTurnFixture(t, "plain", "")
	ways := pathsInto(t, b, b.chatFile("7", "photo.png", "of chat 7"))
	b.req.ChatID, b.opts.Config.MediaRoots = "8", []string{"/"}
	for way, path := range ways {
		b.opts.Config.Command = "echo " + path
		if b.run(); len(b.frames) != 1 || len(b.frames[0].Checked) != 0 {
			t.Errorf("%s: %+v", way, b.frames)
		}
	}
}

// The refusal of a path into another chat's folder must not reveal whether the file exists.
func TestARefusalDoesNotRevealWhetherAFileOfAnotherChatExists(t *testing.T) {
	b := newTurnFixture(t, "rich", "")
	photo := b.chatFile("7", "photo.png", "of chat 7")
	b.req.ChatID = "8"
	said := func(path string) string {
		b.opts.Config.Command = frame(object{"type": "message", "text": "", "media": []string{path}})
		b.run()
		return strings.ReplaceAll(b.frames[0].Text, filepath.Base(path), "NAME")
	}
	wanttest.Equal(t, "of one that is not there:", said(photo), said(filepath.Dir(photo)+"/phot0.png"))
}

func TestAHardLinkIsSentUnlessAnotherNameIsPrivate(t *testing.T) {
	b := newTurnFixture(t, "rich", "")
	b.req.ChatID = "8"
	state := t.TempDir()
	musttest.Do(t, os.MkdirAll(filepath.Join(state, "spool", "deep"), 0o700))
	b.opts.Private = []string{filepath.Join(state, "spool"), filepath.Join(state, "none")}
	secret := filepath.Join(state, "spool", "deep", "secret.png")
	musttest.Do(t, os.WriteFile(secret, []byte("secret"), 0o600))
	musttest.Do(t, os.Link(secret, filepath.Join(b.workspace, "secret.png")))
	good := b.putFile("good.png", "good")
	musttest.Do(t, os.Link(good, filepath.Join(b.workspace, "second.png")))
	musttest.Do(t, os.Link(b.chatFile("8", "mine.png", "mine"), filepath.Join(b.workspace, "users/8/twice.png")))
	var media []string
	for _, name := range []string{"secret.png", "good.png", "second.png", "users/8/twice.png"} {
		media = append(media, filepath.Join(b.workspace, name))
	}
	b.opts.Config.Command = frame(object{"type": "message", "text": "", "media": media})
	b.run().expectFrames("done", fmt.Sprintf("message: ⚠ %q was not sent: one of the gateway's own files. [good.png] [second.png] [twice.png]", media[0]))
}

// An agent may replace its own chat's folder by a symbolic link.
func TestALinkIsNotTheFolderOfAChat(t *testing.T) {
	b := newTurnFixture(t, "rich", `rm -r users/8 && ln -s 7 users/8 && echo '{"type":"message","text":"","media":["'$PWD'/users/8/photo.png"]}'`)
	b.chatFile("7", "photo.png", "of chat 7")
	b.req.ChatID = "8"
	if b.run(); len(b.frames) != 1 || len(b.frames[0].Checked) != 0 || !strings.Contains(b.frames[0].Text, otherChats) {
		t.Errorf("%+v", b.frames)
	}
}
