package main

import (
	"testing"

	"nanobot/channels"
)

func TestEveryNetworkChecksItsChats(t *testing.T) {
	for _, n := range networks {
		if _, ok := n.New().(channels.ChatChecker); !ok {
			t.Errorf("the settings of %s do not check chats", n.Name)
		}
	}
}
