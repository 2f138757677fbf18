package curated

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"pvemcp/apidoc"
	"pvemcp/internal/pverest"
)

// sentError keeps the parameters of a call with its failure, for who may call
// it can hang on them.
type sentError struct {
	err    error
	params apidoc.Params
}

func (e *sentError) Error() string { return e.err.Error() }
func (e *sentError) Unwrap() error { return e.err }

// failed puts the parameters of a raw call to its error.
func (c *rawCall) failed(err error) error { return &sentError{err, c.params} }

// sentWith gives the parameters that an error's call was made with, if it kept
// them.
func sentWith(err error) apidoc.Params {
	var sent *sentError
	if errors.As(err, &sent) {
		return sent.params
	}
	return nil
}

// explainForbidden names what the token lacks and the commands that grant it.
// Proxmox names the first privilege that failed, and with "or" none at all; so
// the permission is evaluated here too, against what the token holds.
func (s *Server) explainForbidden(ctx context.Context, e *pverest.Error, said string, sent apidoc.Params) string {
	c := &Call{Server: s}
	match, method, version, err := c.methodOf(ctx, e.Op)
	if err != nil {
		return s.forbiddenBySaying(e, said)
	}
	var never *TokenError
	if errors.As(s.neverByToken(match), &never) {
		never.Op = e.Op
		return strings.Replace(never.Error(), " Nothing was sent.", fmt.Sprintf(" (403 %s)", said), 1)
	}
	if e.NeedsTicket {
		return fmt.Sprintf("%s can't be called with an API token at all (403 %s). The way round: %s.", e.Op, said, wayRound(match))
	}
	if e.RootOnly {
		return fmt.Sprintf("%s is allowed to root@pam alone, and no token counts as root@pam (403 %s). The way round: %s.", e.Op, said, wayRound(match))
	}
	params := paramsOf(match, sent)
	h, err := s.holdings(ctx, privilegeAge)
	if err != nil {
		text := s.forbiddenBySaying(e, said)
		if len(e.Privileges) == 0 {
			text += fmt.Sprintf(". It takes %s; what the token holds could not be read (%s).", permissionWords(method.Permission), shortError(err))
		}
		return text
	}
	config := c.presentConfig(ctx, match)
	j := s.judge(ctx, h, method, version, params, config)
	if s.unexplained(j, e) {
		// The refusal contradicts what we believe: it may be old, or inferred.
		if fresh, err := s.holdings(ctx, time.Second); err == nil {
			h = fresh
			if s.exact(ctx, h, unique(j.paths)) == nil {
				j = s.judge(ctx, h, method, version, params, config)
			}
		}
	}
	missing := j.missing
	if said := saidNeed(e); said != nil && !covered(missing, *said) {
		missing = append([]apidoc.Need{*said}, missing...)
	}
	switch {
	case len(missing) > 0:
		return s.forbiddenFor(e, said, missing, h)
	case j.self:
		return fmt.Sprintf("%s is allowed to the user in question alone, and no token counts as its user (403 %s). The way round: %s.", e.Op, said, wayRound(match))
	}
	text := fmt.Sprintf("Proxmox refused %s for lack of permission: %s. By its schema it takes %s", e.Op, said, permissionWords(method.Permission))
	if len(j.open) > 0 {
		text += ", and " + needsWords(j.open, 3)
	}
	return text + "; as far as /access/permissions tells, the token has what can be judged, so the refusal hangs on something that only the cluster knows."
}

// forbiddenFor is the answer for demands that are known not to be met.
func (s *Server) forbiddenFor(e *pverest.Error, said string, missing []apidoc.Need, h *holdings) string {
	words := make([]string, 0, len(missing))
	root := false
	var grantable []apidoc.Need
	for i, n := range missing {
		if n.Root && len(n.Or) == 0 {
			root = true
		} else {
			grantable = append(grantable, n)
		}
		if i < 4 {
			words = append(words, needWords(n, h.has)+forParam(n))
		} else if i == 4 {
			words = append(words, fmt.Sprintf("and %d more", len(missing)-4))
		}
	}
	if e.PermPath == "" {
		said = " (403 " + said + ")" // else all that it names is in the words
	} else {
		said = ""
	}
	who := "the token"
	if s.o.TokenID != "" {
		who += " " + s.o.TokenID
	}
	text := fmt.Sprintf("%s is forbidden: %s lacks %s%s.", e.Op, who, strings.Join(words, "; "), said)
	if root {
		text += " What is root@pam's no grant can give: leave it out, or make that change as root@pam in the web interface or on a node."
	}
	if grant := s.grantOn(grantable, h); grant != "" {
		text += " " + grant
	}
	return text
}

// forbiddenBySaying goes by Proxmox's words alone.
func (s *Server) forbiddenBySaying(e *pverest.Error, said string) string {
	n := saidNeed(e)
	if n == nil {
		return fmt.Sprintf("Proxmox refused %s for lack of permission: %s", e.Op, said)
	}
	return fmt.Sprintf("%s is forbidden: the token lacks %s. %s", e.Op, needWords(*n, nil), s.grantOn([]apidoc.Need{*n}, nil))
}

// saidNeed is the demand that Proxmox's refusal names, nil when it names none.
func saidNeed(e *pverest.Error) *apidoc.Need {
	if e.PermPath == "" || len(e.Privileges) == 0 {
		return nil
	}
	return &apidoc.Need{Path: e.PermPath, Privs: e.Privileges, Any: e.AnyPrivilege}
}

// unexplained tells whether a judgement does not account for a refusal.
func (s *Server) unexplained(j judgement, e *pverest.Error) bool {
	said := saidNeed(e)
	return len(j.missing) == 0 && !j.self || said != nil && !covered(j.missing, *said)
}

// covered tells whether a demand is among others, in any of their ways.
func covered(needs []apidoc.Need, n apidoc.Need) bool {
	for _, have := range needs {
		if have.Path == n.Path {
			for _, p := range have.Privs {
				for _, q := range n.Privs {
					if p == q {
						return true
					}
				}
			}
		}
		if covered(have.And, n) || covered(have.Or, n) {
			return true
		}
	}
	return false
}

// methodOf finds the method of an operation such as "GET /nodes/pve1/status".
func (c *Call) methodOf(ctx context.Context, op string) (apidoc.Match, *apidoc.Method, string, error) {
	verb, path, _ := strings.Cut(op, " ")
	schema, err := c.schema(ctx)
	if err != nil {
		return apidoc.Match{}, nil, "", err
	}
	match, err := schema.Lookup(apidoc.Verb(verb), path)
	if err != nil {
		return apidoc.Match{}, nil, "", err
	}
	m, err := match.Method()
	return match, m, schema.Version, err
}

func unique(list []string) []string {
	seen := map[string]bool{}
	var out []string
	for _, s := range list {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}
