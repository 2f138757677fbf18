package gen

import (
	"sort"

	"pvemcp/apidoc"
)

// goType is the Go type of one value of a call.
type goType struct {
	name  string // string, int64, float64, bool, or the name of a type of apidoc
	named bool   // it stands in apidoc
}

var (
	goString = goType{name: "string"}
	goInt    = goType{name: "int"}
	goInt64  = goType{name: "int64"}
	goFloat  = goType{name: "float64"}
	goBool   = goType{name: "bool"}
)

// pathTypes says which parameters of paths have a type of their own.
var pathTypes = map[string]string{
	"node": "Node", "vmid": "VMID", "storage": "Storage", "upid": "UPID",
	"volume": "VolID", "poolid": "Pool", "realm": "Realm", "userid": "UserID",
}

// formatTypes says which named formats have a type of their own.
var formatTypes = map[string]string{
	"pve-node": "Node", "pve-storage-id": "Storage", "pve-poolid": "Pool",
	"pve-userid": "UserID", "pve-realm": "Realm", "pve-volume-id": "VolID",
}

func argType(name string, p *apidoc.Property) goType {
	if t, ok := pathTypes[name]; ok {
		return goType{t, true}
	}
	if p != nil && p.Type == apidoc.Integer {
		return goInt
	}
	return goString
}

// paramType gives the Go type of a parameter's value, or of the items of a
// list. What has no declared type goes over the wire as a string.
func paramType(p *apidoc.Property) (t goType, list bool) {
	if p.Type == apidoc.Array {
		if p.Items == nil {
			return goString, true
		}
		t, _ = paramType(p.Items)
		return t, true
	}
	switch p.Type {
	case apidoc.Integer:
		if p.Format == "pve-vmid" {
			return goType{"VMID", true}, false
		}
		return goInt64, false
	case apidoc.Number:
		return goFloat, false
	case apidoc.Boolean:
		return goBool, false
	case apidoc.String:
		if t, ok := formatTypes[p.Format]; ok {
			return goType{t, true}, false
		}
	}
	return goString, false
}

// shape is the form of a value in an answer, with what is said about it.
type shape struct {
	kind   ShapeKind
	elem   *shape
	fields []shapeField
	goName string // of an object: its struct
}

type shapeField struct {
	wire    string
	field   string
	indexed bool
	doc     string
	shape   *shape
}

// typeDecl is a struct to be written.
type typeDecl struct {
	name  string
	doc   string
	shape *shape
}

// readResult finds out what the method answers and names the structs.
func (m *method) readResult(o *Overlay, bad *problems) {
	s := declaredShape(m.Returns)
	if r, ok := o.Results[m.key()]; ok {
		given := overlayShape(r.Shape)
		if r.Replace || s == nil {
			s = given
		} else if !addFields(s, given) {
			bad.add(m.key(), "[results] adds fields, but the schema declares no object to add them to; say `replace`")
		}
	}
	if s != nil && s.kind == ShapeString && m.policy.Task {
		s = &shape{kind: shapeTask}
	} else if m.policy.Task && (s == nil || s.kind == ShapeAny) {
		s = &shape{kind: shapeTask}
	}
	m.result = s
	if s == nil {
		return
	}
	suffix, doc := "Result", "is what "+m.name+" answers."
	if s.kind == ShapeList {
		s, suffix, doc = s.elem, "Item", "is one entry of what "+m.name+" answers."
		for s.kind == ShapeList || s.kind == ShapeMap {
			s = s.elem
		}
	}
	m.nameStructs(s, m.name+suffix, doc, bad)
}

// shapeTask is the id of a task; the overlay says where.
const shapeTask ShapeKind = "task"

