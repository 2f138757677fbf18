package pvesim

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestStorageDefinitions(t *testing.T) {
	w := small(t, "")
	s := quick(t, w)
	fails(t, s, 500, "create storage failed: storage ID 'nas' already defined", "POST /storage", "storage", "nas", "type", "dir", "path", "/x")
	fails(t, s, 500, "missing value for required option 'path'", "POST /storage", "storage", "st9", "type", "dir")
	fails(t, s, 500, "unexpected property 'server'", "POST /storage", "storage", "st9", "type", "dir", "path", "/x", "server", "192.0.2.1")
	fails(t, s, 500, "storage does not support content type 'iso'", "POST /storage", "storage", "st9", "type", "lvm", "vgname", "vg", "content", "iso")
	assert.Equal(t, map[string]any{"storage": "st9", "type": "dir"}, ok(t, s, "POST /storage", "storage", "st9", "type", "dir", "path", "/srv", "content", "iso,backup", "nodes", "n1"))
	state := ok(t, s, "GET /nodes/n1/storage/st9/status").(map[string]any)
	assert.NotEqual(t, "0", dataText(state["total"]))
	made := ok(t, s, "GET /storage/st9").(map[string]any)
	assert.Equal(t, "n1", made["nodes"])
	fails(t, s, 500, "update storage failed: detected modified configuration - file changed by other user? Try again.", "PUT /storage/st9", "disable", "1", "digest", strings.Repeat("0", 40))
	assert.Equal(t, map[string]any{"storage": "st9", "type": "dir"}, ok(t, s, "PUT /storage/st9", "disable", "1", "delete", "nodes", "digest", made["digest"].(string)))
	assert.NotContains(t, ok(t, s, "GET /storage/st9"), "nodes")
	fails(t, s, 500, "storage 'st9' is disabled", "GET /nodes/n1/storage/st9/content")
	ok(t, s, "PUT /pools", "poolid", "dev", "storage", "st9")
	ok(t, s, "PUT /access/acl", "path", "/storage/st9", "roles", "PVEAuditor", "users", "ops@pve")
	assert.Nil(t, ok(t, s, "DELETE /storage/st9"))
	fails(t, s, 500, "delete storage failed: storage 'st9' does not exist", "DELETE /storage/st9")
	w.View(func(w *World) { assert.Empty(t, w.Pool("dev").Storages) })
	assert.NotContains(t, api(t, s, "GET /access/acl").body, "st9")

	key := ok(t, s, "POST /storage", "storage", "vault", "type", "pbs", "server", "b", "datastore", "d", "username", "u@pbs", "password", "hidden-word", "encryption-key", "autogen").(map[string]any)
	assert.Contains(t, key["config"].(map[string]any)["encryption-key"], `"data":"`)
	assert.NotContains(t, api(t, s, "GET /storage/vault").body, "hidden-word")
	ok(t, s, "PUT /storage/vault", "prune-backups", "keep-last=2")
	assert.Equal(t, "keep-last=2", ok(t, s, "GET /storage/vault").(map[string]any)["prune-backups"])
}

// sendFile uploads as Proxmox wants it, as a form of parts.
func sendFile(t testing.TB, s *Server, path, name, content, body string) rawAnswer {
	t.Helper()
	text := "--b\r\nContent-Disposition: form-data; name=\"content\"\r\n\r\n" + content +
		"\r\n--b\r\nContent-Disposition: form-data; name=\"filename\"; filename=\"" + name + "\"\r\nContent-Type: application/octet-stream\r\n\r\n" + body + "\r\n--b--\r\n"
	c := dial(t, s)
	_, err := io.WriteString(c, buildRequest("POST", "/api2/json"+path, map[string]string{
		"Authorization": rootToken, "Content-Type": "multipart/form-data; boundary=b", "Content-Length": itoa(len(text)), "Connection": "close",
	}, text))
	require.NoError(t, err)
	a, err := readAnswer(c)
	require.NoError(t, err)
	return a
}

func TestFilesArrive(t *testing.T) {
	w := backupWorld(t)
	s := quick(t, w)
	const at = "/nodes/n1/storage/nas"
	a := sendFile(t, s, at+"/upload", "my disk.iso", "iso", "12345")
	require.Equal(t, 200, a.status, a.body)
	upid := a.data(t).(string)
	assert.Contains(t, upid, ":imgcopy::root@pam!full:")
	status, log := ended(t, s, upid)
	assert.Equal(t, "OK", status, log)
	assert.Contains(t, log, "target file: /mnt/pve/nas/template/iso/my_disk.iso")
	assert.Contains(t, log, "file size is: 5")
	assert.Equal(t, "5", dataText(ok(t, s, "GET "+at+"/content/nas:iso/my_disk.iso").(map[string]any)["size"]))
	a = sendFile(t, s, at+"/upload", "x.exe", "iso", "1")
	assert.Equal(t, 400, a.status)
	assert.Contains(t, a.body, "wrong file extension")
	assert.Equal(t, "can't upload to storage type 'lvmthin', not a file based storage!", sendFile(t, s, "/nodes/n1/storage/fast/upload", "a.iso", "iso", "1").reason)

	upid = ok(t, s, "POST "+at+"/download-url", "content", "iso", "filename", "d.iso", "url", "https://example.org/d.iso").(string)
	assert.Contains(t, upid, ":download:d.iso:")
	status, log = ended(t, s, upid)
	assert.Equal(t, "OK", status)
	assert.Equal(t, "download of 'https://example.org/d.iso' to '/mnt/pve/nas/template/iso/d.iso' finished", log[len(log)-2])
	status, _ = task(t, s, "POST "+at+"/download-url", "content", "iso", "filename", "d.iso", "url", "https://example.org/d.iso")
	assert.Equal(t, "refusing to override existing file '/mnt/pve/nas/template/iso/d.iso'", status)
	status, _ = task(t, s, "POST "+at+"/download-url", "content", "iso", "filename", "e.iso", "url", "https://host.invalid/e.iso")
	assert.Contains(t, status, "download failed: command '/usr/bin/wget")

	// Whoever stops a download finds nothing.
	_, err := s.AddFault(Fault{Kind: FaultTaskHold, Task: "download"})
	require.NoError(t, err)
	upid = ok(t, s, "POST "+at+"/download-url", "content", "iso", "filename", "f.iso", "url", "https://example.org/f.iso").(string)
	ok(t, s, "DELETE /nodes/n1/tasks/"+upid)
	status, _ = ended(t, s, upid)
	assert.Equal(t, "download failed: received interrupt", status)
	s.ClearFaults()
	assert.Equal(t, 500, api(t, s, "GET "+at+"/content/nas:iso/f.iso").status)

	refuses(t, s, "template", "no such template", "POST /nodes/n1/aplinfo", "storage", "nas", "template", "nope.tar.gz")
	taskOK(t, s, "POST /nodes/n1/aplinfo", "storage", "nas", "template", "debian-13-standard_13.1-2_amd64.tar.zst")
	assert.Contains(t, taskOK(t, s, "POST /nodes/n1/aplinfo", "storage", "nas", "template", "debian-13-standard_13.1-2_amd64.tar.zst"), "OK, got correct file already, no need to download")
	taskOK(t, s, "POST "+at+"/oci-registry-pull", "reference", "docker.io/library/alpine:latest")
	assert.Contains(t, api(t, s, "GET "+at+"/content", "content", "vztmpl").body, "nas:vztmpl/alpine_latest.tar")
}
