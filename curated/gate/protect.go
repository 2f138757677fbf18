package gate

import (
	"context"
	"fmt"
	"strings"

	"pvemcp/apidoc"
)

// view is the cluster's guests while one call is judged: read at most once.
type view struct {
	g        *Gate
	anew     bool
	read     bool
	byID     map[apidoc.VMID]GuestInfo
	all      []GuestInfo
	complete bool
	asked    bool
}

func (v *view) load(ctx context.Context) error {
	if v.read {
		return nil
	}
	all, err := v.g.inventory.read(ctx, v.anew)
	if err != nil {
		return fmt.Errorf("the guests' tags, pools and nodes can't be read: %w", err)
	}
	v.all, v.byID, v.read = all, make(map[apidoc.VMID]GuestInfo, len(all)), true
	for _, g := range all {
		v.byID[g.VMID] = g
	}
	return nil
}

// whole gives all guests, and an error when some might not be seen.
func (v *view) whole(ctx context.Context) ([]GuestInfo, error) {
	if err := v.load(ctx); err != nil {
		return nil, err
	}
	if !v.asked {
		complete, err := v.g.inventory.from.Complete(ctx)
		if err != nil {
			return nil, fmt.Errorf("whether all guests can be seen can't be read: %w", err)
		}
		v.complete, v.asked = complete, true
	}
	if !v.complete {
		return nil, fmt.Errorf("the token may not see every guest (it needs VM.Audit on /vms, propagated), so a protected one could be among those that are hidden")
	}
	return v.all, nil
}

// guest finds one guest; exists is false when there is none of that number.
func (v *view) guest(ctx context.Context, id apidoc.VMID) (info GuestInfo, exists bool, err error) {
	if err := v.load(ctx); err != nil {
		return GuestInfo{}, false, err
	}
	if info, ok := v.byID[id]; ok {
		return info, true, nil
	}
	taken, err := v.g.inventory.from.Exists(ctx, id)
	switch {
	case err != nil:
		return GuestInfo{}, false, fmt.Errorf("whether guest %d exists can't be read: %w", id, err)
	case taken:
		return GuestInfo{}, false, fmt.Errorf("guest %d exists, but the token may not see it (VM.Audit), so its tags, pool and node are not known", id)
	}
	return GuestInfo{VMID: id}, false, nil
}

// mayTouch holds a call against the rules of use: nothing protected is touched,
// and with an allow-list nothing else. anew reads the guests afresh.
func (g *Gate) mayTouch(ctx context.Context, in *Intent, anew bool) error {
	if len(g.protect) == 0 && len(g.allow) == 0 {
		return nil
	}
	if in.hostShell() && !g.hostShell {
		r := refuse(in, HostShellClosed)
		r.Err = fmt.Errorf("what runs on a host can reach every guest, so it is closed while PROXMOX_PROTECT or PROXMOX_ALLOW is set (PROXMOX_HOST_SHELL=unprotected opens it)")
		return r
	}
	t := in.touched()
	v := &view{g: g, anew: anew}
	if r := g.protected(ctx, in, &t, v); r != nil {
		return r
	}
	if r := g.allowed(ctx, in, &t, v); r != nil {
		return r
	}
	return nil
}

func unknown(in *Intent, err error) *Refusal {
	r := refuse(in, NotKnown)
	r.Err = err
	return r
}

// protected refuses what touches a protected guest.
func (g *Gate) protected(ctx context.Context, in *Intent, t *touches, v *view) *Refusal {
	rules := g.protect
	if len(rules) == 0 {
		return nil
	}
	found := func(rule Rule, id apidoc.VMID, via, format string, args ...any) *Refusal {
		r := refuse(in, Protected)
		r.Rule, r.Guest, r.Via = rule.String(), id, via
		r.Err = fmt.Errorf(format, args...)
		return r
	}
	for _, u := range t.unread {
		return unknown(in, fmt.Errorf("which guest %s means by %.60q is not understood, and it could be a protected one", u.via, in.mask(u.name)))
	}
	for _, ref := range t.guests {
		if rule, ok := rules.vmid(ref.id); ok {
			return found(rule, ref.id, ref.via, "guest %d, named by %s, is protected by %s", ref.id, ref.how(in), rule)
		}
	}
	for _, n := range t.nodes {
		if rule, ok := rules.node(apidoc.Node(n.name)); ok {
			return found(rule, 0, n.via, "node %s, named by %s, is protected by %s", n.name, n.via, rule)
		}
	}
	for _, p := range t.pools {
		if rule, ok := rules.pool(apidoc.Pool(p.name)); ok {
			return found(rule, 0, p.via, "pool %s, named by %s, is protected by %s", p.name, p.via, rule)
		}
	}
	if rules.byState() {
		for _, ref := range t.guests {
			info, exists, err := v.guest(ctx, ref.id)
			if err != nil {
				return unknown(in, err)
			}
			if rule, ok := rules.guest(info, true); ok && exists {
				return found(rule, ref.id, ref.via, "guest %s, named by %s, is protected by %s", info.label(), ref.how(in), rule)
			}
		}
	}
	if len(t.pools) == 0 && len(t.scopes) == 0 {
		return nil
	}
	all, err := v.whole(ctx)
	if err != nil {
		return unknown(in, err)
	}
	for _, p := range t.pools {
		for _, info := range all {
			if rule, ok := rules.guest(info, true); ok && inPool(string(info.Pool), p.name) {
				return found(rule, info.VMID, p.via, "guest %s, a member of the pool %s named by %s, is protected by %s", info.label(), p.name, p.via, rule)
			}
		}
	}
	for _, s := range t.scopes {
		for _, info := range s.of(all, t.spared) {
			if rule, ok := rules.guest(info, true); ok {
				return found(rule, info.VMID, "scope "+string(s.scope), "guest %s is protected by %s, and %s", info.label(), rule, s.why)
			}
		}
	}
	return nil
}

