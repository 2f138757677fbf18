package curated

import (
	"strings"

	"pvemcp/apidoc"
	"pvemcp/generated"
)

// TokenError says that no API token can ever make a call, whatever it is
// granted, and how it can be made instead.
type TokenError struct {
	Op   string // verb and template
	Root bool   // the call is root@pam's; else it wants a login
	Way  string // how it can be made
}

// Error gives one sentence on why and one on the way round.
func (e *TokenError) Error() string {
	why := " can't be called with an API token; it wants a login."
	if e.Root {
		why = " is root@pam's alone, and no token counts as root@pam, not even its own."
	}
	return e.Op + why + " Nothing was sent. The way round: " + e.Way + "."
}

// neverByToken refuses what no token can ever call: methods that are closed to
// tokens, and those whose schema declares no permission, which are root@pam's.
func (s *Server) neverByToken(match apidoc.Match) error {
	m, err := match.Method()
	if err != nil {
		return err
	}
	effect, known := generated.EffectOf(match.Verb, match.Path)
	switch {
	case !m.AllowToken || known && effect.NoToken:
		return &TokenError{Op: match.String(), Way: wayRound(match)}
	case !m.Permission.Declared, m.Permission.User == "" && m.Permission.Check == nil:
		return &TokenError{Op: match.String(), Root: true, Way: wayRound(match)}
	}
	return nil
}

// waysRound are the commands of a node and parts of the web interface that do
// what a token can't, by "VERB template".
var waysRound = map[string]string{
	"PUT /access/password":             "pveum passwd USER@REALM on a node, or the web interface (Datacenter, Permissions, Users)",
	"POST /access/ticket":              "none is needed, for a token makes its calls without a ticket",
	"POST /access/tfa/{userid}":        "the web interface (Datacenter, Permissions, Two Factor), logged in as that user or an administrator",
	"PUT /access/tfa/{userid}/{id}":    "the web interface (Datacenter, Permissions, Two Factor), logged in as that user or an administrator",
	"DELETE /access/tfa/{userid}/{id}": "pveum user tfa delete USER@REALM --id ID on a node, or the web interface (Datacenter, Permissions, Two Factor)",

	"POST /cluster/acme/account":          "pvenode acme account register NAME CONTACT on a node, or the web interface (Datacenter, ACME) as root@pam",
	"GET /cluster/acme/account/{name}":    "pvenode acme account info NAME on a node",
	"PUT /cluster/acme/account/{name}":    "pvenode acme account update NAME on a node",
	"DELETE /cluster/acme/account/{name}": "pvenode acme account deactivate NAME on a node",

	"GET /cluster/backup-info":               "what lies below it can be read: /cluster/backup-info/not-backed-up",
	"GET /cluster/sdn/vnets/{vnet}/firewall": "what lies below it can be read: …/firewall/rules and …/firewall/options",
	"POST /cluster/config":                   "pvecm create NAME on the node",
	"POST /cluster/config/join":              "pvecm add HOST on the node that joins",
	"POST /cluster/config/nodes/{node}":      "pvecm add HOST on the node that joins",
	"DELETE /cluster/config/nodes/{node}":    "pvecm delnode NAME on a node that stays, after the other is switched off for good",
	"POST /nodes/{node}/ceph/osd":            "pveceph osd create DEVICE on the node, or the web interface as root@pam",
	"DELETE /nodes/{node}/ceph/osd/{osdid}":  "pveceph osd destroy ID on the node, or the web interface as root@pam",
	"PUT /nodes/{node}/disks/wipedisk":       "the node's Disks page in the web interface as root@pam",
	"POST /nodes/{node}/execute":             "make its calls one by one",
}

// wayRound gives a way to make a call without a token. Where nothing better is
// known that is pvesh, which calls the API as root@pam on a node.
func wayRound(match apidoc.Match) string {
	if way := waysRound[match.String()]; way != "" {
		return way
	}
	path := match.Path
	for _, v := range match.Values {
		path = strings.ReplaceAll(path, "{"+v.Name+"}", v.Value)
	}
	command := map[apidoc.Verb]string{apidoc.GET: "get", apidoc.POST: "create", apidoc.PUT: "set", apidoc.DELETE: "delete"}[match.Verb]
	return "pvesh " + command + " " + shellWord(path) + " as root on a node"
}
