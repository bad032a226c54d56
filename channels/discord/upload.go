package discord

import (
	"encoding/json"
	"mime/multipart"
	"net/textproto"

	"nanobot/channels/remote"
)

// bodyOf makes the body of a request, which must be closed: JSON, with files a form whose first
// field it is.
func bodyOf(r request) (*remote.Body, error) {
	if len(r.files) == 0 {
		return remote.NewJSON(r.body)
	}
	return remote.NewForm(func(w *multipart.Writer) error {
		head := textproto.MIMEHeader{}
		head.Set("Content-Disposition", `form-data; name="payload_json"`)
		head.Set("Content-Type", "application/json")
		part, err := w.CreatePart(head)
		if err != nil {
			return err
		}
		return json.NewEncoder(part).Encode(r.body)
	}, r.files)
}
