package settings

import "time"

// Mode says whether tools that change things exist.
type Mode string

// The modes.
const (
	ReadOnly Mode = "readonly"
	Full     Mode = "full"
)

// Config is what the settings say, checked and complete.
type Config struct {
	Hosts       []string
	Port        int
	TokenID     string // USER@REALM!NAME
	TokenSecret string
	CAFile      string
	Fingerprint string
	Insecure    bool
	Timeout     time.Duration
	Parallel    int
	Mode        Mode
	Approval    string // flags, plan or ask
	Protect     string // rules, as written
	Allow       string
	Shell       string // off, read or full
	HostShell   bool
	AuditLog    string // empty: the default place
	AuditKey    string
	MaxWait     time.Duration
	Toolsets    []string
	MaxTokens   int
	Expose      string

	// Notes are lines for stderr: names that look like ours but are not.
	Notes []string
	// Source says where each given setting came from: "environment" or a file.
	Source map[string]string

	user, tokenName, tokenValue string
	verifySSL                   *bool
}
