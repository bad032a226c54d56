package channels_test

import (
	"strings"
	"testing"

	"nanobot/channels"
)

// warningOf returns the warning for a link between other words.
func warningOf(before, text, after, target string) string {
	return channels.LinkWarnings(before+text+after, []channels.Link{{Start: len(before), End: len(before) + len(text), Target: target}})[0]
}

func TestALinkThatShowsAnotherAddressGetsAWarning(t *testing.T) {
	const evil = " (leads to evil.example)"
	for _, c := range []struct{ text, target, want string }{
		{"https://bank.example", "https://evil.example", evil},
		{"https://bank.example/login?x=1", "https://evil.example/y", evil},
		{"bank.example", "https://evil.example", evil},
		{"BANK.EXAMPLE", "https://evil.example", evil},
		{"www.bank.example", "https://evil.example", evil},
		{"go to bank.example now", "https://evil.example", evil},
		{"bank.example", "https://evil.example/bank.example", evil},
		{"bank.example", "https://bank.example.evil.example", " (leads to bank.example.evil.example)"},
		{"bank.example", "https://bank.example@evil.example", evil},
		{"bank.example", "https://bank.example:x@evil.example:8443/", evil},
		{"https://bank.example@evil.example", "https://evil.example", evil},
		{"https://bank.example", "HTTPS://EVIL.EXAMPLE.", evil},
		{"https://bank.example", "evil.example/x", evil},
		{"https://bank.example", "//evil.example/x", evil},
		{"https://localhost", "https://evil.example", evil},
		{"192.0.2.1", "https://evil.example", evil},
		{"help@bank.example", "mailto:eve@evil.example?subject=x", evil},
		{"help@bank.example", "https://evil.example", evil},
		{"bank.example", "https://xn--bnk-qla.example", " (leads to xn--bnk-qla.example)"},
		{"bänk.example", "https://bank.example", " (leads to bank.example)"},
		{"b\u200bank\u2060.exam\u00adple", "https://evil.example", evil},
		{"bank\u2024example", "https://evil.example", evil},
		{"ｂａｎｋ．ｅｘａｍｐｌｅ", "https://evil.example", evil},
		{"https:\u2215\u2215bank.example", "https://evil.example", evil},
		{"раураl.example", "https://xn--l-7sba6dbr.example", " (leads to xn--l-7sba6dbr.example)"},
		{"bank.example", `https://evil.example\@bank.example`, " (leads to https://evil.example??bank.example)"},
		{"bank.example", "https:evil.example", " (leads to https:evil.example)"}, // which browsers mend
		{"bank.example", "javascript:alert(1)", " (leads to javascript:alert?1?)"},
		{"bank.example", "tg://resolve?domain=evil", " (leads to tg://resolve?domain?evil)"},
		{"evil.example and bank.example", "https://evil.example", evil},
	} {
		if got := warningOf("see ", c.text, ".", c.target); got != c.want {
			t.Errorf("[%s](%s) is marked %q, want %q", c.text, c.target, got, c.want)
		}
	}
}

func TestAnAddressPartlyOutsideOfTheLinkIsFound(t *testing.T) {
	for _, c := range [][3]string{{"", "bank", ".example"}, {"https://", "bank.example", ""}, {"bank", ".example", "/login"}, {"bank.example/", "login", ""}} {
		if got := warningOf("x "+c[0], c[1], c[2]+" y", "https://evil.example"); got != " (leads to evil.example)" {
			t.Errorf("%q is marked %q", c, got)
		}
	}
	text := "bank.example"
	notes := channels.LinkWarnings(text, []channels.Link{{0, 4, "https://evil.example"}, {4, len(text), "https://evil.example"}})
	if strings.Join(notes, ";") != " (leads to evil.example); (leads to evil.example)" {
		t.Errorf("two links that touch are marked %q", notes)
	}
}

