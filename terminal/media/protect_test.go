package media_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal/media"
)

func TestProtectedFilesAreFoundByAnyNameThatAFileSystemTakesForTheirs(t *testing.T) {
	patterns := media.Protected{"Makefile", "ci/*.sh", "deploy/", "Prüfung"}
	for want, paths := range map[bool][]string{
		true: {
			".git", ".git/config", "sub/.git/hooks/x", ".git/modules/m/config", ".hg/hgrc", ".husky/pre-commit", ".envrc", "a/b/.envrc",
			".vscode/tasks.json", ".idea/workspace.xml", ".devcontainer/devcontainer.json", ".devcontainer.json",
			".bashrc", ".bash_profile", ".profile", ".zshrc", ".zshenv", "home/.config/fish/config.fish", ".gitconfig", ".config/git/config",
			".GIT/config", ".Git", ".VSCode/tasks.json", ".ENVRC", // names without case
			".git./config", ".git /config", ".git. . ", "git~1/config", "GIT~1", // FAT and NTFS
			".g\u200cit/config", ".git\ufeff/config", ".gi\u00adt", ".git\ufe0f", // invisible characters
			".pro\ufb01le", ".v\u017fcode/tasks.json", ".hus\u212ay/x", // a ligature, a long s, the sign of Kelvin
			"HEAD", "sub/head", // a bare repository
			"makefile", "sub/Makefile", "ci/a.sh", "sub/ci/a.sh/b", "deploy/x/y", "Pru\u0308fung",
		},
		false: {
			"git/config", ".github/workflows/ci.yml", ".gitignore", "a.git/config", "x.git", "..git/x", ".gitx/config", "bashrc", "config/fish",
			"HEADER", "HEAD.md", "ci/sub/a.sh", "ci/a.py", "redeploy/x", "config/.config",
		},
	} {
		for _, path := range paths {
			wanttest.Equal(t, path+":", patterns.Contain("/r/.git/ws", "/r/.git/ws/"+path), want)
		}
	}
	if !(media.Protected{}).Contain("/ws", "/other/.vscode", "/ws/x") {
		t.Error("a link in another folder does not count")
	}
	for _, root := range []string{"/", "/ws"} { // neither endless nor a panic
		_ = patterns.Contain(root, root)
	}
}

func TestAGitRepositoryIsProtectedWhateverItsFolderIsCalled(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"store/hooks", "plain"} {
		musttest.Do(t, os.MkdirAll(filepath.Join(root, dir), 0o700))
	}
	musttest.Do(t, os.WriteFile(filepath.Join(root, "store/HEAD"), []byte("ref: refs/heads/main\n"), 0o600))
	for path, want := range map[string]bool{"store/config": true, "store/hooks/pre-commit": true, "store/new/x": true, "plain/config": false, "config": false} {
		wanttest.Equal(t, path+":", (media.Protected{}).Contain(root, filepath.Join(root, path)), want)
	}
}

func TestThePageOnSecurityListsEveryProtectedName(t *testing.T) {
	page := musttest.Get(os.ReadFile("../../docs/security.md"))(t)
	_, section, _ := strings.Cut(string(page), "### Protected files\n")
	section, _, _ = strings.Cut(section, "\n#")
	for _, name := range media.ProtectedNames {
		if !strings.Contains(section, "`"+name+"`") && !strings.Contains(section, "`"+name+"/`") {
			t.Errorf("%s is not listed", name)
		}
	}
}
