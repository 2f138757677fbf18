package curated

import "sync"

// Toolsets lists the groups of tools, in the order of the documentation.
func Toolsets() []string { return []string{"core", "guests", "audit"} }

// registry is every tool, in the order in which agents see them: what is asked
// first stands first.
var registry = sync.OnceValue(func() []*entry {
	return []*entry{
		healthTool.entry(),
		versionTool.entry(),
		clusterStatusTool.entry(),
		clusterResourcesTool.entry(),
		nodesTool.entry(),
		nodeInfoTool.entry(),
		vmsTool.entry(),
		vmInfoTool.entry(),
		containersTool.entry(),
		containerInfoTool.entry(),
		storageTool.entry(),
		storageContentTool.entry(),
		tasksTool.entry(),
		searchTool.entry(),
		describeTool.entry(),
		taskTool.entry(),
		snapshotsTool.entry(),
		rawGetTool.entry(),
		vmActionTool.entry(),
		lxcActionTool.entry(),
		snapshotCreateTool.entry(),
		snapshotDeleteTool.entry(),
		snapshotRollbackTool.entry(),
		migrateTool.entry(),
		taskStopTool.entry(),
		rawCallTool.entry(),
		createTool.entry(),
		cloneTool.entry(),
		configureTool.entry(),
		diskTool.entry(),
		backupTool.entry(),
		restoreTool.entry(),
		templateTool.entry(),
		deleteTool.entry(),
		auditVerifyTool.entry(),
	}
})