func TestAnHonestLinkGetsNoWarning(t *testing.T) {
	for _, c := range [][2]string{
		{"here", "https://evil.example"},
		{"the bank, e.g. this one", "https://evil.example"},
		{"https://bank.example", "https://bank.example"},
		{"https://bank.example/a", "http://bank.example/b"},
		{"Bank.Example", "https://bank.example."},
		{"bank.example:443", "https://bank.example"},
		{"www.bank.example", "https://bank.example"},
		{"bank.example", "https://www.bank.example/login"},
		{"bänk.example", "https://xn--bnk-qla.example"},
		{"xn--bnk-qla.example", "https://bänk.example"},
		{"пример.рф", "https://xn--e1afmkfd.xn--p1ai"},
		{"_bank.example_", "https://bank.example"},
		{"help@bank.example", "mailto:help@bank.example"},
		{"help@bank.example", "https://bank.example/contact"},
		{"main.go", "https://git.example/main.go"},
		{"config.json and index.html", "https://git.example/"},
		{"version 1.2.3", "https://git.example/"},
		{"v1.26", "https://git.example/"},
		{"Mr.X", "https://git.example/"},
		{"and so on...", "https://git.example/"},
		{"https://bank.example/?next=https://other.example", "https://bank.example/?next=https://other.example"},
		{"bank.example/?to=https://other.example", "https://bank.example/?to=https://other.example"},
		{"192.0.2.1", "http://192.0.2.1:8080/"},
		{"http://[2001:db8::1]/", "http://[2001:db8::1]/"},
	} {
		if got := warningOf("see (", c[0], ").", c[1]); got != "" {
			t.Errorf("[%s](%s) is marked %q", c[0], c[1], got)
		}
	}
}

func TestAWarningIsShortPlainASCII(t *testing.T) {
	for _, target := range []string{
		"https://" + strings.Repeat("a.", 500) + "evil.example", "https://e*vi_l`.example", "https://evil.example\u202e", "https://<b>.example", "https://%00.example",
	} {
		got := warningOf("", "bank.example", "", target)
		if !strings.HasPrefix(got, " (leads to ") || len(got) > 100 || strings.ContainsAny(got, "*_`<>[]\u202e\n") {
			t.Errorf("%.60q is marked %q", target, got)
		}
	}
}

// TestWordsThatPeopleTakeForAddresses looks at links as they stand in the answers of agents, all of
// which lead to another host than their text may name.
func TestWordsThatPeopleTakeForAddresses(t *testing.T) {
	addresses := strings.Fields(`paypal.com PayPal.com PAYPAL.COM paypal.Com login.paypal.com paypal.com. paypal.com:
		https://main.py http://localhost:8080 ftp://x www.hotel.rs WWW.Hotel.Cz paypal.com/login README.md/x bit.ly/x t.me/x
		t.me t.co bit.ly amazon.in amazon.it amazon.co.uk bca.co.id mbank.pl list.am notion.so pkg.go.dev time.com sync.com
		console.com asp.net console.info.com itau.com.py google.dev discord.gg paypal.me wikipedia.org europa.eu steam.io
		help@paypal.com root@mail.internal paypal.com:443 paypal.com&login paypal.com-login paypal.com_login paypal.com=x
		paypal.com—login paypal.com?x paypal.com#x paypal.com@x paypal.com:x paypal.cоm pаypal.com 𝐩aypal.com
		пример.рф xn--e1afmkfd.xn--p1ai bank.xn--p1ai bank.example 192.0.2.1 192.0.2.1:80 golang.org/x/net`)
	for _, text := range addresses {
		if warningOf("see ", text, " now", "https://evil.test") == "" {
			t.Errorf("[%s] is not marked", text)
		}
	}
	plain := strings.Fields(`README.md docs/README.md README.md#usage README.md:12 main.py main.rs:10 install.sh main.tf
		photo.zip clip.mov main.go main.cc lib.rs Makefile.mk libc.so libc.so.6 index.html app.tsx go.mod Node.js Vue.js three.js
		strings.Split strings.Split/Join strings.Map errors.Is errors.As time.Now time.In fmt.Sprintf os.Open reflect.Select
		errgroup.Group sync.WaitGroup user.id user.name console.info console.log this.data Array.map torch.nn np.int
		ASP.NET v1.2 v1.2.3 1.2.3 go1.26 Mr.X e.g. i.e. etc. U.S. @types.node lodash@4.17.21 actions/checkout@v4
		.github/workflows src/main.go ../config.json ~/.bashrc std::vector a.b f.x 3.14 12:30 sub.path.value`)
	for _, text := range plain {
		if got := warningOf("see ", text, " now", "https://git.test"); got != "" {
			t.Errorf("[%s] is marked %q", text, got)
		}
	}
}
