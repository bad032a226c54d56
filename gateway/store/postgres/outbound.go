package postgres

import (
	"encoding/hex"
	"encoding/json"
	"fmt"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/gateway/store/prepared"
)

// outboundArgs is a store.Outbound as the function insert_outbound takes it.
type outboundArgs struct {
	Chat       string     `json:"chat"`
	About      int64      `json:"about"`
	Sequence   int        `json:"sequence"`
	Digest     string     `json:"digest"` // of all parts; "" without a sequence number
	Unstreamed bool       `json:"unstreamed"`
	Parts      []partArgs `json:"parts"`
	Entry      *entryArgs `json:"entry"`
}

type partArgs struct {
	Outgoing string   `json:"outgoing"` // JSON
	Folders  []string `json:"folders"`  // in the spool that it needs
	Replace  string   `json:"replace"`
}

func encodeOutbound(p *prepared.Outbound) outboundArgs {
	args := outboundArgs{
		Chat: p.Chat, About: p.About, Sequence: p.Sequence, Digest: hex.EncodeToString(p.Digest),
		Unstreamed: p.Unstreamed != nil, Parts: make([]partArgs, len(p.Parts)), Entry: prepareEntry(p.Entry),
	}
	for i := range p.Parts {
		args.Parts[i] = partArgs{
			p.Encoded[i], append([]string{}, p.Copies[i]...), p.Parts[i].Replace,
		}
	}
	return args
}

// prepareEach makes an outbound message of each part.
func prepareEach(parts []channels.Outgoing) []outboundArgs {
	all := make([]outboundArgs, len(parts))
	for i, p := range prepared.NewOutbounds(parts, "") {
		all[i] = encodeOutbound(p)
	}
	return all
}

// checkAndPrepare checks that all parts of an outbound message go to the same chat, and prepares
// it.
func checkAndPrepare(outbound store.Outbound) (outboundArgs, error) {
	p, err := prepared.NewOutbound(outbound, "")
	if err != nil {
		return outboundArgs{}, err
	}
	return encodeOutbound(p), nil
}

// encodeJSON returns a value as JSON, which cannot fail for the stored types. The database reads
// some of it, so it has no U+0000.
func encodeJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("postgres: encode %T: %v", v, err))
	}
	return string(replaceNUL(b))
}
