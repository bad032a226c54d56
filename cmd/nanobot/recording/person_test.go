package recording_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/cmd/nanobot/recording"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal/cassette"
)

func TestAnExportHasNoFilesOfOthersInTheGroup(t *testing.T) {
	folder := recording.Folder(t.TempDir())
	hash := func(digit int) string { return strings.Repeat(fmt.Sprint(digit), 64) }
	line := func(kind, body string, files ...int) string {
		var list []string
		for _, f := range files {
			list = append(list, fmt.Sprintf(`{"path":"/%d","sha256":"%s","size":1}`, f, hash(f)))
		}
		return fmt.Sprintf(`{"at":0,"type":%q,%q:{%s},"files":[%s]}`+"\n", kind, kind, body, strings.Join(list, ","))
	}
	content := `{"type":"cassette","version":1}` + "\n" +
		line("envelope", `"channel":"net","chat_id":"-5","origin":"person","user":{"id":"7"},"media":["/1"],
			"reply_to":{"id":"1","user":{"id":"9"},"media":["/2"]}`, 1, 2) +
		line("inject", `"text":"by bob","media":["/3"],"user":{"id":"8"}`, 3) +
		line("frame", `"type":"message","text":"hi","media":["/4"]`, 4)
	content = strings.ReplaceAll(content, ",\n\t\t\t", ",")
	path := filepath.Join(string(folder), "1-01234567"+cassette.Suffix)
	musttest.Do(t, os.WriteFile(path, []byte(content), 0o600))
	found := musttest.Get(folder.Find(recording.Person{
		Channel: "net", User: "7", Groups: []channels.Chat{{Channel: "net", ID: "-5"}},
	}))(t)
	wanttest.Equal(t, "cassettes", len(found), 1)
	wanttest.EqualSlices(t, "files", found[0].Files, []string{hash(1), hash(4)})
	for _, l := range found[0].Lines {
		if strings.Contains(string(l), hash(2)) {
			t.Errorf("the file that the person quotes is exported: %s", l)
		}
	}
}
