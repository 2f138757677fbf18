package settings

import (
	"fmt"
	"strings"
)

// Prefix begins the name of every environment variable of ours.
const Prefix = "PROXMOX_"

// Kind is the form of a setting's value.
type Kind string

// The forms. Secret values are never shown.
const (
	KindText     Kind = "text"
	KindSecret   Kind = "secret"
	KindBool     Kind = "true|false"
	KindInt      Kind = "number"
	KindDuration Kind = "seconds"
	KindChoice   Kind = "choice"
	KindList     Kind = "list"
	KindFile     Kind = "file"
)

// Setting declares one setting.
type Setting struct {
	Name     string // without PROXMOX_
	Group    string // heading in help and documentation
	Kind     Kind
	Default  string   // shown in help; empty for none
	Choices  []string // of KindChoice and KindList
	Min, Max int      // of KindInt and KindDuration (seconds)
	Help     string   // one sentence
	set      func(c *Config, v value) error
}

// Env gives the full name of the environment variable.
func (s *Setting) Env() string { return Prefix + s.Name }

// Values describes what may be given, for help and errors.
func (s *Setting) Values() string {
	switch s.Kind {
	case KindChoice:
		return strings.Join(s.Choices, "|")
	case KindList:
		if len(s.Choices) > 0 {
			return "list of " + strings.Join(s.Choices, ",")
		}
		return "list"
	case KindInt:
		return fmt.Sprintf("%d–%d", s.Min, s.Max)
	case KindDuration:
		return fmt.Sprintf("seconds, %d–%d", s.Min, s.Max)
	}
	return string(s.Kind)
}

// Toolsets lists the groups of tools that PROXMOX_TOOLSETS takes, besides "all".
var Toolsets = []string{"core", "guests", "audit"}

// The headings of the table.
const (
	groupConnection = "Connection"
	groupAllowed    = "What may be done"
	groupShown      = "What is shown"
	groupFiles      = "Files"
)

