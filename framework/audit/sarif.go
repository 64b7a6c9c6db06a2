package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// The part of SARIF 2.1.0 that reports use.
// Source: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		Results     []sarifResult     `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID                   string     `json:"id"`
		ShortDescription     sarifText  `json:"shortDescription"`
		FullDescription      sarifText  `json:"fullDescription"`
		HelpURI              string     `json:"helpUri"`
		DefaultConfiguration sarifLevel `json:"defaultConfiguration"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifLevel struct {
		Level Severity `json:"level"`
	}
	sarifInvocation struct {
		ExecutionSuccessful bool                `json:"executionSuccessful"`
		EndTimeUTC          string              `json:"endTimeUtc"`
		Notifications       []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	}
	sarifNotification struct {
		Level   Severity  `json:"level"`
		Message sarifText `json:"message"`
	}
	sarifResult struct {
		RuleID              string            `json:"ruleId"`
		RuleIndex           int               `json:"ruleIndex"`
		Level               Severity          `json:"level"`
		Message             sarifText         `json:"message"`
		Locations           []sarifLocation   `json:"locations"`
		PartialFingerprints map[string]string `json:"partialFingerprints"`
		Properties          sarifProperties   `json:"properties"`
	}
	sarifLocation struct {
		Physical sarifPhysical  `json:"physicalLocation"`
		Logical  []sarifLogical `json:"logicalLocations"`
	}
	sarifPhysical struct {
		Artifact struct {
			URI string `json:"uri"`
		} `json:"artifactLocation"`
		Region struct {
			StartLine int `json:"startLine"`
		} `json:"region"`
	}
	sarifLogical struct {
		Name               string `json:"name"`
		FullyQualifiedName string `json:"fullyQualifiedName"`
		Kind               string `json:"kind"`
	}
	sarifProperties struct {
		Fix     []Step `json:"fix"`
		Caution string `json:"caution,omitempty"`
	}
)

// WriteSARIF writes the report as SARIF 2.1.0, for code scanning. An object of a cluster has no file, but some readers insist
// on one: its location is namespace/kind/name, line 1. What was not checked becomes an error notification of the tool.
func (r Report) WriteSARIF(w io.Writer, version string) error {
	run := sarifRun{
		Tool: sarifTool{sarifDriver{
			Name: "holdfast audit", Version: version, InformationURI: "https://github.com/holdfast-ha/holdfast",
		}},
		Invocations: []sarifInvocation{r.invocation()}, Results: []sarifResult{},
	}
	for _, rule := range Rules {
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{
			ID: rule.ID, ShortDescription: sarifText{rule.Title}, FullDescription: sarifText{rule.Why},
			HelpURI: rule.Doc, DefaultConfiguration: sarifLevel{rule.Severity},
		})
	}
	seen := map[string]int{}
	for _, f := range r.Findings {
		run.Results = append(run.Results, f.sarif(seen))
	}
	return write(w, sarifLog{
		Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run},
	})
}

func (r Report) invocation() sarifInvocation {
	i := sarifInvocation{ExecutionSuccessful: len(r.NotChecked) == 0, EndTimeUTC: r.Taken.UTC().Format(time.RFC3339)}
	for _, n := range r.NotChecked {
		i.Notifications = append(i.Notifications, sarifNotification{
			Error, sarifText{fmt.Sprintf("not checked in %s: %s: %s", n.Where(), strings.Join(n.Rules, ", "), n.Why)},
		})
	}
	return i
}

// sarif returns a finding as a SARIF result. Its fingerprint identifies it, and stays when numbers in the evidence change; seen
// counts the findings of one rule on one object.
func (f Finding) sarif(seen map[string]int) sarifResult {
	identity := f.Rule + " " + f.Object()
	seen[identity]++
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", identity, seen[identity]))
	var where sarifLocation
	where.Physical.Artifact.URI, where.Physical.Region.StartLine = f.Object(), 1
	where.Logical = []sarifLogical{{Name: f.Name, FullyQualifiedName: f.Object(), Kind: "resource"}}
	return sarifResult{
		RuleID: f.Rule, RuleIndex: slices.IndexFunc(Rules, func(r Rule) bool { return r.ID == f.Rule }), Level: f.Severity,
		Message: sarifText{f.Object() + ": " + f.Evidence}, Locations: []sarifLocation{where},
		PartialFingerprints: map[string]string{"finding/v1": hex.EncodeToString(sum[:16])},
		Properties:          sarifProperties{f.Fix, f.Caution},
	}
}
