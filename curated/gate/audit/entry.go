package audit

import "time"

// Entry is what is known of a change before it is made. Secrets must be masked
// already.
type Entry struct {
	Who      string              // id of the API token
	Client   string              // name and version of the MCP client
	Cluster  string              // label of the cluster, empty for the only one
	Tool     string              // the tool that makes the change
	Reason   string              // why, as the caller said it
	Verb     string              // GET, POST, PUT, DELETE, or SSH for a command
	Path     string              // such as /nodes/pve1/qemu/100/config
	Params   map[string][]string // in wire form
	Class    string              // change, disrupt, destroy, access, shell
	Plan     string              // id of the plan that was approved, if any
	Approval string              // who approved: flags, plan, person
}

// Result says how a change ended.
type Result string

// The results.
const (
	OK      Result = "ok"       // Proxmox took the call; a task may still be running
	Refused Result = "refused"  // Proxmox answered that it did not
	Unknown Result = "unknown"  // the answer was lost: it may or may not have been done
	NotSent Result = "not sent" // nothing has left the process
)

// Outcome is how a change ended.
type Outcome struct {
	Result  Result
	Status  int    // HTTP status, or exit status of a command; 0 if there is none
	Message string // what was said, secrets masked
	UPID    string // the task that was started, if any
}

// The events of lines.
const (
	eventIntent  = "intent"
	eventOutcome = "outcome"
	eventRepair  = "repair"
)

// line is one line of the log, without its own hash, which stands behind it.
type line struct {
	V     int    `json:"v"`
	Alg   string `json:"alg"`
	Seq   uint64 `json:"seq"`
	Time  string `json:"time"`
	Event string `json:"event"`
	ID    string `json:"id,omitempty"` // joins intent and outcome

	Who      string              `json:"who,omitempty"`
	Client   string              `json:"client,omitempty"`
	Cluster  string              `json:"cluster,omitempty"`
	Tool     string              `json:"tool,omitempty"`
	Reason   string              `json:"reason,omitempty"`
	Verb     string              `json:"verb,omitempty"`
	Path     string              `json:"path,omitempty"`
	Params   map[string][]string `json:"params,omitempty"`
	Class    string              `json:"class,omitempty"`
	Plan     string              `json:"plan,omitempty"`
	Approval string              `json:"approval,omitempty"`

	Outcome Result `json:"outcome,omitempty"`
	Status  int    `json:"status,omitempty"`
	Message string `json:"message,omitempty"`
	UPID    string `json:"upid,omitempty"`

	// Of a repair: what stands in front of it and is no line.
	Fragment     int64  `json:"fragment_bytes,omitempty"`
	FragmentHash string `json:"fragment_sha256,omitempty"`

	Prev string `json:"prev"`
}

func timeText(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
