package keys_test

import (
	"strings"
	"testing"

	"nanobot/terminal/keys"
)

const (
	xmlBefore = "Extra text detected before <response> tag"
	xmlAfter  = "Extra text detected after </response> tag"
	noTag     = "No <response> tag found"
	noSection = "Missing <commands> section"
	xmlOrder  = "Sections appear in wrong order. Found: commands → analysis → plan, expected: analysis → plan → commands"
	emptyList = "Commands section is empty; not taking any action. If you want to wait a specific amount of time please use `sleep`, " +
		"but if you're waiting for a command to finish then continue to wait."
	xmlListing = `<keystrokes duration="0.1">ls` + "\n</keystrokes>"
	sections   = "<analysis>a</analysis><plan> p\n</plan>"
	ended      = "<task_complete>true</task_complete>"
)

// inResponse returns a response in XML.
func inResponse(content string) string { return "<response>\n" + content + "\n</response>" }

// inCommands returns a complete response in XML with these commands.
func inCommands(commands string) string {
	return inResponse(sections + "<commands>\n" + commands + "\n</commands>")
}

func TestTheResponseTagIsFoundAsText(t *testing.T) {
	whole := inCommands(xmlListing)
	second := func(n string) string {
		return "IMPORTANT: Only issue one <response> block at a time. You issued " + n + " and only the first was executed."
	}
	checkParsed(t, keys.XML, []parseCase{
		{"alone", whole, responseWith()},
		{"between blanks", "\n " + whole + "\t\n", responseWith()},
		{"not closed", strings.TrimSuffix(whole, "</response>"), responseWith()},
		{"no tag", "ls", keys.Response{Error: noTag}},
		{"upper case", strings.ReplaceAll(whole, "response", "RESPONSE"), keys.Response{Error: noTag}},
		{"with an attribute", strings.Replace(whole, "<response>", "<response id='1'>", 1), keys.Response{Error: noTag}},
		{"only blanks inside", "<response> \n</response>", keys.Response{Error: noTag}},
		{"only blanks inside, and text around", "x<response> \n</response>y", keys.Response{Error: noTag, Warnings: []string{xmlBefore, xmlAfter}}},
		{"text before", "Well " + whole, responseWith(xmlBefore)},
		{"text after", whole + " done", responseWith(xmlAfter)},
		{"text around", "```xml\n" + whole + "\n```", responseWith(xmlBefore, xmlAfter)},
		{"a second response", whole + strings.ReplaceAll(whole, "ls", "rm"), responseWith(xmlAfter, second("2"))},
		{"more responses, one of them open", whole + whole + "<response>", responseWith(xmlAfter, second("3"))},
		{"a closing tag before it", "</response>" + whole, responseWith(xmlBefore)},
	})
}

