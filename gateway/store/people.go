package store

import (
	"context"
	"encoding/json"

	"nanobot/channels"
)

// PersonData names what the store has of a person: what they have written or caused on a channel,
// the answers to it, and everything of their private chats.
type PersonData struct {
	Person
	Chats []channels.Chat
}

// People reads and removes what is stored of a person.
type People interface {
	// PrivateChats returns the chats in which a person has written and nobody else, and that are no
	// groups.
	PrivateChats(ctx context.Context, p Person) ([]channels.Chat, error)
	// ReadPerson returns what is stored of a person: objects with the columns of rows, by a name
	// for them. Secrets are not among them.
	ReadPerson(ctx context.Context, d PersonData) (map[string][]json.RawMessage, error)
	// ForgetPerson removes what ReadPerson returns, in one transaction, and returns how many rows
	// were removed or changed. Messages of other people lose what they quote of it, and the
	// usage stays as that of nobody. It is called after Dismiss and when the turns that
	// Dismissed returns have ended. Later messages stay.
	ForgetPerson(ctx context.Context, d PersonData) (map[string]int, error)
	// EraseRemoved removes what was deleted from the files of the store, as far as they are the
	// store's. It may block other changes for as long as it takes to write the whole database.
	EraseRemoved(ctx context.Context) error
}

// ForgetRequest is a request of a command that forgets a person: the members are to end the agents
// of chats. It is stored as a record. Each member stores the same value under the key ForgetAnswer
// when it has done so.
type ForgetRequest struct {
	ID    string   `json:"id"`    // of this request
	Chats []string `json:"chats"` // their keys
}

// ForgetPrefix begins the keys of requests.
const ForgetPrefix = "forget/"

// ForgetAnswer returns the key of a member's answer to the request with a key.
func ForgetAnswer(request, member string) string { return "forgetting/" + member + "/" + request }
