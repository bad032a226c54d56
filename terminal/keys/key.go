package keys

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Modes are the modes of a terminal that change what keys send.
type Modes struct {
	ApplicationCursor bool // DECCKM
	ApplicationKeypad bool // DECNKM, DECKPAM
}

// Encode returns the bytes that a terminal sends for keystrokes: those of a key if the whole text
// is the name of a key, and nil for a key without bytes. Everything else is text, in which each
// line end is sent as the Enter key, because programs in raw mode distinguish CR from LF.
func Encode(keystrokes string, m Modes) []byte {
	if b, ok := encodeKey(keystrokes, m); ok {
		return b
	}
	if keystrokes == "" {
		return nil
	}
	return []byte(lineEnds.Replace(keystrokes))
}

var lineEnds = strings.NewReplacer("\r\n", "\r", "\n", "\r")

// IsKey reports whether the whole text is the name of a key, with or without bytes.
func IsKey(keystrokes string) bool {
	_, ok := encodeKey(keystrokes, Modes{})
	return ok
}

// The modifiers of a key: the parameter of its sequence minus one.
const (
	shift = 1
	meta  = 2
	ctrl  = 4
)

const escape = "\x1b"

// key is a key with a name.
type key struct {
	plain                string // bytes without modifiers; "" if none
	appCursor, appKeypad string // bytes in these modes, if different
	// number and final form the sequence with modifiers: ESC [ number ; modifiers final.
	number int
	final  string
}

// longestName is the length of the longest name in keys, or of User999.
const longestName = len("PageDown")

// encodeKey returns the bytes of a key. ok is false if there is no key of this name.
func encodeKey(name string, m Modes) (b []byte, ok bool) {
	if b, ok := hexByte(name); ok {
		return b, true
	}
	if len(name) == 2 && name[0] == '^' {
		c, ok := controlCode(rune(name[1]))
		return []byte{c}, ok
	}
	modifiers, name := cutModifiers(name)
	if len(name) > longestName {
		return nil, false
	}
	if c, size := utf8.DecodeRuneInString(name); size == len(name) && size > 0 {
		return encodeCharacter(c, modifiers)
	}
	if len(name) != utf8.RuneCountInString(name) {
		return nil, false // key names are ASCII, but the lower case of some other letters (the Kelvin sign) is ASCII too
	}
	k, ok := keys[strings.ToLower(name)]
	if !ok {
		return nil, isUserKey(name) && modifiers&shift == 0
	}
	return k.encode(modifiers, m)
}

// cutModifiers cuts the prefixes S-, M- and C- off the name of a key.
func cutModifiers(name string) (modifiers int, rest string) {
	for len(name) > 2 && name[1] == '-' {
		switch name[0] {
		case 'S', 's':
			modifiers |= shift
		case 'M', 'm':
			modifiers |= meta
		case 'C', 'c':
			modifiers |= ctrl
		default:
			return modifiers, name
		}
		name = name[2:]
	}
	return modifiers, name
}

// encode returns the bytes of a named key. Shift is only valid for keys whose sequence has
// modifiers.
func (k key) encode(modifiers int, m Modes) (b []byte, ok bool) {
	switch {
	case modifiers != 0 && k.final != "":
		return fmt.Appendf(nil, "\x1b[%d;%d%s", k.number, 1+modifiers, k.final), true
	case modifiers&shift != 0:
		return nil, false
	}
	sent := k.plain
	switch {
	case m.ApplicationCursor && k.appCursor != "":
		sent = k.appCursor
	case m.ApplicationKeypad && k.appKeypad != "":
		sent = k.appKeypad
	}
	if modifiers&ctrl != 0 {
		if k.plain != " " {
			return nil, true
		}
		sent = "\x00"
	}
	if modifiers&meta != 0 {
		sent = escape + sent
	}
	return []byte(sent), true
}

// encodeCharacter returns the bytes of a character with modifiers. A character alone is text.
func encodeCharacter(c rune, modifiers int) (b []byte, ok bool) {
	if modifiers == 0 || modifiers&shift != 0 || c == utf8.RuneError || !unicode.IsGraphic(c) || unicode.IsSpace(c) {
		return nil, false
	}
	sent := string(c)
	if modifiers&ctrl != 0 {
		code, ok := controlCode(c)
		if !ok {
			return nil, strings.ContainsRune(silentControls, c)
		}
		sent = string(rune(code))
	}
	if modifiers&meta != 0 {
		sent = escape + sent
	}
	return []byte(sent), true
}

// silentControls are the characters that send nothing together with Ctrl, as in tmux.
const silentControls = "!#()+,-.0123456789:;<=>'`/"

// controlCode returns the byte of a character together with Ctrl.
func controlCode(c rune) (code byte, ok bool) {
	switch {
	case c >= 'a' && c <= 'z':
		return byte(c) - 'a' + 1, true
	case c >= '@' && c <= '_':
		return byte(c) - '@', true
	case c == '?':
		return 0x7f, true
	}
	return 0, false
}

// hexByte returns the byte that 0xHH names.
func hexByte(name string) (b []byte, ok bool) {
	if len(name) != len("0xHH") || !strings.EqualFold(name[:2], "0x") {
		return nil, false
	}
	b, err := hex.DecodeString(name[2:])
	return b, err == nil
}

// isUserKey reports whether a name is User0 to User999, which tmux lets its users define.
func isUserKey(name string) bool {
	const user = "User"
	if len(name) <= len(user) || !strings.EqualFold(name[:len(user)], user) {
		return false
	}
	n, err := strconv.ParseUint(name[len(user):], 10, 16)
	return err == nil && n < 1000
}

// keys are the keys by their names in lower case.
var keys = newKeys()

func newKeys() map[string]key {
	all := map[string]key{
		"enter": {plain: "\r"}, "kpenter": {plain: "\r", appKeypad: escape + "OM"},
		"tab": {plain: "\t"}, "btab": {plain: escape + "[Z"},
		"escape": {plain: escape}, "space": {plain: " "}, "bspace": {plain: "\x7f"},
		"home": {plain: escape + "[1~", number: 1, final: "H"},
		"end":  {plain: escape + "[4~", number: 1, final: "F"},
	}
	for name, final := range map[string]string{"up": "A", "down": "B", "right": "C", "left": "D"} {
		all[name] = key{plain: escape + "[" + final, appCursor: escape + "O" + final, number: 1, final: final}
	}
	for i, final := range []string{"P", "Q", "R", "S"} {
		all["f"+strconv.Itoa(1+i)] = key{plain: escape + "O" + final, number: 1, final: final}
	}
	numbered := map[int][]string{
		2: {"insert", "ic"}, 3: {"delete", "dc"}, 5: {"pageup", "pgup", "ppage"},
		6: {"pagedown", "pgdn", "npage"},
	}
	for i, number := range []int{15, 17, 18, 19, 20, 21, 23, 24} {
		numbered[number] = []string{"f" + strconv.Itoa(5+i)}
	}
	for number, names := range numbered {
		for _, name := range names {
			all[name] = key{plain: fmt.Sprintf("\x1b[%d~", number), number: number, final: "~"}
		}
	}
	const characters, application = "0123456789+-*/.", "pqrstuvwxykmjon"
	for i := range characters {
		all["kp"+characters[i:i+1]] = key{plain: characters[i : i+1], appKeypad: escape + "O" + application[i:i+1]}
	}
	return all
}
