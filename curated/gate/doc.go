// Package gate decides what may leave the process.
//
// It exists because a rule that every tool must remember is a rule that one of
// them forgets. So the decision stands in one place, at the last point that
// every call must pass: a [Gate] wraps the transport to Proxmox and judges each
// request by its verb, path and parameters as they would go over the wire,
// whoever made it: a curated tool, a raw call, an endpoint exposed as a tool, a
// command over SSH.
//
// # What decides
//
// Reads that are harmless pass. Everything else must get past, in this order:
//
//   - the mode: in readonly nothing but harmless reads leaves the process;
//   - the shells: calls of class shell are closed unless [Options.Shell] opens
//     them;
//   - the rules of use, [Options.Protect] and [Options.Allow]: nothing that a
//     call names by any parameter, or reaches as part of a node, a storage or the
//     cluster, may be a protected guest, and with an allow-list all of it must be
//     on that. What can't be found out counts against the call. A shell of a host
//     could get around this, so it stays closed while there are rules, unless
//     [Options.HostShell] says otherwise;
//   - consent: the flags, and by [Options.Approval] a plan or a person;
//   - the grant: [Gate.Grant] gives it for exactly this verb, path and parameters,
//     and it lets one call through, once. The rules of use are looked at once more
//     then, with the guests read anew;
//   - the audit log: the intent is on the disk before the call is made.
//
// Every refusal is a [*Refusal], and nothing of a refused call was sent.
//
// # How a tool makes a change
//
// It judges each call it wants to make with [Gate.Judge]. For a dry run it holds
// them against [Gate.Check], shows [Intent.Masked] and [Intent.Needs], and where
// the approval is by plan, ends with [Gate.IssuePlan]. To make them, it notes the
// caller with [WithCaller], takes the plan back with [Gate.Redeem] or a person's
// answer with [Gate.Answered] (the question was made by [Gate.Ask]), gets one
// context a call from [Gate.Grant], all before the first is sent, and makes each
// call in its context through a client whose transport is the gate. What is no
// call of the API is judged by [NewCommand] and made by [Gate.Do].
//
// # What it can't do
//
// It knows a cluster only by what the token may read. Between the last look at
// the guests and the arrival of a call at Proxmox some milliseconds pass. Which
// guests have something on a storage is not known without reading every
// configuration, so a call that reaches a storage counts as reaching every
// guest. And a token that is used elsewhere, too, is not held back here.
package gate
