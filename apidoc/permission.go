package apidoc

// Permission says who may call a method, as far as the schema tells. The zero
// value (nothing declared) means root@pam alone.
type Permission struct {
	Declared    bool   // false: only root@pam
	User        string // "all": any authenticated user; "world": anybody
	Check       *Expr  // nil: no expression
	Description string // Proxmox's prose; empty in our snapshots
}

// ExprOp is the operator of a permission expression.
type ExprOp string

// The operators that occur in published schemas.
const (
	OpPerm       ExprOp = "perm"         // privileges on a path
	OpAnd        ExprOp = "and"          // all of Args
	OpOr         ExprOp = "or"           // one of Args
	OpUserGroup  ExprOp = "userid-group" // privileges on a group of the user in question
	OpUserParam  ExprOp = "userid-param" // "self", or Realm.AllocateUser on the user's realm
	OpPermModify ExprOp = "perm-modify"  // may change permissions of the path
)

// Expr is a permission expression: Proxmox's prefix list as a value.
type Expr struct {
	Op   ExprOp
	Args []*Expr // of and, or

	Path  string   // of perm and perm-modify; holds {parameters}
	Privs []string // of perm and userid-group
	Any   bool     // of perm: one privilege is enough
	// RequireParam: the test counts only if that parameter is given.
	RequireParam string
	// GroupsParam ("create", "update"): userid-group looks at the parameter
	// "groups" too.
	GroupsParam string
	// Param of userid-param: "self" or "Realm.AllocateUser".
	Param string
}
