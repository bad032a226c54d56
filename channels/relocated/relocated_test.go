package relocated_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"nanobot/channels"
	"nanobot/channels/relocated"
	"nanobot/internal/musttest"
)

// memory stores one value.
type memory struct {
	channels.Memory
	value string
	err   error
}

func (m *memory) Load(context.Context, string) (string, error) { return m.value, m.err }

func (m *memory) Save(_ context.Context, _, value string) error {
	m.value = value
	return m.err
}

func TestMessagesAreFoundAfterARestartAndTheOldestAreForgotten(t *testing.T) {
	var m memory
	var first relocated.Messages
	for i := range 201 {
		musttest.Do(t, first.Add(t.Context(), &m, relocated.Message{ID: fmt.Sprint(i), Chat: fmt.Sprint("chat ", i)}))
	}
	var second relocated.Messages
	if got, found, err := second.Find(t.Context(), &m, "1"); !found || err != nil || got.Chat != "chat 1" {
		t.Errorf("found %+v, %v, %v", got, found, err)
	}
	if got, found, _ := second.Find(t.Context(), &m, "0"); found {
		t.Errorf("found %+v", got)
	}
}

func TestAMessageIsFoundWhileItCannotBeStored(t *testing.T) {
	m := memory{err: errors.New("the disk is full")}
	var all relocated.Messages
	if err := all.Add(t.Context(), &m, relocated.Message{ID: "1", Chat: "a"}); !errors.Is(err, m.err) {
		t.Errorf("the error is %v", err)
	}
	if _, _, err := all.Find(t.Context(), &m, "1"); !errors.Is(err, m.err) {
		t.Errorf("the error is %v", err)
	}
	m.err = nil
	if _, found, err := all.Find(t.Context(), &m, "1"); !found || err != nil {
		t.Errorf("found %v, %v", found, err)
	}
}