func TestTheSectionsOfAResponseAreFoundAsText(t *testing.T) {
	commands := "<commands>" + xmlListing + "</commands>"
	unknown := func(name string) string {
		return "Unknown tag found: <" + name + ">, expected analysis/plan/commands/task_complete"
	}
	blocks := func(n string) string {
		return "IMPORTANT: Only issue one <commands> block at a time. You issued " + n + " and only the first was executed."
	}
	text := func(analysis, plan string, warnings ...string) keys.Response {
		r := responseWith(warnings...)
		r.Analysis, r.Plan = analysis, plan
		return r
	}
	checkParsed(t, keys.XML, []parseCase{
		{"trimmed and verbatim", inResponse("<analysis>\n a &lt; b <![CDATA[x]]>\n</analysis><plan>p</plan>" + commands), text("a &lt; b <![CDATA[x]]>", "p")},
		{"no analysis", inResponse("<plan>p</plan>" + commands), text("", "p", "Missing <analysis> section")},
		{"no plan", inResponse("<analysis>a</analysis>" + commands), text("a", "", "Missing <plan> section")},
		{"neither", inResponse(commands), text("", "", "Missing <analysis> section", "Missing <plan> section")},
		{"single tags", inResponse("<analysis/><plan />" + commands), text("", "")},
		{
			"a closed section counts more than a single tag", inResponse("<analysis/><plan>p</plan>" + commands + "<analysis>a</analysis>"),
			responseWith("Multiple <analysis> sections found", "Sections appear in wrong order. Found: plan → commands → analysis, expected: analysis → plan → commands"),
		},
		{"an open section", inResponse("<analysis>a<plan>p</plan>" + commands), text("", "p", "Missing <analysis> section")},
		{"upper case", inResponse("<ANALYSIS>a</ANALYSIS><plan>p</plan>" + commands), text("", "p", "Missing <analysis> section", unknown("ANALYSIS"))},
		{"unknown tags", inResponse("<note kind='x'>a</note>" + sections + commands + "<b/><note>"), responseWith(unknown("note"), unknown("b"))},
		{"no tags", inResponse("1 < 2 > 0 <5> <> </note> <a<b" + sections + commands), responseWith()},
		{"comments", inResponse("<!-- <note> -->" + sections + "<!-- <b>" + commands), responseWith()},
		{"tags in sections", inResponse("<analysis><b>a</b></analysis><plan>p</plan>" + commands), text("<b>a</b>", "p")},
		{"two analyses", inResponse("<analysis>a</analysis><analysis>b</analysis><plan>p</plan>" + commands), responseWith("Multiple <analysis> sections found")},
		{"two plans", inResponse(sections + commands + "<plan/>"), responseWith("Multiple <plan> sections found")},
		{"three lists of commands", inResponse(sections + commands + "<commands>x</commands><commands/>"), responseWith(blocks("3"))},
		{"wrong order", inResponse(commands + sections), responseWith(xmlOrder)},
		{"wrong order of two", inResponse(commands + "<plan>p</plan>"), text("", "p", "Missing <analysis> section",
			"Sections appear in wrong order. Found: commands → plan, expected: plan → commands")},
		{"all warnings", inResponse(commands + "<plan>p</plan><x></x>" + commands), text("", "p", "Missing <analysis> section", unknown("x"), blocks("2"),
			"Sections appear in wrong order. Found: commands → plan, expected: plan → commands")},
		{"tags of sections inside of another", inResponse("<analysis>the <commands> tag</analysis><plan>" + ended + "</plan>" + commands), text("the <commands> tag", ended)},
	})
}

func TestTheCommandsSectionMayBeMissingOrEmpty(t *testing.T) {
	checkParsed(t, keys.XML, []parseCase{
		{"missing", inResponse(sections), keys.Response{Analysis: "a", Plan: "p", Error: noSection, Warnings: []string{noSection}}},
		{"missing and complete", inResponse(sections + ended), asComplete(responseWithKeys(nil, noSection))},
		{"open", inResponse(sections + "<commands>" + xmlListing), keys.Response{Analysis: "a", Plan: "p", Error: noSection, Warnings: []string{
			noSection, "Unknown tag found: <keystrokes>, expected analysis/plan/commands/task_complete",
		}}},
		{"empty", inCommands(" "), responseWithKeys(nil, emptyList)},
		{"a single tag", inResponse(sections + "<commands/>"), responseWithKeys(nil, emptyList)},
		{"empty and complete", inResponse(sections + "<commands></commands>" + ended), asComplete(responseWithKeys(nil))},
		{"other text", inCommands("ls -la"), responseWithKeys(nil)},
	})
}

