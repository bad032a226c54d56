package trust_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/cmd/nanobot/systemd"
	"nanobot/cmd/nanobot/trust"
	"nanobot/config"
	"nanobot/internal/musttest"
)

// stranger is the user ID of nobody on this machine.
const stranger = 4711

// openFolder is one where others than root may look.
func openFolder(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	dir := musttest.Get(os.MkdirTemp("/tmp", "open-folder-"))(t)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	musttest.Do(t, os.Chmod(dir, 0o755))
	return dir
}

func TestRootReliesOnlyOnPathsThatNobodyElseCanChange(t *testing.T) {
	dir := openFolder(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	folder := func(name string, uid int, mode os.FileMode) {
		musttest.Do(t, os.MkdirAll(at(name), 0o755))
		musttest.Do(t, os.Chmod(at(name), mode))
		musttest.Do(t, os.Chown(at(name), uid, uid))
	}
	link := func(to, name string, uid int) {
		musttest.Do(t, os.Symlink(to, at(name)))
		musttest.Do(t, os.Lchown(at(name), uid, uid))
	}
	folder("roots/inner", 0, 0o755)
	folder("theirs", stranger, 0o775)
	folder("theirs/inner", stranger, 0o755)
	folder("theirs/roots", 0, 0o755)
	folder("group/inner", 0, 0o755)
	musttest.Do(t, os.Chmod(at("group"), 0o775))
	folder("sticky/inner", 0, 0o755)
	musttest.Do(t, os.Chmod(at("sticky"), 0o777|os.ModeSticky))
	link(at("roots"), "link", 0)
	link("roots/../theirs/inner", "relative", 0)
	link(at("roots"), "sticky/link", stranger)
	link(at("roots"), "theirs/link", stranger)
	link("theirs/link", "chain", 0) // from root to root, by way of somebody else
	link("loop", "loop", 0)
	const no = -1
	for path, want := range map[string]int{
		"roots/inner": 0, "theirs/inner": stranger, "link/inner": 0, "relative": stranger, "sticky/inner": 0, "roots/new/er": 0, "theirs/new": stranger,
		"theirs/roots": no, "theirs/roots/new": no, "group/inner": no, "group": no, "sticky": no, "sticky/new": no, "sticky/link/inner": no, "theirs/link/inner": no, "chain/inner": no, "loop/x": no,
		"theirs/link/../roots/inner": no, // which is not roots/inner by the way that a program goes
	} {
		h, err := trust.OwnerOf(dir + "/" + path)
		if want == no && err == nil || want != no && (err != nil || h.UID != want || h.Exists == strings.Contains(path, "new")) {
			t.Errorf("%s: %+v, %v", path, h, err)
		}
	}
	t.Chdir(at("theirs"))
	if h, err := trust.OwnerOf("inner"); err != nil || h.UID != stranger {
		t.Errorf("from there: %+v, %v", h, err)
	}
}

// Where systemd runs, a config in etc/nanobot is a service's, whose state is in var/lib. Where it
// does not, as in a container, it is a config as any.
func TestAConfigInEtcIsAServicesOnlyWhereSystemdRuns(t *testing.T) {
	t.Setenv("STATE_DIRECTORY", "") // enter sets it, and the test puts it back
	t.Setenv("CREDENTIALS_DIRECTORY", "")
	dir := openFolder(t)
	path := filepath.Join(dir, "etc/nanobot/faq/config.json")
	musttest.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	musttest.Do(t, os.WriteFile(path, []byte(`{"terminal": {"command": "true"}}`), 0o644))
	look := func() (state string, err error) {
		musttest.Do(t, os.Unsetenv("STATE_DIRECTORY"))
		b, ok := systemd.FindBot(path)
		if !ok {
			t.Fatal("it is no bot's config")
		}
		b.SetEnviron()
		cfg, err := config.Load(path, os.Environ(), config.Extensions{})
		musttest.Do(t, err)
		return cfg.Gateway.StateDir, trust.CheckAgent(cfg)
	}
	beside := filepath.Join(filepath.Dir(path), ".nanobot")
	if state, err := look(); state != beside || err != nil {
		t.Errorf("without systemd: %s, %v", state, err)
	}
	was := systemd.Booted
	defer func() { systemd.Booted = was }()
	systemd.Booted = filepath.Join(dir, "run/systemd/system")
	musttest.Do(t, os.MkdirAll(systemd.Booted, 0o755))
	if state, err := look(); state != filepath.Join(dir, "var/lib/nanobot/faq") || err == nil || !strings.Contains(err.Error(), "journalctl -u nanobot@faq.service") {
		t.Errorf("with systemd: %s, %v", state, err)
	}
	musttest.Do(t, os.Mkdir(beside, 0o700)) // somebody has started it by hand
	if state, err := look(); state != beside || err != nil {
		t.Errorf("with a state beside it: %s, %v", state, err)
	}
}
