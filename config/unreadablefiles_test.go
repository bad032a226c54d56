package config_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/config"
	"nanobot/internal/musttest"
)

func TestAFileThatCannotBeAConfigurationSaysWhy(t *testing.T) {
	folder := t.TempDir()
	musttest.Do(t, os.Mkdir(filepath.Join(folder, "folder"), 0o755))
	listener := musttest.Get(net.Listen("unix", filepath.Join(folder, "socket")))(t)
	defer listener.Close()
	musttest.Do(t, os.Symlink("loop", filepath.Join(folder, "loop")))
	t.Chdir(folder)
	for name, text := range map[string]string{
		"empty": "", "blank": " \r\n\t", "mark": "\ufeff", "latin1": "{\n\"workspace\": \"\xe9\"}",
		"nul": "{\"log\": {}\x00}", "utf16": "\xff\xfe{\x00}\x00", "utf16be": "\xfe\xff\x00{\x00}",
		"huge": strings.Repeat(" ", 1<<20) + "{}",
	} {
		musttest.Do(t, os.WriteFile(name, []byte(text), 0o600))
	}
	for file, want := range map[string]string{
		"missing":    `missing: no such file; run "nanobot init" to write one`,
		"nul/nested": `nul/nested: cannot be read: not a directory`,
		"loop":       `loop: cannot be read: too many levels of symbolic links`,
		"folder":     `folder: is a folder; name the file in it, such as folder/config.json`,
		"socket":     `socket: is not a regular file`,
		"empty":      `empty: is empty; run "nanobot init" to write one, or put {} in it`,
		"blank":      `blank: is empty; run "nanobot init" to write one, or put {} in it`,
		"mark":       `mark: is empty; run "nanobot init" to write one, or put {} in it`,
		"latin1":     `latin1:2:15: must be UTF-8 text (the byte 0xe9 is not)`,
		"nul":        `nul:1:11: must be text (there is a NUL byte here)`,
		"utf16":      `utf16: must be UTF-8 text (this looks like UTF-16: save it again as UTF-8)`,
		"utf16be":    `utf16be: must be UTF-8 text (this looks like UTF-16: save it again as UTF-8)`,
		"huge":       `huge: is too big for a config file (1048578 bytes; the limit is 1048576)`,
		"/dev/zero":  `/dev/zero: is not a regular file`,
	} {
		if got := loadMistakes(t, file, nil).Error(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestAFileWithoutPermissionSaysSo(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	path := writeConfig(t, `{}`)
	musttest.Do(t, os.Chmod(path, 0))
	if got := loadMistakes(t, path, nil).Error(); got != path+": cannot be read: permission denied" {
		t.Error(got)
	}
}

func TestExcessiveNestingIsRefused(t *testing.T) {
	for name, text := range map[string]string{
		"NANOBOT_TERMINAL__MEDIAROOTS": strings.Repeat("[", 1<<19),
		"NANOBOT_TERMINAL":             strings.Repeat(`{"a":`, 1<<17),
	} {
		if got := loadMistakes(t, writeConfig(t, text), nil).Error(); !strings.Contains(got, "nested more than 64 levels deep") {
			t.Error(got)
		}
		if got := loadMistakes(t, "", []string{name + "=" + text}).Error(); !strings.HasPrefix(got, name+": ") || len(got) > 200 {
			t.Errorf("%.300s", got)
		}
	}
}

func TestASymlinkedFileBelongsToTheFolderOfTheLink(t *testing.T) {
	path := writeConfig(t, `{}`)
	link := filepath.Join(t.TempDir(), "config.json")
	musttest.Do(t, os.Symlink(path, link))
	c, err := config.Load(link, nil, extensions())
	if err != nil || c.Workspace != filepath.Dir(link) {
		t.Error(err, c)
	}
}