func TestTaskCompleteInXMLIsTheWordTrue(t *testing.T) {
	commands := sections + "<commands>" + xmlListing + "</commands>"
	for written, want := range map[string]bool{
		"<task_complete>true</task_complete>": true, "<task_complete> \nTrue </task_complete>": true, "<task_complete>TRUE</task_complete>": true,
		"<task_complete>false</task_complete>": false, "<task_complete>1</task_complete>": false, "<task_complete>yes</task_complete>": false,
		"<task_complete></task_complete>": false, "<task_complete/>": false, "<task_complete />": false, "<task_complete>true": false,
	} {
		row := parseCase{written, inResponse(commands + written), responseWith()}
		row.want.TaskComplete = want
		checkParsed(t, keys.XML, []parseCase{row})
	}
	checkParsed(t, keys.XML, []parseCase{
		{"the first counts", inResponse(commands + "<task_complete>false</task_complete>" + ended), responseWith("Multiple <task_complete> sections found")},
		{
			"keystrokes do not complete a task", inCommands(`<keystrokes duration="1">echo '` + ended + "'\n</keystrokes>"),
			responseWithKeys([]keys.Keystrokes{{Keys: "echo '" + ended + "'\n", Duration: 1}}),
		},
	})
}

func TestKeystrokesInXMLAreVerbatim(t *testing.T) {
	k := func(s string, d float64) keys.Keystrokes { return keys.Keystrokes{Keys: s, Duration: d} }
	one := func(s string, d float64, warnings ...string) keys.Response {
		return responseWithKeys([]keys.Keystrokes{k(s, d)}, warnings...)
	}
	const missing = "Command 1: Missing duration attribute, using default 1.0"
	invalid := func(value string) string {
		return "Command 1: Invalid duration value '" + value + "', using default 1.0"
	}
	attributes := func(s string) string { return inCommands("<keystrokes" + s + ">a</keystrokes>") }
	inCommand := func(s string) string { return inCommands("<command>\n" + s + "\n</command>") }
	checkParsed(t, keys.XML, []parseCase{
		{"verbatim", inCommands("<keystrokes duration=\"1\"> a<b && c > \"d\"\\n\n </keystrokes>"), one(" a<b && c > \"d\"\\n\n ", 1)},
		{"empty", inCommands(`<keystrokes duration="5"></keystrokes>`), one("", 5)},
		{"a single tag", inCommands(`<keystrokes duration="5"/>`), one("", 5)},
		{"open", inCommands(xmlListing + `<keystrokes duration="1">rm`), responseWith()},
		{"a tag that is not closed", inCommands(xmlListing + `<keystrokes duration="1"`), responseWith()},
		{"another tag", inCommands(`<keystrokesx>a</keystrokes>` + xmlListing), responseWith()},
		{"negative", attributes(` duration="-1"`), one("a", -1)},
		{"long", attributes(` duration = "6e2"`), one("a", 600)},
		{"blanks in the value", attributes(` duration=" 2 "`), one("a", 2)},
		{"not quoted", attributes(` duration=0.5`), one("a", 1, `Command 1: Attribute 'duration' value should be quoted: duration="0.5"`, missing)},
		{"a quote that is not closed", attributes(` duration="0.5`), one("a", 1, `Command 1: Attribute 'duration' value should be quoted: duration="0.5"`, missing)},
		{"single quotes", attributes(` duration='0.5'`), one("a", 0.5, `Command 1: Use double quotes for attribute 'duration': duration="0.5"`)},
		{"unknown attributes", attributes(` x="1" duration="2" wait=3 now`), one("a", 2,
			"Command 1: Unknown attribute 'x' - known attributes are: duration",
			"Command 1: Unknown attribute 'wait' - known attributes are: duration",
			"Command 1: Unknown attribute 'now' - known attributes are: duration")},
		{"no number", attributes(` duration="soon"`), one("a", 1, invalid("soon"))},
		{"empty value", attributes(` duration=""`), one("a", 1, invalid(""))},
		{"infinite", attributes(` duration="inf"`), one("a", 1, invalid("inf"))},
		{"too large", attributes(` duration="1e999"`), one("a", 1, invalid("1e999"))},
		{"not a number", attributes(` duration="NaN"`), one("a", 1, invalid("NaN"))},
		{"hexadecimal", attributes(` duration="0x1p2"`), one("a", 1, invalid("0x1p2"))},
		{"no duration", attributes(""), one("a", 1, missing)},
		{"no value", attributes(" duration"), one("a", 1, missing)},
		{"in a command", inCommand("<keystrokes>ls -la\n</keystrokes>\n<duration>0.5</duration>"), one("ls -la\n", 0.5)},
		{"in a command, first", inCommand("<duration> 0.5 </duration><keystrokes>ls</keystrokes>"), one("ls", 0.5)},
		{"the attribute wins", inCommand(`<keystrokes duration="2">ls</keystrokes><duration>0.5</duration>`), one("ls", 2)},
		{
			"an attribute that is not quoted does not", inCommand(`<keystrokes duration=2>ls</keystrokes><duration>0.5</duration>`),
			one("ls", 0.5, `Command 1: Attribute 'duration' value should be quoted: duration="2"`),
		},
		{"in a command, no number", inCommand("<keystrokes>ls</keystrokes><duration>soon</duration>"), one("ls", 1, invalid("soon"))},
		{"in a command without a duration", inCommand("<keystrokes>ls</keystrokes>"), one("ls", 1, missing)},
		{"in no command", inCommands("<keystrokes>ls</keystrokes><duration>0.5</duration>"), one("ls", 1, missing)},
		{"after the command", inCommands("<command><keystrokes>ls</keystrokes></command><duration>0.5</duration>"), one("ls", 1, missing)},
		{"before the command", inCommands("<command></command><duration>0.5</duration><keystrokes>ls</keystrokes>"), one("ls", 1, missing)},
		{"of a command that is not closed", inCommands("<command><keystrokes>ls</keystrokes><command><duration>0.5</duration>"), one("ls", 1, missing)},
		{
			"of another command", inCommands("<command><keystrokes>a\n</keystrokes></command><command><keystrokes>b</keystrokes><duration>2</duration></command>"),
			responseWithKeys([]keys.Keystrokes{k("a\n", 1), k("b", 2)}, missing),
		},
		{"all warnings", inCommands("<keystrokes x='1' duration=2>a</keystrokes>\n<keystrokes duration='3'>b</keystrokes>"), responseWithKeys(
			[]keys.Keystrokes{k("a", 1), k("b", 3)},
			`Command 1: Attribute 'duration' value should be quoted: duration="2"`,
			"Command 1: Unknown attribute 'x' - known attributes are: duration", missing, "Command 1"+noNewline,
			`Command 2: Use double quotes for attribute 'duration': duration="3"`)},
		{
			"no newline needed", inCommands(`<keystrokes duration="1"></keystrokes><keystrokes duration="1">C-c</keystrokes><keystrokes duration="1">i</keystrokes>`),
			responseWithKeys([]keys.Keystrokes{k("", 1), k("C-c", 1), k("i", 1)}),
		},
	})
}

