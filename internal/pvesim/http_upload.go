package pvesim

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"strconv"
	"time"
)

// maxUpload bounds what the simulator takes of a file; nothing of it is kept.
const maxUpload = 1 << 30

// upload reads a multipart body. Its fields become parameters; of the file
// only name (filename) and size remain, the latter as the parameter "tmpfilename"
// in the form that the daemon gets, with the size in its name. Anything but
// multipart is not answered at all, as in Proxmox.
func (s *Server) upload(x *exchange) (values, *response) {
	r := x.raw
	kind, params, err := mime.ParseMediaType(r.header("Content-Type"))
	if err != nil || kind != "multipart/form-data" || params["boundary"] == "" || r.length == 0 {
		s.hush()
		x.raw.length = max(r.length, 1) // unread: the connection ends
		return nil, nil
	}
	if r.length > maxUpload {
		return nil, plain(501, "for data too large")
	}
	_ = x.conn.SetReadDeadline(time.Now().Add(2 * time.Minute))
	body := &io.LimitedReader{R: x.br, N: r.length}
	form := multipart.NewReader(body, params["boundary"])
	out := values{}
	for n := 0; n < 100; n++ {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil
		}
		name := part.FormName()
		if name == "filename" {
			size, err := io.Copy(io.Discard, part)
			if err != nil {
				return nil, nil
			}
			out["filename"] = part.FileName()
			out["tmpfilename"] = "/var/tmp/pveupload-" + strconv.FormatInt(size, 16)
			continue
		}
		text, err := io.ReadAll(io.LimitReader(part, maxBody))
		if err != nil {
			return nil, nil
		}
		if name != "" {
			out[name] = string(text)
		}
	}
	if _, err := io.Copy(io.Discard, body); err != nil {
		return nil, nil
	}
	x.read = true
	return out, nil
}
