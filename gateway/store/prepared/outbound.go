// Package prepared makes requests ready to be stored: it encodes them before the transaction, and
// makes the decisions that need no query. So all engines store the same. It knows nothing of SQL.
package prepared

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/gateway/store/spool"
)

// Outbound is an outbound message.
type Outbound struct {
	store.Outbound
	Member  string // the member that stores it
	Chat    string
	Digest  []byte     // of all parts; empty if the outbound message has no sequence number
	Encoded []string   // the parts as JSON
	Copies  [][]string // for each part, the folders in the spool that it needs
}

// NewOutbound prepares an outbound message, whose parts must all go to the same chat.
func NewOutbound(outbound store.Outbound, member string) (*Outbound, error) {
	if len(outbound.Parts) == 0 {
		return &Outbound{Outbound: outbound}, nil
	}
	chat := outbound.Parts[0].Chat
	for i := range outbound.Parts {
		if other := outbound.Parts[i].Chat; other != chat {
			return nil, fmt.Errorf("an outbound message goes to one chat, not to %s and %s", chat, other)
		}
	}
	return newOutbound(outbound, member, chat), nil
}

// NewOutbounds prepares an outbound message of each part.
func NewOutbounds(parts []channels.Outgoing, member string) []*Outbound {
	all := make([]*Outbound, len(parts))
	for i := range parts {
		all[i] = newOutbound(store.Outbound{Parts: parts[i : i+1]}, member, parts[i].Chat)
	}
	return all
}

func newOutbound(outbound store.Outbound, member string, chat channels.Chat) *Outbound {
	made := &Outbound{
		Outbound: outbound, Member: member, Chat: chat.String(), Digest: []byte{},
		Encoded: encodeEach(outbound.Parts), Copies: make([][]string, len(outbound.Parts)),
	}
	for i := range outbound.Parts {
		made.Copies[i] = spool.Folders(outbound.Parts[i].Media)
	}
	switch {
	case outbound.Sequence > 0 && outbound.Unstreamed != nil:
		made.Digest = outboundDigest(outbound.Unstreamed, encodeEach(outbound.Unstreamed))
	case outbound.Sequence > 0:
		made.Digest = outboundDigest(outbound.Parts, made.Encoded)
	}
	return made
}

// encodeEach returns parts as JSON.
func encodeEach(parts []channels.Outgoing) []string {
	encoded := make([]string, len(parts))
	for i := range parts { // by their address: a part is large
		encoded[i] = JSON(&parts[i])
	}
	return encoded
}

// JSON returns a value as JSON, which cannot fail for the stored types.
func JSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("prepared: encode %T: %v", v, err))
	}
	return string(b)
}

// outboundDigest is equal for outbound messages with the same content in different attempts. A
// copied file counts by its content instead of its folder in the spool. A replaced transient
// message and the notification do not count: they depend on how long an attempt took. encoded are
// the parts as JSON.
func outboundDigest(parts []channels.Outgoing, encoded []string) []byte {
	h := sha256.New()
	for n := range parts {
		if p := &parts[n]; len(p.Media) == 0 && p.Replace == "" && p.Notification == (channels.Notification{}) {
			_, _ = io.WriteString(h, encoded[n]+"\n")
			continue
		}
		o := parts[n]
		files := make([]channels.File, len(o.Media))
		copy(files, o.Media)
		o.Media, o.Replace, o.Unchanged, o.Notification = files, "", false, channels.Notification{}
		for i, f := range files {
			content, ok := spool.ContentName(f.Path)
			if !ok {
				continue
			}
			files[i].Path = content
			o.Form = bytes.ReplaceAll(o.Form, []byte(f.Path), []byte(content))
		}
		_, _ = io.WriteString(h, JSON(&o)+"\n")
	}
	return h.Sum(nil)[:16]
}
