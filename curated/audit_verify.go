package curated

import (
	"context"
	"errors"
	"strings"

	"pvemcp/apidoc"
	"pvemcp/curated/gate/audit"
	"pvemcp/curated/render"
)

var auditVerifyTool = Tool[Budget, doc]{
	Name: "pve_audit_verify", Toolset: "audit", Class: apidoc.Read,
	Text: "Check this server's log of changes for tampering.",
	Run: func(_ context.Context, c *Call, _ Budget) (doc, error) {
		if c.o.AuditLog == "" {
			return doc{}, errors.New("this server keeps no log of changes: it is read-only, or runs against the embedded cluster")
		}
		report, err := audit.Verify(c.o.AuditLog, c.o.AuditKey)
		if err != nil {
			return doc{}, err
		}
		d := &render.Doc{}
		lines := strings.Split(strings.TrimSpace(report.String()), "\n")
		d.Summaryf("%s", lines[0])
		d.Add(&render.Lines{ID: "report", Lines: lines[1:]})
		return doc{Doc: d, failure: !report.Intact()}, nil
	},
}