func TestEscapesInXMLAreReadVerbatimAndWarnedOf(t *testing.T) {
	verbatim := func(escape, character string) string {
		return "Warning: " + escape + " is read verbatim and not converted to " + character + ". NEVER USE " + escape +
			", unless you want these exact characters to appear directly in the output."
	}
	checkParsed(t, keys.XML, []parseCase{
		{
			"all", inCommands(`<keystrokes>&apos;&quot;&amp;&gt;&lt;\r\n</keystrokes>`), responseWithKeys([]keys.Keystrokes{{Keys: `&apos;&quot;&amp;&gt;&lt;\r\n`, Duration: 1}},
				"Command 1: Missing duration attribute, using default 1.0",
				verbatim("&lt;", "<"), verbatim("&gt;", ">"), verbatim("&amp;", "&"), verbatim("&quot;", `"`), verbatim("&apos;", "'"),
				`Warning: \r\n line endings are not necessary - use \n instead for simpler output`),
		},
		{"one", inCommands(xmlListing + "&amp;"), responseWith(verbatim("&amp;", "&"))},
		{
			"real line ends and other sections", inResponse("<analysis>&lt;</analysis><plan>p</plan><commands><keystrokes duration=\"1\">a\r\n</keystrokes></commands>"),
			keys.Response{Analysis: "&lt;", Plan: "p", Commands: []keys.Keystrokes{{Keys: "a\r\n", Duration: 1}}},
		},
	})
}
