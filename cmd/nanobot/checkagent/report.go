package checkagent

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
)

// caseReport is a case that was tried.
type caseReport struct {
	ID      string  `json:"id"`
	Verdict verdict `json:"verdict"`
	Rule    string  `json:"rule"`
	Detail  string  `json:"detail"`
	Fix     string  `json:"fix"` // "": there is nothing to do
}

// report is the result of the check.
type report struct {
	Cases  []caseReport `json:"cases"`
	Failed int          `json:"failed"`
}

// report assesses the cases for the agent's protocol. Those that were not tried are left out.
func (r *results) report() report {
	rep := report{Cases: []caseReport{}}
	for _, c := range cases {
		if c.protocols != nil && !slices.Contains(c.protocols, r.protocol.Name) {
			continue
		}
		found := c.assess(r)
		if found.verdict == untried {
			continue
		}
		one := caseReport{ID: c.id, Verdict: found.verdict, Rule: c.rule, Detail: found.detail}
		if found.verdict != good {
			one.Fix = c.fix
		}
		if found.verdict == failed {
			rep.Failed++
		}
		rep.Cases = append(rep.Cases, one)
	}
	return rep
}

// printJSON prints the report as one object.
func (rep report) printJSON(out io.Writer) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(rep); err != nil {
		return fmt.Errorf("print report: %w", err)
	}
	return nil
}

// print prints the report for people.
func (rep report) print(out io.Writer) error {
	var b strings.Builder
	count := map[verdict]int{}
	for _, c := range rep.Cases {
		count[c.Verdict]++
		fmt.Fprintf(&b, "%-7s %-24s %s\n", c.Verdict, c.ID, c.Detail)
		if c.Fix != "" {
			fmt.Fprintf(&b, "        %s\n        fix: %s\n", c.Rule, c.Fix)
		}
	}
	fmt.Fprintf(&b, "%d cases: %d ok, %d advice, %d failed\n", len(rep.Cases), count[good], count[advice], count[failed])
	if _, err := io.WriteString(out, b.String()); err != nil {
		return fmt.Errorf("print report: %w", err)
	}
	return nil
}

// junitSuite and junitCase are the parts of JUnit's format that CI systems read.
type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	Failure *junitFailure `xml:"failure"`
	Output  string        `xml:"system-out,omitempty"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// writeJUnit writes the report as XML. Advice is the output of a case that has passed.
func (rep report) writeJUnit(out io.Writer, protocol string) error {
	suite := junitSuite{Name: "check-agent", Tests: len(rep.Cases), Failures: rep.Failed}
	for _, c := range rep.Cases {
		one := junitCase{Name: c.ID, Class: "check-agent." + protocol}
		switch text := c.Detail + "\n" + c.Rule + "\n" + c.Fix; c.Verdict {
		case failed:
			one.Failure = &junitFailure{Message: c.Detail, Text: text}
		case advice:
			one.Output = text
		case good, untried:
		}
		suite.Cases = append(suite.Cases, one)
	}
	encoder := xml.NewEncoder(out)
	encoder.Indent("", "  ")
	_, err := io.WriteString(out, xml.Header)
	if err == nil {
		err = encoder.Encode(suite)
	}
	return err
}
