package access

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"nanobot/terminal"
	"nanobot/terminal/acp/acptest"
	"nanobot/terminal/acp/rpc"
)

// fileFixture is a workspace, with files of the gateway in it and other files outside.
type fileFixture struct {
	terminal.ExecEnv
	t       *testing.T
	outside string
}

func newFileFixture(t *testing.T) *fileFixture {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &fileFixture{t: t, outside: filepath.Join(base, "outside")}
	w.Dir = filepath.Join(base, "work")
	w.Roots = []string{w.Dir}
	w.Private = []string{filepath.Join(w.Dir, "config.json"), filepath.Join(w.Dir, ".state"), filepath.Join(w.Dir, "later.key")}
	for _, dir := range []string{w.Dir, w.outside, filepath.Join(w.Dir, ".state"), filepath.Join(w.Dir, "sub"), w.Dir + "space"} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.putFile(filepath.Join(w.outside, "secret"), "SECRET")
	w.putFile(w.Dir+"space/secret", "SECRET")
	w.putFile(w.Private[0], "SECRET")
	w.putFile(filepath.Join(w.Dir, ".state", "db"), "SECRET")
	w.putFile(filepath.Join(w.Dir, "sub", "file"), "public")
	for link, to := range map[string]string{
		"out": w.outside, "file-out": filepath.Join(w.outside, "secret"), "up": "..", "new-out": filepath.Join(w.outside, "new"),
		"chain": "file-out", "loop": "loop", "conf": "config.json", "in": "sub/file", "abs-in": filepath.Join(w.Dir, "sub", "file"),
		"dir-in": filepath.Join(w.Dir, "sub"), "new-in": "sub/made", "state": ".state", "later": "later.key",
	} {
		if err := os.Symlink(to, filepath.Join(w.Dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(w.Private[0], filepath.Join(w.Dir, "hard")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(w.Dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	return w
}

// access returns an access that permits everything.
func (w *fileFixture) access() *Session {
	return New(Policy{Permissions: "allow"}, w.ExecEnv, func(string, string) {})
}

func (w *fileFixture) putFile(path, text string) {
	w.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		w.t.Fatal(err)
	}
}

func (w *fileFixture) callRead(params map[string]any) (string, *rpc.Error) {
	raw, _ := json.Marshal(params)
	got, err := w.access().readFile(w.t.Context(), nil, raw)
	if err != nil {
		return "", err
	}
	acptest.CheckSchema(w.t, "ReadTextFileResponse", got)
	return got.(map[string]string)["content"], nil
}

func (w *fileFixture) callWrite(path, text string) *rpc.Error {
	raw, _ := json.Marshal(map[string]string{"path": path, "content": text})
	got, err := w.access().writeFile(w.t.Context(), nil, raw)
	if err == nil {
		acptest.CheckSchema(w.t, "WriteTextFileResponse", got)
	}
	return err
}

// forbiddenPaths are paths that lead out of the workspace or to the gateway's own files.
func (w *fileFixture) forbiddenPaths() map[string]string {
	outside, own, absolute := "outside the folders", "gateway's own", "absolute"
	return map[string]string{
		w.outside + "/secret": outside, w.Dir + "/../outside/secret": outside, w.Dir + "/out/secret": outside, w.Dir + "/file-out": outside,
		w.Dir + "/chain": outside, w.Dir + "/up/outside/secret": outside, w.Dir + "/out/new": outside, w.Dir + "/new-out": outside,
		w.Dir + "/sub/../../outside/secret": outside, w.Dir + "space/secret": outside, "/etc/passwd": outside, w.Dir + "/up/workspace/secret": outside,
		w.Dir + "/config.json": own, w.Dir + "/conf": own, w.Dir + "/hard": own, w.Dir + "/.state/db": own, w.Dir + "/state/new": own,
		w.Dir + "/.state": own, w.Dir + "/later.key": own, w.Dir + "/later": own, w.Dir + "/sub/../config.json": own,
		"sub/file": absolute, "": absolute, w.Dir + "/a\x00b": absolute, w.Dir + "/loop": "", w.Dir: "folder", w.Dir + "/fifo": "",
		w.Dir + "/sub/file/below": "not a directory",
	}
}

func TestNoPathLeadsOutOfTheFolders(t *testing.T) {
	t.Parallel()
	w := newFileFixture(t)
	for path, why := range w.forbiddenPaths() {
		if got, err := w.callRead(map[string]any{"path": path}); err == nil || !strings.Contains(err.Message, why) || strings.Contains(err.Message, "SECRET") {
			t.Errorf("read %q: %q, %v", path, got, err)
		}
		if err := w.callWrite(path, "OVERWRITTEN"); err == nil || !strings.Contains(err.Message, why) {
			t.Errorf("write %q: %v", path, err)
		}
	}
	_ = filepath.WalkDir(filepath.Dir(w.Dir), func(path string, d os.DirEntry, _ error) error {
		if d.Type().IsRegular() {
			if data, _ := os.ReadFile(path); strings.Contains(string(data), "OVERWRITTEN") {
				t.Errorf("%s was written", path)
			}
		}
		return nil
	})
}

func TestALinkWithinTheFoldersIsFollowed(t *testing.T) {
	t.Parallel()
	w := newFileFixture(t)
	for _, path := range []string{"/sub/file", "/in", "/abs-in", "/dir-in/file", "/sub/../sub/file", "/up/work/sub/file"} {
		if got, err := w.callRead(map[string]any{"path": w.Dir + path}); err != nil || got != "public" {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	for path, target := range map[string]string{"/in": "/sub/file", "/abs-in": "/sub/file", "/dir-in/new": "/sub/new", "/new-in": "/sub/made"} {
		if err := w.callWrite(w.Dir+path, "by "+path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if got, _ := os.ReadFile(w.Dir + target); string(got) != "by "+path {
			t.Errorf("%s: %s has %q", path, target, got)
		}
	}
	if _, err := os.Readlink(w.Dir + "/in"); err != nil {
		t.Error("the link was replaced")
	}
}

func TestTheRequestedLinesAreRead(t *testing.T) {
	t.Parallel()
	w := newFileFixture(t)
	path := filepath.Join(w.Dir, "lines")
	w.putFile(path, "one\ntwo\r\nthree €\nfour")
	w.putFile(filepath.Join(w.Dir, "empty"), "")
	for name, c := range map[string]struct {
		line, limit any
		want        string
	}{
		"all": {nil, nil, "one\ntwo\r\nthree €\nfour"}, "first": {1, 1, "one\n"}, "zero counts as one": {0, 1, "one\n"}, "negative": {-3, 1, "one\n"},
		"middle": {2, 2, "two\r\nthree €\n"}, "last": {4, 1, "four"}, "last and more": {4, 9, "four"}, "behind": {5, 1, ""}, "far behind": {1e300, nil, ""},
		"from": {3, nil, "three €\nfour"}, "none": {1, 0, ""}, "only a limit": {nil, 2, "one\ntwo\r\n"}, "fraction": {2.0, 1.0, "two\r\n"},
		"huge limit": {2, 1e18, "two\r\nthree €\nfour"}, "wrong type": {"x", []int{}, "one\ntwo\r\nthree €\nfour"},
	} {
		if got, err := w.callRead(map[string]any{"path": path, "line": c.line, "limit": c.limit}); err != nil || got != c.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	long := strings.Repeat("x", 200_000) + "\n"
	w.putFile(filepath.Join(w.Dir, "long"), long+"short\n"+long)
	for line, want := range []string{1: long, 2: "short\n", 3: long, 4: ""} {
		if got, err := w.callRead(map[string]any{"path": filepath.Join(w.Dir, "long"), "line": line, "limit": 1}); line > 0 && (err != nil || got != want) {
			t.Errorf("long line %d: %d bytes, %v", line, len(got), err)
		}
	}
	if got, err := w.callRead(map[string]any{"path": filepath.Join(w.Dir, "empty"), "line": 1, "limit": 10}); err != nil || got != "" {
		t.Errorf("empty: %q, %v", got, err)
	}
}

func TestReadErrorsAreExplained(t *testing.T) {
	t.Parallel()
	w := newFileFixture(t)
	w.putFile(w.Dir+"/binary", "a\xff\xfeb")
	w.putFile(w.Dir+"/big", strings.Repeat("0123456789abcde\n", maxRead/16+1))
	w.putFile(w.Dir+"/full", strings.Repeat("0123456789abcde\n", maxRead/16))
	for path, want := range map[string]rpc.Error{
		w.Dir + "/none":      {Code: rpc.CodeNotFound, Message: "no such file"},
		w.Dir + "/none/none": {Code: rpc.CodeNotFound, Message: "no such file"},
		w.Dir + "/binary":    {Code: rpc.CodeInternal, Message: "UTF-8"},
		w.Dir + "/big":       {Code: rpc.CodeInternal, Message: "line and limit"},
		w.Dir + "/sub":       {Code: rpc.CodeInternal, Message: "a folder"},
	} {
		if _, err := w.callRead(map[string]any{"path": path}); err == nil || err.Code != want.Code || !strings.Contains(err.Message, want.Message) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if got, err := w.callRead(map[string]any{"path": w.Dir + "/full"}); err != nil || len(got) != maxRead {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if got, err := w.callRead(map[string]any{"path": w.Dir + "/big", "line": maxRead/16 + 1}); err != nil || got != "0123456789abcde\n" {
		t.Errorf("%q, %v", got, err)
	}
	for _, params := range []string{`[]`, `{"path":5}`, `5`} {
		if _, err := w.access().readFile(t.Context(), nil, json.RawMessage(params)); err == nil || err.Code != rpc.CodeInvalidParams {
			t.Errorf("%s: %v", params, err)
		}
		if _, err := w.access().writeFile(t.Context(), nil, json.RawMessage(params)); err == nil || err.Code != rpc.CodeInvalidParams {
			t.Errorf("%s: %v", params, err)
		}
	}
	if _, err := w.access().writeFile(t.Context(), nil, json.RawMessage(`{"path":"`+w.Dir+`/sub/file"}`)); err == nil || err.Code != rpc.CodeInvalidParams {
		t.Errorf("without content: %v", err)
	}
}
