package curated

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sort"
	"strings"

	"pvemcp/apidoc"
	"pvemcp/curated/gate"
	"pvemcp/curated/render"
	"pvemcp/internal/pverest"
)

// explain puts an error into words for the agent: what happened, why, and what
// to do next. It is the only place where this happens.
func (s *Server) explain(ctx context.Context, tool string, err error) string {
	var (
		arg     *ArgError
		shape   *render.Error
		refusal *gate.Refusal
		lookup  *apidoc.LookupError
		check   *apidoc.CheckError
		missing *NotFoundError
		part    *partError
		wire    *apidoc.WireError
		rest    *pverest.Error
	)
	switch {
	case errors.As(err, &part):
		return fmt.Sprintf("%s: only %d of %d calls were made, then one failed. What was done stays done. %s", part.title, part.done, part.of, s.explain(ctx, tool, part.err))
	case errors.As(err, &arg):
		return arg.Error()
	case errors.As(err, &shape):
		return shape.Error()
	case errors.As(err, &refusal):
		return explainRefusal(refusal, s.gate.Approval())
	case errors.As(err, &lookup):
		return s.explainLookup(lookup)
	case errors.As(err, &check):
		return s.explainCheck(check)
	case errors.As(err, &wire):
		return wire.Error() + ". Nothing was sent."
	case errors.As(err, &missing):
		return missing.Error()
	case errors.As(err, &rest):
		return s.explainProxmox(ctx, rest, err)
	case errors.Is(err, context.Canceled):
		return "cancelled by the client; nothing was changed"
	case errors.Is(err, context.DeadlineExceeded):
		return "the time for this call ran out"
	}
	return err.Error()
}

func explainRefusal(r *gate.Refusal, approval gate.Approval) string {
	switch r.Kind {
	case gate.NotInReadonly:
		if r.Template == "" {
			return fmt.Sprintf("%s is refused: no version of Proxmox's API that pve-mcp knows has this method, so it counts as dangerous, and the server runs readonly. Nothing was sent.", r.Op)
		}
		if r.Reason != "" {
			return fmt.Sprintf("%s is refused in readonly mode: %s. Nothing was sent. Only the server's user can allow it, with PROXMOX_MODE=full.", r.Op, r.Reason)
		}
		return fmt.Sprintf("%s would change something and the server runs readonly. Nothing was sent. Only its user can change that, with PROXMOX_MODE=full.", r.Op)
	case gate.NeedsConfirm:
		return fmt.Sprintf("%s (class %s) was not made: repeat with confirm=true, after dry_run=true showed that it does what is wanted.", r.Op, r.Class)
	case gate.NeedsDataLoss:
		why := "it may destroy data for good"
		if r.Class == apidoc.Access {
			why = "it changes who may do what"
		}
		if len(r.Raised) > 0 {
			why += " (" + strings.Join(ruleWords(r.Raised), "; ") + ")"
		}
		return fmt.Sprintf("%s was not made: %s. If the user wants exactly that, repeat with confirm=true and i_understand_data_loss=true.", r.Op, why)
	case gate.ShellClosed:
		return fmt.Sprintf("%s runs commands or opens a console, which this server does not allow. Nothing was sent. Only its user can change that, with PROXMOX_SHELL.", r.Op)
	case gate.HostShellClosed:
		return fmt.Sprintf("%s opens a shell on a node, which could get around the protection of guests. Nothing was sent. Only the server's user can change that, with PROXMOX_HOST_SHELL=unprotected.", r.Op)
	case gate.NeedsPlan:
		return fmt.Sprintf("%s was not made: this server wants a plan. Call with dry_run=true, check what it shows, and repeat with the plan token that it gives.", r.Op)
	case gate.NeedsPerson:
		return fmt.Sprintf("%s was not made: this server wants a person's consent to each change, and this client can't put a question to one (it lacks elicitation). Nothing was sent.", r.Op)
	case gate.Protected:
		return fmt.Sprintf("%s is refused: it touches %s, which the rule %s protects (named by %s). Nothing was sent. No flag helps; only the server's user can change PROXMOX_PROTECT.", r.Op, touchedBy(r), r.Rule, viaOf(r))
	case gate.NotAllowed:
		return fmt.Sprintf("%s is refused: %s is not among what PROXMOX_ALLOW lets be changed (named by %s). Nothing was sent. No flag helps.", r.Op, touchedBy(r), viaOf(r))
	case gate.NotKnown:
		return fmt.Sprintf("%s is refused: whether it touches a protected guest could not be found out (%v). Nothing was sent.", r.Op, r.Err)
	case gate.NotLogged:
		return fmt.Sprintf("%s was not made, because it could not be written to the audit log (%v). Nothing was sent.", r.Op, r.Err)
	case gate.PlanUnknown, gate.PlanExpired, gate.PlanUsed, gate.PlanOther, gate.PlanStale:
		why := string(r.Kind)
		if approval == gate.ByAsk {
			return fmt.Sprintf("Nothing was changed: %s. Call again without an answer, and the person is asked anew.", consentFaults[r.Kind])
		}
		if r.Err != nil {
			why += ": " + r.Err.Error()
		}
		return fmt.Sprintf("Nothing was changed: %s. Call with dry_run=true again for a new plan.", why)
	case gate.NoGrant:
		return fmt.Sprintf("%s was not made: it is not the call that was confirmed. Nothing was sent.", r.Op)
	}
	return r.Error() + ". Nothing was sent."
}