// of gives the guests of a scope that are not spared.
func (s scopeRef) of(all []GuestInfo, spared map[apidoc.VMID]bool) []GuestInfo {
	var out []GuestInfo
	for _, info := range all {
		if spared[info.VMID] || s.scope == apidoc.ScopeNode && info.Node != s.node {
			continue
		}
		out = append(out, info)
	}
	return out
}

// allowed refuses what touches anything beside the allow-list. What a call
// touches must all be on it; what touches no guest is on it only by a rule for
// its node or its pool.
func (g *Gate) allowed(ctx context.Context, in *Intent, t *touches, v *view) *Refusal {
	rules := g.allow
	if len(rules) == 0 {
		return nil
	}
	deny := func(id apidoc.VMID, via, format string, args ...any) *Refusal {
		r := refuse(in, NotAllowed)
		r.Rule, r.Guest, r.Via = rules.String(), id, via
		r.Err = fmt.Errorf("%s; PROXMOX_ALLOW is %s", fmt.Sprintf(format, args...), rules)
		return r
	}
	for _, u := range t.unread {
		return unknown(in, fmt.Errorf("which guest %s means by %.60q is not understood", u.via, in.mask(u.name)))
	}
	creates := false
	for _, ref := range t.guests {
		creates = creates || ref.created
		if _, ok := rules.vmid(ref.id); ok {
			continue
		}
		if !rules.byState() {
			return deny(ref.id, ref.via, "guest %d, named by %s, is not on the allow-list", ref.id, ref.how(in))
		}
		info, exists, err := v.guest(ctx, ref.id)
		if err != nil {
			return unknown(in, err)
		}
		if !exists && ref.created {
			if info, err = in.prospect(ctx, ref.id, v); err != nil {
				return unknown(in, err)
			}
		}
		if _, ok := rules.guest(info, false); !ok {
			return deny(ref.id, ref.via, "guest %s, named by %s, is not on the allow-list", info.label(), ref.how(in))
		}
	}
	for _, p := range t.pools {
		if _, ok := rules.pool(apidoc.Pool(p.name)); ok || creates {
			continue // a new guest touches no other member
		}
		all, err := v.whole(ctx)
		if err != nil {
			return unknown(in, err)
		}
		members := 0
		for _, info := range all {
			if !inPool(string(info.Pool), p.name) {
				continue
			}
			members++
			if _, ok := rules.guest(info, false); !ok {
				return deny(info.VMID, p.via, "guest %s, a member of the pool %s, is not on the allow-list", info.label(), p.name)
			}
		}
		if members == 0 {
			return deny(0, p.via, "pool %s is not on the allow-list", p.name)
		}
	}
	for _, s := range t.scopes {
		if s.scope == apidoc.ScopeNode {
			if _, ok := rules.node(s.node); ok {
				continue
			}
		}
		if !t.mass {
			return deny(0, "scope "+string(s.scope), "it is about more than guests, and %s", s.why)
		}
		all, err := v.whole(ctx)
		if err != nil {
			return unknown(in, err)
		}
		reached := s.of(all, t.spared)
		for _, info := range reached {
			if _, ok := rules.guest(info, false); !ok {
				return deny(info.VMID, "scope "+string(s.scope), "guest %s is not on the allow-list, and %s", info.label(), s.why)
			}
		}
		if len(reached) == 0 {
			return deny(0, "scope "+string(s.scope), "it reaches no guest of the allow-list")
		}
	}
	if len(t.guests)+len(t.pools)+len(t.scopes) > 0 || in.Verb.Reads() {
		return nil
	}
	if in.hostShell() {
		return nil // it was let through above, because the user has said so
	}
	for _, n := range t.nodes {
		if n.via == "node" {
			if _, ok := rules.node(apidoc.Node(n.name)); ok {
				return nil
			}
		}
	}
	return deny(0, "", "it is about no guest of the allow-list")
}

// prospect is what a guest that a call makes will be like.
func (i *Intent) prospect(ctx context.Context, id apidoc.VMID, v *view) (GuestInfo, error) {
	info := GuestInfo{VMID: id}
	first := func(name string) string {
		if values := i.Params[name]; len(values) == 1 {
			return values[0]
		}
		return ""
	}
	info.Pool = apidoc.Pool(first("pool"))
	info.Node = apidoc.Node(first("node"))
	if target := first("target"); target != "" {
		info.Node = apidoc.Node(target)
	}
	if !strings.HasSuffix(i.Template, "/clone") {
		info.Tags = apidoc.ListItems(first("tags"))
		return info, nil
	}
	// A clone has the tags of its source.
	source, ok := readVMID(first("vmid"))
	if !ok {
		return info, nil
	}
	from, _, err := v.guest(ctx, source)
	info.Tags = from.Tags
	return info, err
}

func (g GuestInfo) label() string {
	name := strings.Map(func(r rune) rune {
		if r < 0x21 || r > 0x7e {
			return -1
		}
		return r
	}, g.Name)
	if name == "" {
		return g.VMID.String()
	}
	if len(name) > 40 {
		name = name[:40] + "…"
	}
	return g.VMID.String() + " (" + name + ")"
}

func (r guestRef) how(in *Intent) string {
	if r.value == "" {
		return r.via
	}
	value := in.mask(r.value)
	if len(value) > 80 {
		value = value[:80] + "…"
	}
	return r.via + " (" + value + ")"
}
