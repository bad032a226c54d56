package tools

import "encoding/json"

// maxID limits the ID that is echoed in the refusal of a message.
const maxID = 256

// idScanner finds the ID of a JSON-RPC message without storing the message.
type idScanner struct {
	depth    int
	inString bool
	escaped  bool
	token    []byte // the current string, number or word at depth 1
	key      string // the token before the last colon
	id       []byte
}

// scanID scans a message or its beginning.
func scanID(message []byte) *idScanner {
	var s idScanner
	s.feed(message)
	return &s
}

// ID returns the ID as JSON: a string or a number, or null if none was found.
func (s *idScanner) ID() json.RawMessage {
	if len(s.id) == 0 || len(s.id) > maxID || !json.Valid(s.id) {
		return json.RawMessage("null")
	}
	if b := s.id[0]; b != '"' && b != '-' && (b < '0' || b > '9') {
		return json.RawMessage("null")
	}
	return s.id
}

// feed scans the next bytes of the message.
func (s *idScanner) feed(p []byte) {
	for _, b := range p {
		if s.inString {
			s.readStringByte(b)
		} else {
			s.readByte(b)
		}
	}
}

func (s *idScanner) readStringByte(b byte) {
	s.appendToken(b)
	switch {
	case s.escaped:
		s.escaped = false
	case b == '\\':
		s.escaped = true
	case b == '"':
		s.inString = false
	}
}

func (s *idScanner) readByte(b byte) {
	switch b {
	case ' ', '\t', '\r', '\n':
	case '{', '[':
		s.depth++
	case '}', ']':
		s.endValue()
		s.depth--
	case ',':
		s.endValue()
	case ':':
		if s.depth == 1 {
			s.key, s.token = string(s.token), nil
		}
	default:
		s.inString = b == '"'
		s.appendToken(b)
	}
}

// appendToken adds a byte to the token, which may become one byte too long.
func (s *idScanner) appendToken(b byte) {
	if s.depth == 1 && len(s.token) <= maxID {
		s.token = append(s.token, b)
	}
}

// endValue is called at the end of each value. Nested values have no key and no token.
func (s *idScanner) endValue() {
	if s.key == `"id"` {
		s.id = s.token
	}
	s.key, s.token = "", nil
}
