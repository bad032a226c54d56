package web

import (
	"encoding/json"
	"net/http"
)

// me is the person who makes a request.
type me struct {
	User string `json:"user"`
	Name string `json:"name"` // that they have chosen; "": none
}

// getMe returns the person who makes the request.
func (c *Channel) getMe(w http.ResponseWriter, r *http.Request) error {
	h, err := c.openHistory()
	if err != nil {
		return err
	}
	who := me{User: c.requester(r).User}
	if who.Name, err = h.Name(r.Context(), who.User); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, who)
	return nil
}

// patchMe sets the name of the person who makes the request.
func (c *Channel) patchMe(w http.ResponseWriter, r *http.Request) error {
	h, err := c.openHistory()
	if err != nil {
		return err
	}
	who := me{User: c.requester(r).User}
	var set struct {
		Name string `json:"name"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxUpdateBody)).Decode(&set); err != nil {
		return badRequest("The request cannot be read: %v.", err)
	}
	if who.Name, err = h.SetName(r.Context(), who.User, set.Name); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, who)
	return nil
}
