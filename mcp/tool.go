package mcp

import (
	"context"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"fleetglass/access"
)

// tool is one tool, whatever its input.
type tool interface {
	scope() access.Scope
	add(server *sdk.Server, c *caller)
}

// toolFor is a tool with an input of type In, whose schema follows from the type.
type toolFor[In any] struct {
	name, title, about string
	needs              access.Scope // Of its call; the call itself asks for it.
	harmless           bool         // It changes nothing although its call could.
	calls              func(In) call
	run                func(context.Context, *caller, In) (reply, error) // Instead of calls, where it takes more than one.
	text               func(document, In) string                         // What was answered, as markdown.
}

// scope is what the tool's call needs. A call whose scope changes things is refused in read-only mode.
func (t toolFor[In]) scope() access.Scope { return t.needs }

// changes reports whether the tool changes something.
func (t toolFor[In]) changes() bool { return t.needs.Changes() && !t.harmless }

func (t toolFor[In]) add(server *sdk.Server, c *caller) {
	closed, destroys := false, t.changes()
	hints := &sdk.ToolAnnotations{Title: t.title, ReadOnlyHint: !t.changes(), IdempotentHint: true, OpenWorldHint: &closed, DestructiveHint: &destroys}
	sdk.AddTool(server, &sdk.Tool{Name: t.name, Title: t.title, Description: t.about, Annotations: hints},
		func(ctx context.Context, _ *sdk.CallToolRequest, in In) (*sdk.CallToolResult, any, error) {
			answer, err := t.ask(ctx, c, in)
			if err != nil {
				return nil, nil, err
			}
			return t.present(answer, in), nil, nil
		})
}

func (t toolFor[In]) ask(ctx context.Context, c *caller, in In) (reply, error) {
	if t.run != nil {
		return t.run(ctx, c, in)
	}
	return c.do(ctx, t.calls(in))
}

// present makes the result of a tool: the JSON of the call, and what it says in words.
func (t toolFor[In]) present(answer reply, in In) *sdk.CallToolResult {
	d := read(answer.body)
	text := refusal(d)
	if answer.ok() {
		text = t.text(d, in)
	}
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}, StructuredContent: answer.body, IsError: !answer.ok()}
}

// tools lists all tools.
func tools() []tool {
	return slices.Concat(taskTools(), deadLetterTools(), fleetTools())
}