// table is every setting there is.
var table = []Setting{
	{Name: "HOST", Group: groupConnection, Kind: KindList, Help: "Node to talk to: host, host:port or URL; several of one cluster, separated by commas, stand in for each other.",
		set: func(c *Config, v value) error { c.Hosts = v.list(); return nil }},
	{Name: "PORT", Group: groupConnection, Kind: KindInt, Default: "8006", Min: 1, Max: 65535, Help: "Port, where PROXMOX_HOST names none.",
		set: func(c *Config, v value) (err error) { c.Port, err = v.int(); return }},
	{Name: "TOKEN_ID", Group: groupConnection, Kind: KindText, Help: "API token, as USER@REALM!NAME.",
		set: func(c *Config, v value) error { c.TokenID = v.text; return nil }},
	{Name: "TOKEN_SECRET", Group: groupConnection, Kind: KindSecret, Help: "The token's secret, as Proxmox showed it once.",
		set: func(c *Config, v value) error { c.TokenSecret = v.text; return nil }},
	{Name: "USER", Group: groupConnection, Kind: KindText, Help: "USER@REALM, together with PROXMOX_TOKEN_NAME and PROXMOX_TOKEN_VALUE, instead of PROXMOX_TOKEN_ID.",
		set: func(c *Config, v value) error { c.user = v.text; return nil }},
	{Name: "TOKEN_NAME", Group: groupConnection, Kind: KindText, Help: "The token's name behind the exclamation mark.",
		set: func(c *Config, v value) error { c.tokenName = v.text; return nil }},
	{Name: "TOKEN_VALUE", Group: groupConnection, Kind: KindSecret, Help: "The same as PROXMOX_TOKEN_SECRET.",
		set: func(c *Config, v value) error { c.tokenValue = v.text; return nil }},
	{Name: "CA_FILE", Group: groupConnection, Kind: KindFile, Help: "PEM file of the authority that signed the node's certificate; Proxmox's own is /etc/pve/pve-root-ca.pem on a node.",
		set: func(c *Config, v value) error { c.CAFile = v.text; return nil }},
	{Name: "FINGERPRINT", Group: groupConnection, Kind: KindText, Help: "SHA-256 fingerprint of the node's certificate (AA:BB:…), instead of a CA; several separated by commas.",
		set: func(c *Config, v value) error { c.Fingerprint = v.text; return nil }},
	{Name: "TLS_INSECURE", Group: groupConnection, Kind: KindBool, Default: "false", Help: "true accepts any certificate; prefer a fingerprint.",
		set: func(c *Config, v value) (err error) { c.Insecure, err = v.bool(); return }},
	{Name: "VERIFY_SSL", Group: groupConnection, Kind: KindBool, Default: "true", Help: "false is the same as PROXMOX_TLS_INSECURE=true.",
		set: func(c *Config, v value) error {
			verify, err := v.bool()
			c.verifySSL = &verify
			return err
		}},
	{Name: "TIMEOUT", Group: groupConnection, Kind: KindDuration, Default: "30", Min: 1, Max: 3600, Help: "Bound on one request to Proxmox.",
		set: func(c *Config, v value) (err error) { c.Timeout, err = v.seconds(); return }},
	{Name: "PARALLEL", Group: groupConnection, Kind: KindInt, Default: "8", Min: 1, Max: 64, Help: "Requests to Proxmox at once.",
		set: func(c *Config, v value) (err error) { c.Parallel, err = v.int(); return }},

	{Name: "MODE", Group: groupAllowed, Kind: KindChoice, Default: "readonly", Choices: []string{"readonly", "full"}, Help: "readonly lists and allows reading alone; full adds the tools that change things.",
		set: func(c *Config, v value) error { c.Mode = Mode(v.text); return nil }},
	{Name: "APPROVAL", Group: groupAllowed, Kind: KindChoice, Default: "flags", Choices: []string{"flags", "plan", "ask"}, Help: "How a change is consented to: flags of the caller, the token of a dry run, or a person whom the client asks.",
		set: func(c *Config, v value) error { c.Approval = v.text; return nil }},
	{Name: "PROTECT", Group: groupAllowed, Kind: KindText, Help: "Guests that nothing may change: 'vmid:100,vmid:200-299,tag:prod,pool:core'.",
		set: func(c *Config, v value) error { c.Protect = v.text; return nil }},
	{Name: "ALLOW", Group: groupAllowed, Kind: KindText, Help: "The only guests that may be changed, in the same form.",
		set: func(c *Config, v value) error { c.Allow = v.text; return nil }},
	{Name: "SHELL", Group: groupAllowed, Kind: KindChoice, Default: "off", Choices: []string{"off", "read", "full"}, Help: "API methods that run commands or open consoles: none, those that only read, or all.",
		set: func(c *Config, v value) error { c.Shell = v.text; return nil }},
	{Name: "HOST_SHELL", Group: groupAllowed, Kind: KindChoice, Choices: []string{"unprotected"}, Help: "'unprotected' allows shells of nodes although guests are protected, which they can get around.",
		set: func(c *Config, v value) error { c.HostShell = v.text == "unprotected"; return nil }},
	{Name: "AUDIT_LOG", Group: groupAllowed, Kind: KindFile, Help: "File to which every change is logged; by default in the user's state directory.",
		set: func(c *Config, v value) error { c.AuditLog = v.text; return nil }},
	{Name: "AUDIT_HMAC_KEY", Group: groupAllowed, Kind: KindSecret, Help: "Key that makes the audit log's chain of hashes unforgeable for those who lack it.",
		set: func(c *Config, v value) error { c.AuditKey = v.text; return nil }},

	{Name: "TOOLSETS", Group: groupShown, Kind: KindList, Default: "core,guests", Choices: append(append([]string{}, Toolsets...), "all"), Help: "Groups of tools to offer.",
		set: func(c *Config, v value) error { c.Toolsets = v.list(); return nil }},
	{Name: "MAX_TOKENS", Group: groupShown, Kind: KindInt, Default: "2000", Min: 200, Max: 200000, Help: "Budget of one answer, in tokens; a call's max_tokens wins.",
		set: func(c *Config, v value) (err error) { c.MaxTokens, err = v.int(); return }},
	{Name: "MAX_WAIT", Group: groupShown, Kind: KindDuration, Default: "50", Min: 1, Max: 3600, Help: "How long one call may wait for a task; many clients give up at 60 seconds.",
		set: func(c *Config, v value) (err error) { c.MaxWait, err = v.seconds(); return }},
	{Name: "EXPOSE", Group: groupShown, Kind: KindText, Help: "Endpoints to offer as tools of their own: 'GET /cluster/ha/**, POST /nodes/*/vzdump'.",
		set: func(c *Config, v value) error { c.Expose = v.text; return nil }},

	{Name: "ENV_FILE", Group: groupFiles, Kind: KindFile, Help: "File of NAME=value lines to read settings from where the environment has none; only its owner may be able to read it.",
		set: func(*Config, value) error { return nil }},
}

// All gives every declared setting in the order of the documentation.
func All() []Setting { return table }

func lookup(name string) *Setting {
	for i := range table {
		if table[i].Name == name {
			return &table[i]
		}
	}
	return nil
}
