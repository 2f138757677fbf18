package curated

import (
	"context"
	"errors"
	"strings"

	"pvemcp/apidoc"
	"pvemcp/internal/pverest"
	"pvemcp/internal/schemacache"
)

// schema gives the API's schema to check calls against: that of the connected
// cluster, or what stands in for it.
func (c *Call) schema(ctx context.Context) (*apidoc.Schema, error) {
	held, err := c.schemas.get(ctx)
	if err != nil {
		return nil, err
	}
	c.checkedBy.Store(held)
	return held.Schema, nil
}

// withSchema runs what depends on the schema, and once more when the reason for
// its failure may be that the schema is not the cluster's any more.
func (c *Call) withSchema(ctx context.Context, run func(schema *apidoc.Schema) error) error {
	schema, err := c.schema(ctx)
	if err != nil {
		return err
	}
	err = run(schema)
	var broken *apidoc.ReadError
	switch {
	case errors.As(err, &broken):
		c.schemas.distrust(c.checkedBy.Load(), err)
	case !unknownToSchema(err) || c.schemas.another(ctx, c.checkedBy.Load()) == nil:
		return err
	}
	if schema, err = c.schema(ctx); err != nil {
		return err
	}
	return run(schema)
}

// unknownToSchema tells whether a refusal of ours is for a method or parameter
// that the schema does not have.
func unknownToSchema(err error) bool {
	var lookup *apidoc.LookupError
	if errors.As(err, &lookup) {
		return true
	}
	var check *apidoc.CheckError
	if errors.As(err, &check) {
		for _, f := range check.Faults {
			if f.Kind == apidoc.FaultUnknown {
				return true
			}
		}
	}
	return false
}

// unknownToProxmox tells whether Proxmox refused a call because it does not know
// the method or a parameter.
func unknownToProxmox(err error) bool {
	var rest *pverest.Error
	if !errors.As(err, &rest) {
		return false
	}
	if rest.Kind == pverest.KindNotImplemented {
		return true
	}
	for _, fault := range rest.Params {
		if rest.Kind == pverest.KindParameter && strings.Contains(fault, "not defined in schema") {
			return true
		}
	}
	return false
}

// warned adds to an answer what must be told about the schema that the call was
// checked by, the first time.
func (c *Call) warned(a Answer) Answer {
	held := c.checkedBy.Load()
	if held == nil {
		return a
	}
	text := c.schemas.tell(held)
	if text == "" {
		return a
	}
	switch a := a.(type) {
	case Raw:
		a.Warnings = append([]string{text}, a.Warnings...)
		return a
	case doc:
		a.Warnings = append([]string{text}, a.Warnings...)
		return a
	}
	return a
}

// disagreed looks at a call's error for what it says about the schema. It gives
// what must be told with it: a refusal of ours by a schema that is not the
// cluster's own may be wrong.
func (c *Call) disagreed(err error) string {
	if unknownToProxmox(err) {
		c.schemas.doubt()
	}
	held := c.checkedBy.Load()
	if held == nil {
		return ""
	}
	var lookup *apidoc.LookupError
	var check *apidoc.CheckError
	if errors.As(err, &lookup) || errors.As(err, &check) {
		if text := c.schemas.tell(held); text != "" {
			return "\n" + text
		}
	}
	return ""
}

// newClusterSchema makes what a server asks for its cluster's schema.
func (s *Server) newClusterSchema(dir string) *clusterSchema {
	k := &clusterSchema{store: schemacache.NewStore(dir), cluster: s.o.Cluster + "\x00" + s.o.Hosts, now: s.now, log: s.log, versionWait: versionWait, fileWait: fileWait}
	k.files, _ = s.o.Transport.(fileFetcher)
	k.version = func(ctx context.Context) (string, string, error) {
		v, err := s.api.GetVersion(ctx)
		if err == nil && v.Version.V == "" {
			err = errors.New("the answer holds no version")
		}
		return v.Version.V, v.Repoid.V, err
	}
	return k
}

// elsewhere says what other versions know of a method that the cluster lacks.
func (s *Server) elsewhere(verb apidoc.Verb, path string) string {
	held := s.schemas.current()
	if held == nil {
		return ""
	}
	return held.Schema.MethodElsewhere(verb, path)
}

// paramElsewhere is elsewhere for a parameter.
func (s *Server) paramElsewhere(e *apidoc.CheckError, f apidoc.Fault) string {
	held := s.schemas.current()
	if held == nil || f.Kind != apidoc.FaultUnknown {
		return ""
	}
	return held.Schema.ParamElsewhere(e.Verb, e.Path, f.Param)
}