// consentFaults say of a person's answer what the gate says of plans.
var consentFaults = map[gate.Kind]string{
	gate.PlanUnknown: "the answer does not belong to a question that this server asked about this call",
	gate.PlanExpired: "the answer came too late",
	gate.PlanUsed:    "the answer was used already",
	gate.PlanOther:   "the person was asked about something else",
	gate.PlanStale:   "what the person was asked about has changed since",
}

func touchedBy(r *gate.Refusal) string {
	if r.Guest != 0 {
		return "guest " + r.Guest.String()
	}
	return "what it names"
}

func viaOf(r *gate.Refusal) string {
	if r.Via == "" {
		return "the call as a whole"
	}
	return r.Via
}

func (s *Server) explainLookup(e *apidoc.LookupError) string {
	text := e.Error()
	if other := s.elsewhere(e.Verb, e.Path); other != "" {
		text = other
	}
	if len(e.Verbs) > 0 || text != e.Error() {
		return text + ". Nothing was sent."
	}
	return text + ". Nothing was sent; a path looks like /nodes/pve1/qemu/100/config."
}

func (s *Server) explainCheck(e *apidoc.CheckError) string {
	lines := []string{fmt.Sprintf("%s %s was not sent, because Proxmox would refuse its parameters:", e.Verb, e.Path)}
	policy, _ := policyOf(e.Verb, e.Path)
	for _, f := range e.Faults {
		reason := f.Reason
		if secretParam(policy, f.Param) {
			reason = quoted.ReplaceAllString(unknownKey.ReplaceAllString(reason, "key (hidden): unknown"), "(hidden)")
		}
		line := "- " + f.Param + ": " + reason
		if len(f.Nearest) > 0 && !strings.Contains(f.Reason, f.Nearest[0]) {
			line += "; did you mean " + strings.Join(f.Nearest, ", ") + "?"
		}
		if other := s.paramElsewhere(e, f); other != "" {
			line += "; " + other
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// unknownKey finds the name of a key, which may be a piece of a secret that was
// taken for one.
var unknownKey = regexp.MustCompile(`key \S+: unknown`)

// quoted finds a value where a reason shows it.
var quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// secretParam tells whether nothing of a parameter's value may be shown.
func secretParam(p *apidoc.Policy, name string) bool {
	outer, _, _ := strings.Cut(name, ".")
	return p != nil && (p.Secret(name) || p.Secret(outer)) || pverest.IsSecretParam(name) || pverest.IsSecretParam(outer)
}

// explainProxmox is for what came back from Proxmox, or did not.
func (s *Server) explainProxmox(ctx context.Context, e *pverest.Error, whole error) string {
	said := e.Message
	if said == "" {
		said = e.Reason
	}
	said = render.Line(said)
	switch e.Kind {
	case pverest.KindForbidden:
		return s.explainForbidden(ctx, e, said, sentWith(whole))
	case pverest.KindUnauthorized:
		return fmt.Sprintf("Proxmox refused the login (401 %s). The token id must be USER@REALM!NAME (now %q) and the secret the one shown when it was created; an expired token, a disabled user and a deleted token look the same. Check with: pveum user token list %s", said, s.o.TokenID, userOf(s.o.TokenID))
	case pverest.KindParameter:
		lines := []string{fmt.Sprintf("Proxmox refused %s: %s", e.Op, said)}
		names := make([]string, 0, len(e.Params))
		for name := range e.Params {
			names = append(names, name)
		}
		sort.Strings(names)
		for _, name := range names {
			lines = append(lines, "- "+name+": "+render.Line(e.Params[name]))
		}
		return strings.Join(lines, "\n")
	case pverest.KindNotImplemented:
		text := fmt.Sprintf("%s does not exist in this cluster's version of Proxmox (%s).", e.Op, said)
		// Our own schema had it, or nothing was checked: ask the cluster's.
		if _, err := s.schemas.get(ctx); err == nil {
			verb, path, _ := strings.Cut(e.Op, " ")
			if other := s.elsewhere(apidoc.Verb(verb), path); other != "" {
				text += " " + other + "."
			}
		}
		return text
	case pverest.KindNodeOffline:
		return fmt.Sprintf("Node %s can't be reached (595 %s): it is down or cut off from the cluster. Nothing was changed. pve_cluster_status shows which nodes are online.", e.Node, said)
	case pverest.KindProxy:
		node := "A node"
		if e.Node != "" {
			node = "Node " + e.Node
		}
		return fmt.Sprintf("%s did not answer the node that was asked (%d %s): it may be overloaded or hang on a storage. Try again; pve_health tells more.", node, e.Status, said)
	case pverest.KindUnknownOutcome:
		return fmt.Sprintf("%s was sent and its answer was lost (%s): it may or may not have been done. Do not repeat it blindly; look first (pve_tasks, or the object's own state).", e.Op, said)
	case pverest.KindLocked:
		return s.explainLocked(e, said)
	case pverest.KindNotFound:
		return fmt.Sprintf("%s: %s", e.Op, said)
	case pverest.KindUnreachable, pverest.KindTLS, pverest.KindTimeout, pverest.KindNotProxmox:
		return explainConnection(e)
	case pverest.KindServer, pverest.KindConflict:
		if strings.Contains(said, "migrated to rules") {
			return fmt.Sprintf("%s is gone in this cluster (%d %s): since 9.0 rules of type node-affinity, under /cluster/ha/rules, take the place of HA groups.", e.Op, e.Status, said)
		}
		text := fmt.Sprintf("Proxmox answered %s with %d: %s", e.Op, e.Status, said)
		if changedMeanwhile(said) {
			text += ". " + meanwhileHint
		}
		if quorumLost(said) {
			text += ". " + quorumHint
		}
		return text
	}
	return e.Error()
}

func explainConnection(e *pverest.Error) string {
	text := e.Error()
	switch {
	case e.Kind == pverest.KindUnreachable && e.Detail == pverest.DetailDNS:
		return text + ". The host name in PROXMOX_HOST is not known here: check its spelling, or give the IP address."
	case e.Kind == pverest.KindUnreachable && e.Detail == pverest.DetailRefused:
		return text + ". Nothing listens there: is it a Proxmox node, and is the port 8006?"
	case e.Kind == pverest.KindUnreachable:
		return text + ". Check network, firewall and PROXMOX_HOST."
	case e.Kind == pverest.KindTimeout:
		return text + ". A hanging storage or an overloaded node answers slowly; PROXMOX_TIMEOUT sets the bound."
	case e.Kind == pverest.KindNotProxmox:
		return text + ". What answers under PROXMOX_HOST is not Proxmox's API; is there a proxy in between, or another port?"
	}
	return text
}

// explainLocked tells which lock holds a guest and what usually frees it.
func (s *Server) explainLocked(e *pverest.Error, said string) string {
	if e.Lock == "" {
		return fmt.Sprintf("%s: %s. Another task is working on it right now; pve_tasks shows which. Try again when it has ended.", e.Op, said)
	}
	return fmt.Sprintf("%s: %s. The lock %q belongs to a running or interrupted task (see pve_tasks). If no such task runs any more, root can remove it on the node with: qm unlock VMID (or pct unlock).", e.Op, said, e.Lock)
}

func userOf(token string) string {
	user, _, _ := strings.Cut(token, "!")
	if user == "" {
		return "USER@REALM"
	}
	return user
}

// NotFoundError says that something the caller named is not there, and what is.
type NotFoundError struct {
	What  string   // kind of thing: "guest", "node", "storage"
	Name  string   // as the caller wrote it
	Hint  string   // what it is instead, or where to look
	Near  []string // nearest existing names
	Blind bool     // nothing of the kind is visible: a privilege is probably missing
}

func (e *NotFoundError) Error() string {
	text := fmt.Sprintf("no %s %q", e.What, clip(e.Name))
	if len(e.Near) > 0 {
		text += "; there is " + strings.Join(e.Near, ", ")
	}
	if e.Hint != "" {
		text += ". " + e.Hint
	}
	return text
}
