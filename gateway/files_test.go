package gateway_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/downloads"
	"nanobot/gateway"
	"nanobot/gateway/store"
	"nanobot/internal/musttest"
)

// filesChannel is a channel that only receives files.
type filesChannel struct {
	channels.Channel
	*downloads.Folders
}

func TestReceivedFilesAreRemovedOnlyWithASettingAndNotIfAMessageWaits(t *testing.T) {
	s := musttest.Get(openState(t.Context(), t.TempDir()))(t)
	defer s.Close()
	dir := t.TempDir()
	ch := filesChannel{Folders: downloads.New("net", channelstest.ChatFolders(dir))}
	settings := gateway.Settings{}
	g := gateway.New(gateway.Options{
		Channels: map[string]channels.Channel{"net": ch}, Store: s, Settings: settings, Log: zap.NewNop(),
		PruneFiles: func(ctx context.Context, before time.Time) (int, error) {
			folder := func(chat string) (*os.Root, error) { return os.OpenRoot(filepath.Join(dir, chat)) }
			return downloads.Prune(ctx, folder, s, before)
		},
	})
	folder := musttest.Get(ch.Open("1"))(t)
	defer folder.Close()
	save := func(name string, age time.Duration) string {
		t.Helper()
		saved := musttest.Get(folder.Save(name, func(to io.Writer) error {
			_, err := fmt.Fprint(to, name)
			return err
		}))(t)
		records, err := s.ListRecords(t.Context(), "file:1/"+name)
		if err != nil || len(records) != 1 {
			t.Fatalf("recorded are %v, %v", records, err)
		}
		for key, value := range records {
			at := fmt.Sprintf(`"at":%d}`, time.Now().Add(-age).Unix())
			value = value[:strings.Index(value, `"at":`)] + at
			musttest.Do(t, s.SaveRecords(t.Context(), map[string]string{key: value}))
		}
		return saved.Path
	}
	exists := func(path string) bool {
		_, err := os.Stat(path)
		return err == nil
	}
	old, young := save("old", 5*24*time.Hour), save("young", 2*24*time.Hour)
	g.PruneFiles(t.Context())
	if !exists(old) || !exists(young) {
		t.Error("files are removed although no setting says so")
	}
	settings.Files.Keep = 3 * 24 * time.Hour
	g.Reload(settings)
	g.PruneFiles(t.Context())
	if exists(old) || !exists(young) {
		t.Errorf("old exists: %t; young exists: %t", exists(old), exists(young))
	}
	// A message that has waited since yesterday may need a file of the day before.
	in := channels.Incoming{Chat: channels.Chat{Channel: "net", ID: "1"}, ID: "1", User: channels.User{ID: "7"}, Text: "hi"}
	musttest.Get(s.Receive(t.Context(), store.ReceiveRequest{In: in}))(t)
	settings.Files.Keep = time.Hour
	g.Reload(settings)
	needed := save("needed", 23*time.Hour)
	g.PruneFiles(t.Context())
	if exists(young) || !exists(needed) {
		t.Errorf("young exists: %t; needed exists: %t", exists(young), exists(needed))
	}
	// The limit is that of the settings.
	settings.Files.MaxBytes = 3
	g.Reload(settings)
	if _, err := folder.Save("more", func(to io.Writer) error {
		_, err := fmt.Fprint(to, "more than three")
		return err
	}); !downloads.IsRefusal(err) {
		t.Errorf("saved beyond the limit: %v", err)
	}
}