func (m *method) nameStructs(s *shape, name, doc string, bad *problems) {
	switch s.kind {
	case ShapeMap:
		m.nameStructs(s.elem, name+"Value", doc, bad)
	case ShapeList:
		m.nameStructs(s.elem, name+"Item", doc, bad)
	case ShapeObject:
		s.goName = name
		m.types = append(m.types, typeDecl{name, doc, s})
		wires := make([]string, len(s.fields))
		for i, f := range s.fields {
			wires[i] = f.wire
		}
		fields := fieldNames(wires, func(a, b string) {
			bad.add(m.key(), "fields %q and %q of the answer have the same Go name", a, b)
		})
		for i := range s.fields {
			f := &s.fields[i]
			if !canBeTag(f.wire) {
				bad.add(m.key(), "field %q of the answer has a name that no struct tag can hold", f.wire)
			}
			f.field = fields[f.wire]
			_, f.indexed = indexStem(f.wire)
			m.nameStructs(f.shape, name+f.field, "is the value of `"+f.wire+"` in "+name+".", bad)
		}
	}
}

// declaredShape reads what the schema says of an answer; nil is nothing.
func declaredShape(p *apidoc.Property) *shape {
	if p.Type == apidoc.Null {
		return nil
	}
	return shapeOf(p)
}

func shapeOf(p *apidoc.Property) *shape {
	switch p.Type {
	case apidoc.String:
		return &shape{kind: ShapeString}
	case apidoc.Integer:
		return &shape{kind: ShapeInt}
	case apidoc.Number:
		return &shape{kind: ShapeNumber}
	case apidoc.Boolean:
		return &shape{kind: ShapeBool}
	case apidoc.Array:
		items := p.Items
		if items == nil && len(p.OneOf) > 0 {
			items = sharedItems(p.OneOf)
		}
		if items == nil {
			return &shape{kind: ShapeList, elem: &shape{kind: ShapeAny}}
		}
		return &shape{kind: ShapeList, elem: shapeOf(items)}
	}
	if p.Type != apidoc.Object && p.Type != apidoc.Untyped {
		return &shape{kind: ShapeAny}
	}
	props, _ := mergeVariants(p)
	if len(props) == 0 {
		if p.AdditionalSchema != nil {
			return &shape{kind: ShapeMap, elem: shapeOf(p.AdditionalSchema)}
		}
		return &shape{kind: ShapeAny}
	}
	s := &shape{kind: ShapeObject}
	for _, name := range sortedNames(props) {
		q := props[name]
		s.fields = append(s.fields, shapeField{wire: name, doc: resultDoc(q), shape: shapeOf(q)})
	}
	return s
}

// sharedItems gives the items of alternatives whose items have one type.
func sharedItems(variants []*apidoc.Property) *apidoc.Property {
	var shared *apidoc.Property
	for _, v := range variants {
		switch {
		case v.Items == nil:
			return nil
		case shared == nil:
			shared = v.Items
		case shared.Type != v.Items.Type:
			return nil
		case shared.Type == apidoc.Object:
			merged := *shared
			merged.OneOf = append(append([]*apidoc.Property(nil), shared.OneOf...), v.Items)
			shared = &merged
		default:
			shared = joined(shared, v.Items)
		}
	}
	return shared
}

func overlayShape(s Shape) *shape {
	out := &shape{kind: s.Kind}
	if s.Elem != nil {
		out.elem = overlayShape(*s.Elem)
	}
	for _, f := range s.Fields {
		out.fields = append(out.fields, shapeField{wire: f.Name, shape: overlayShape(f.Shape)})
	}
	return out
}

// addFields puts the overlay's fields over those of the declared object, or of
// the objects of the declared list.
func addFields(s, more *shape) bool {
	if s.kind == ShapeList && more.kind == ShapeList {
		if s.elem.kind == ShapeAny {
			s.elem = more.elem
			return true
		}
		return addFields(s.elem, more.elem)
	}
	if s.kind == ShapeAny {
		*s = *more
		return true
	}
	if s.kind != ShapeObject || more.kind != ShapeObject {
		return false
	}
	for _, f := range more.fields {
		i := sort.Search(len(s.fields), func(i int) bool { return s.fields[i].wire >= f.wire })
		if i < len(s.fields) && s.fields[i].wire == f.wire {
			f.doc = ""
			s.fields[i] = f
			continue
		}
		s.fields = append(s.fields, shapeField{})
		copy(s.fields[i+1:], s.fields[i:])
		s.fields[i] = f
	}
	return true
}
