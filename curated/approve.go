package curated

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pvemcp/curated/gate"
	"pvemcp/curated/render"
)

// question is what a person is asked before a change is made (PROXMOX_APPROVAL=ask).
type question struct {
	text  string
	state string // sealed; the client gives it back with the answer
}

// askError ends a handler's first run: a person has to be asked. It is no
// failure.
type askError struct{ question }

func (e *askError) Error() string { return "a person must be asked: " + e.text }

// answerOf is what a client brought back with a sealed state.
type answerOf struct {
	state    string
	accepted bool
}

// askID names the one question in a result.
const askID = "approve"

// approveSchema is the form that goes with the question: one switch.
var approveSchema = map[string]any{
	"type":       "object",
	"properties": map[string]any{"approve": map[string]any{"type": "boolean", "title": "Do it"}},
	"required":   []string{"approve"},
}

// readAnswer looks for an answer in a request that comes back.
func readAnswer(p *mcp.CallToolParamsRaw) *answerOf {
	if p.RequestState == "" && len(p.InputResponses) == 0 {
		return nil
	}
	a := &answerOf{state: p.RequestState}
	if r, ok := p.InputResponses[askID].(*mcp.ElicitResult); ok {
		yes, _ := r.Content["approve"].(bool)
		a.accepted = r.Action == "accept" && yes
	}
	return a
}

// inputs puts a question into the result that asks it.
func (q *question) inputs() *mcp.CallToolResult {
	return &mcp.CallToolResult{
		InputRequests: mcp.InputRequestMap{askID: &mcp.ElicitParams{Mode: "form", Message: q.text, RequestedSchema: approveSchema}},
		RequestState:  q.state,
	}
}

// declinedError says that the person did not agree.
type declinedError struct{ title string }

func (e *declinedError) Error() string {
	return e.title + ": the person who was asked did not agree, so nothing was changed. Do not ask again unless they say so."
}

// consent holds a change against the approval in force and gives what the gate
// wants to see. It has no side effect before everything is in order, because a
// handler runs twice when a person is asked.
func (c *Call) consent(ctx context.Context, ch *change, intents []*gate.Intent, w WriteArgs) (gate.Consent, error) {
	given := gate.Consent{Confirm: w.Confirm, DataLoss: w.DataLoss}
	if len(intents) == 0 {
		return given, nil
	}
	switch c.gate.Approval() {
	case gate.ByPlan:
		if w.Plan == "" {
			return given, nil // the gate says what is needed
		}
		// A forgotten flag does not use the plan up.
		for _, in := range intents {
			if confirm, dataLoss := in.Needs(); confirm && !w.Confirm || dataLoss && !w.DataLoss {
				_, err := c.gate.Grant(ctx, in, given)
				return given, err
			}
		}
		hash, err := gate.HashArgs(c.args)
		if err != nil {
			return given, err
		}
		given.Approved, err = c.gate.Redeem(ctx, w.Plan, c.Tool, hash, ch.seen)
		return given, err
	case gate.ByAsk:
		if !c.canAsk {
			return given, nil
		}
		hash, err := gate.HashArgs(c.args)
		if err != nil {
			return given, err
		}
		text := askText(ch, intents)
		if c.answer == nil {
			state, _, err := c.gate.Ask(ctx, c.Tool, hash, ch.seen, text, intents)
			if err != nil {
				return given, err
			}
			return given, &askError{question{text: text, state: state}}
		}
		if !c.answer.accepted {
			return given, &declinedError{ch.title}
		}
		given.Approved, err = c.gate.Answered(ctx, c.answer.state, c.Tool, hash, ch.seen, text)
		// The person has read what is lost; their consent stands above a flag
		// that a model sets.
		given.Confirm, given.DataLoss = true, true
		return given, err
	}
	return given, nil
}

// askText is what the person reads: what is done, by which calls, what is lost.
func askText(ch *change, intents []*gate.Intent) string {
	lines := []string{render.Line(ch.title) + "?"}
	for _, in := range intents {
		lines = append(lines, fmt.Sprintf("%s %s (%s)", in.Verb, render.Line(in.Path), classText(in.Class)))
		masked := in.Masked()
		var params []string
		for _, name := range sortedNames(masked) {
			if name == "digest" || strings.Contains(in.Template, "{"+name+"}") {
				continue // a digest says nothing to a person
			}
			params = append(params, name+"="+clip(render.Line(strings.Join(masked[name], " "))))
		}
		if len(params) > 0 {
			lines = append(lines, "with "+some(params, 20))
		}
	}
	for _, l := range ch.loses {
		lines = append(lines, "Lost for good: "+render.Line(l))
	}
	return render.Cut(strings.Join(lines, "\n"), 800)
}
