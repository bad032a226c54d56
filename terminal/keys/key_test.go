package keys_test

import (
	"fmt"
	"strings"
	"testing"

	"nanobot/terminal/keys"
)

// namedKeys returns the names of keys and the bytes that they send without terminal modes.
func namedKeys() map[string]string {
	all := map[string]string{
		"Enter": "\r", "KPEnter": "\r", "Tab": "\t", "BTab": "\x1b[Z", "Escape": "\x1b", "Space": " ", "BSpace": "\x7f",
		"Up": "\x1b[A", "Down": "\x1b[B", "Right": "\x1b[C", "Left": "\x1b[D", "Home": "\x1b[1~", "End": "\x1b[4~",
		"Insert": "\x1b[2~", "IC": "\x1b[2~", "Delete": "\x1b[3~", "DC": "\x1b[3~",
		"PageUp": "\x1b[5~", "PgUp": "\x1b[5~", "PPage": "\x1b[5~", "PageDown": "\x1b[6~", "PgDn": "\x1b[6~", "NPage": "\x1b[6~",
		"F1": "\x1bOP", "F2": "\x1bOQ", "F3": "\x1bOR", "F4": "\x1bOS", "F5": "\x1b[15~", "F6": "\x1b[17~", "F7": "\x1b[18~",
		"F8": "\x1b[19~", "F9": "\x1b[20~", "F10": "\x1b[21~", "F11": "\x1b[23~", "F12": "\x1b[24~",
		"KP+": "+", "KP-": "-", "KP*": "*", "KP/": "/", "KP.": ".",
		"C-@": "\x00", "C-Space": "\x00", "C-[": "\x1b", `C-\`: "\x1c", "C-]": "\x1d", "C-^": "\x1e", "C-_": "\x1f", "C-?": "\x7f",
		"^@": "\x00", "^[": "\x1b", "^?": "\x7f",
		"M-Enter": "\x1b\r", "M-C-c": "\x1b\x03", "C-M-c": "\x1b\x03", "M-Tab": "\x1b\t", "M-Escape": "\x1b\x1b", "M-BSpace": "\x1b\x7f",
		"M-KP5": "\x1b5", "M-C-Space": "\x1b\x00", "C-M-@": "\x1b\x00", "M--": "\x1b-", "M-é": "\x1bé",
		"0x00": "\x00", "0x41": "A", "0xfe": "\xfe",
		// Names without bytes.
		"User0": "", "User999": "", "C-User1": "", "C-1": "", "C--": "", "C-Tab": "", "C-Enter": "", "C-BSpace": "", "C-Escape": "", "C-KP1": "", "M-C-1": "", "C-M-Enter": "",
	}
	for i := range 10 {
		all[fmt.Sprintf("KP%d", i)] = string(rune('0' + i))
	}
	for c := 'a'; c <= 'z'; c++ {
		code := string(c - 'a' + 1)
		all["C-"+string(c)], all["^"+string(c)], all["C-M-"+string(c)] = code, code, "\x1b"+code
	}
	modified := map[string]string{"Up": "1;%dA", "Down": "1;%dB", "Right": "1;%dC", "Left": "1;%dD", "Home": "1;%dH", "End": "1;%dF"}
	for i, final := range "PQRS" {
		modified[fmt.Sprintf("F%d", i+1)] = "1;%d" + string(final)
	}
	for name, plain := range all {
		if number, ok := strings.CutSuffix(plain, "~"); ok && modified[name] == "" {
			modified[name] = strings.TrimPrefix(number, "\x1b[") + ";%d~"
		}
	}
	for name, sequence := range modified {
		for prefix, m := range map[string]int{"S-": 2, "M-": 3, "S-M-": 4, "C-": 5, "C-S-": 6, "M-C-": 7, "S-M-C-": 8} {
			all[prefix+name] = "\x1b[" + fmt.Sprintf(sequence, m)
		}
	}
	return all
}

func TestAKeyIsSentByItsNameInAnyCase(t *testing.T) {
	for name, want := range namedKeys() {
		for _, written := range []string{name, strings.ToLower(name), strings.ToUpper(name)} {
			if strings.EqualFold(name, "M-é") && written != name {
				continue // what follows M- is a character and not a name
			}
			if got := string(keys.Encode(written, keys.Modes{})); got != want || !keys.IsKey(written) {
				t.Errorf("%s: %q, want %q", written, got, want)
			}
		}
	}
	for written, want := range map[string]string{"M-x": "\x1bx", "M-X": "\x1bX", "m-x": "\x1bx", "M-É": "\x1bÉ"} {
		if got := string(keys.Encode(written, keys.Modes{})); got != want || !keys.IsKey(written) {
			t.Errorf("%s: %q, want %q", written, got, want)
		}
	}
	if keys.Encode("User0", keys.Modes{}) != nil || keys.Encode("C-1", keys.Modes{}) != nil {
		t.Error("a key without bytes sends something")
	}
}

func TestTheModesOfATerminalChangeTheBytesOfKeys(t *testing.T) {
	cursor := map[string]string{"Up": "\x1bOA", "Down": "\x1bOB", "Right": "\x1bOC", "Left": "\x1bOD"}
	keypad := map[string]string{
		"KP0": "\x1bOp", "KP1": "\x1bOq", "KP2": "\x1bOr", "KP3": "\x1bOs", "KP4": "\x1bOt", "KP5": "\x1bOu", "KP6": "\x1bOv", "KP7": "\x1bOw",
		"KP8": "\x1bOx", "KP9": "\x1bOy", "KP+": "\x1bOk", "KP-": "\x1bOm", "KP*": "\x1bOj", "KP/": "\x1bOo", "KP.": "\x1bOn", "KPEnter": "\x1bOM", "M-KP5": "\x1b\x1bOu",
	}
	for name, plain := range namedKeys() {
		for mode, changed := range map[keys.Modes]map[string]string{{ApplicationCursor: true}: cursor, {ApplicationKeypad: true}: keypad} {
			want, ok := changed[name]
			if !ok {
				want = plain
			}
			if got := string(keys.Encode(name, mode)); got != want {
				t.Errorf("%s with %+v: %q, want %q", name, mode, got, want)
			}
		}
	}
}

func TestUnknownKeyNamesAreText(t *testing.T) {
	for written, want := range map[string]string{
		"": "", "ls -la\n": "ls -la\r", "a\r\nb\nc\rd\n\n": "a\rb\rc\rd\r\r", "\n\r": "\r\r", "é狐": "é狐", "\x03": "\x03", "i": "i", " ": " ",
		"C-x\n": "C-x\r", "Left Left": "Left Left", "Esc": "Esc", "Return": "Return", "Ctrl-D": "Ctrl-D", "-x": "-x", "--help\n": "--help\r", "-": "-",
		"Enter ": "Enter ", "F0": "F0", "F13": "F13", "KP": "KP", "0x5": "0x5", "0x123": "0x123", "0xgg": "0xgg", "M-0x41": "M-0x41",
		"S-a": "S-a", "S-Enter": "S-Enter", "S-Tab": "S-Tab", "C-S-a": "C-S-a", "S-Space": "S-Space", "S-KP1": "S-KP1", "S-User1": "S-User1", "S-1": "S-1",
		"C-": "C-", "M-": "M-", "M-C-": "M-C-", "C-$": "C-$", "C-é": "C-é", "C-ab": "C-ab", "M- ": "M- ", "C-\n": "C-\r", "M-\x03": "M-\x03", "M-\xff": "M-\xff",
		"^": "^", "^é": "^é", "^1": "^1", "^Left": "^Left", "^ab": "^ab", "X-a": "X-a", "User": "User", "User1000": "User1000", "User-1": "User-1",
		"\u212AP1": "\u212AP1", "C-\u212A": "C-\u212A",
	} {
		if got := string(keys.Encode(written, keys.Modes{})); got != want || keys.IsKey(written) {
			t.Errorf("%q: %q, want %q", written, got, want)
		}
	}
	long := strings.Repeat("C-", 1<<20) + strings.Repeat("é", 1<<20)
	if string(keys.Encode(long, keys.Modes{})) != long {
		t.Error("a long text is not sent whole")
	}
}
