package apidoc

// Type is the declared type of a parameter or result. Proxmox uses one word
// per schema; the empty type means that nothing was declared.
type Type string

// The types that occur in published schemas.
const (
	Untyped Type = ""
	String  Type = "string"
	Integer Type = "integer"
	Number  Type = "number"
	Boolean Type = "boolean"
	Array   Type = "array"
	Object  Type = "object"
	Null    Type = "null"
	Any     Type = "any"
)

// Extra says what an object schema does with keys that it does not declare.
type Extra uint8

// What additionalProperties may say.
const (
	ExtraUnsaid  Extra = iota // the key is absent: unknown keys pass
	ExtraRefused              // 0: unknown keys are refused
	ExtraAllowed              // 1: unknown keys pass
	ExtraSchema               // a schema: unknown keys are checked against AdditionalSchema
)

// Property is one schema position: a parameter, a result, a key of a property
// string, an item of a list. Only what was declared is set.
type Property struct {
	Type        Type
	Optional    bool
	Description string // Proxmox's prose; empty in our snapshots
	TypeText    string // Proxmox's short grammar; empty in our snapshots

	// Format is the named format; Nested the grammar of a property string that
	// was written inline instead of a name. At most one of them is set.
	Format string
	Nested map[string]*Property

	Pattern              string
	Enum                 []string // allowed texts; nil when none or declared as null
	Minimum, Maximum     *float64
	MinLength, MaxLength *int // in characters
	Default              *string
	Requires             string    // name of another property that must then be given
	RequiresSchema       *Property // the same as a schema for the whole object (rare)

	Alias      string // property-string keys: another name for this key
	KeyAlias   string // and the key that takes the alias' own name
	DefaultKey bool   // property-string keys: may be given without "key="
	Renderer   string // how a viewer shows it: bytes, duration, timestamp…
	Group      bool   // carries JSON schema's group attribute: counts as optional

	Items            *Property
	Properties       map[string]*Property
	HasProperties    bool // properties was given, even if empty
	Extra            Extra
	AdditionalSchema *Property

	// Variants. TypeProperty names the sibling that selects; InstanceTypes says
	// for which of its values this property (or alternative) counts.
	TypeProperty       string
	InstanceTypes      []string
	InstanceType       string
	TypePropertySchema *Property
	OneOf              []*Property
	AllOf              []*Property

	// What the check looks up often, noted once when a schema is decoded.
	sealed     bool
	need       []string  // names of Properties that say something even when absent
	grammar    *Property // Nested as an object schema
	defaultKey string    // of a grammar
}

// Names gives the declared property names, sorted.
func (p *Property) Names() []string { return sortedKeys(p.Properties) }

// Method is one verb on one path, decoded.
type Method struct {
	Verb        Verb
	Path        string // template, such as /nodes/{node}/qemu
	Name        string // Proxmox's own name; not unique
	Description string // Proxmox's prose; empty in our snapshots
	Protected   bool   // run by pvedaemon as root
	ProxyTo     string // "node": passed on to the node in the path
	AllowToken  bool   // may be called with an API token
	// ExposeCredentials and DownloadAllowed are flags of the server without
	// meaning for a check; kept because the model is whole.
	ExposeCredentials bool
	DownloadAllowed   bool
	Parameters        *Property // never nil; an object schema
	Returns           *Property // never nil
	Permission        Permission
	// Unknown lists constructs that this package has never seen, each with its
	// place. The generator refuses them; at run time they are left out.
	Unknown []string

	era era // the release whose rules the check follows
}

// PathParams gives the names in braces in the method's path, in order.
func (m *Method) PathParams() []string { return pathParams(m.Path) }
