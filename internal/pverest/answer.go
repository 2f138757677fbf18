package pverest

import "net/http"

func reasonOf(resp *http.Response) string { return "" }

func readAnswer(call Call, resp *http.Response, body []byte) (Reply, error) { panic("soon") }
