package curated

import (
	"bytes"
	"context"
	"encoding/json"

	"pvemcp/generated"
	"pvemcp/internal/pverest"
)

// capture calls through a generated method but keeps the answer as it came,
// for objects whose keys matter as a whole (a guest's configuration).
type capture struct {
	rest *pverest.Client
	data json.RawMessage
}

// Call is the generated client's door; the answer is kept instead of decoded.
func (k *capture) Call(ctx context.Context, verb, path string, p, _ any) error {
	params, err := pverest.EncodeParams(p)
	if err != nil {
		return err
	}
	reply, err := k.rest.Do(ctx, pverest.Call{Verb: verb, Path: path, Params: params})
	k.data = reply.Data
	return err
}

// raw gives the answer to one generated call as Proxmox sent it.
func (c *Call) raw(call func(api *generated.Client) error) (json.RawMessage, error) {
	k := &capture{rest: c.rest}
	err := call(generated.New(k))
	return k.data, err
}

// flatten decodes an object of scalars to texts, as a guest's configuration is:
// Proxmox mixes numbers and strings in it. Nested values keep their JSON text.
func flatten(data json.RawMessage) map[string]string {
	var raw map[string]json.RawMessage
	if json.Unmarshal(data, &raw) != nil {
		return nil
	}
	out := make(map[string]string, len(raw))
	for key, v := range raw {
		v = bytes.TrimSpace(v)
		var s string
		switch {
		case string(v) == "null":
			continue
		case len(v) > 0 && v[0] == '"' && json.Unmarshal(v, &s) == nil:
			out[key] = s
		default:
			out[key] = string(v)
		}
	}
	return out
}
