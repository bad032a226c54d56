package web

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
	"unicode/utf8"

	"nanobot/channels"
	"nanobot/channels/web/history"
	"nanobot/internal/words"
)

const (
	// maxUpdateBody bounds the body of a request that changes a chat, in bytes.
	maxUpdateBody = 16 << 10
	// maxQuery is how many bytes of words a search has, maxFound how many results.
	maxQuery, maxFound = 200, 50
	// searchTimeout is how long a search takes at most. maxSearchesPerUser is how many of them a
	// user may wait for: only one runs at a time, so that others can read meanwhile.
	searchTimeout      = 5 * time.Second
	maxSearchesPerUser = 4
)

// patchChat renames or pins a chat.
func (c *Channel) patchChat(w http.ResponseWriter, r *http.Request) error {
	h, id, err := c.requestedChat(r)
	if err != nil {
		return err
	}
	var u history.ChatUpdate
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxUpdateBody)).Decode(&u); err != nil {
		return badRequest("The request cannot be read: %v.", err)
	}
	chat, err := h.UpdateChat(r.Context(), c.requester(r), id, u)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, chat)
	return nil
}

// deleteChat deletes a chat for good.
func (c *Channel) deleteChat(w http.ResponseWriter, r *http.Request) error {
	h, id, err := c.requestedChat(r)
	if err != nil {
		return err
	}
	actor := c.requester(r)
	body := history.Body{User: actor.User, Language: requestLanguage(r), Press: channels.PressID(newID())}
	if err := h.DeleteChat(r.Context(), id, actor, body); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// searchResults are the results of a search.
type searchResults struct {
	Results []history.Found `json:"results"`
	More    bool            `json:"more"`
}

// getSearch finds words in the chats that the user may see.
func (c *Channel) getSearch(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query().Get("q")
	if len(query) > maxQuery || !utf8.ValidString(query) {
		return badRequest("q: must be at most %d bytes of text.", maxQuery)
	}
	h, err := c.openHistory()
	if err != nil {
		return err
	}
	actor := c.requester(r)
	name := "searches " + actor.User
	if !c.inFlight.tryAdd(name, maxSearchesPerUser) {
		return shownError(http.StatusTooManyRequests, words.PageTooManyRequests)
	}
	defer c.inFlight.remove(name)
	select {
	case c.searching <- struct{}{}:
		defer func() { <-c.searching }()
	case <-r.Context().Done():
		return r.Context().Err()
	}
	ctx, cancel := context.WithTimeout(r.Context(), searchTimeout)
	defer cancel()
	found, more, err := h.Search(ctx, actor, history.SearchWords(query), maxFound)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, searchResults{nonNil(found), more})
	return nil
}
