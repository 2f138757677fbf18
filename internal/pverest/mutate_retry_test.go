package pverest

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// Answers for which a read is asked again, because another host may reach the
// node, do not make a write go out twice: behind 596, it may have been made.
func TestWritesAreNotRepeatedForAnAnswer(t *testing.T) {
	for _, status := range []int{595, 596} {
		for _, verb := range []string{"POST", "PUT", "DELETE"} {
			handle := func(c net.Conn, _ arrival) bool { return answer(c, status, "Connection timed out", "") }
			f, spare := newFake(t, nil, handle), newFake(t, nil, handle)
			cl, _ := newTestClient(t, f, spare)
			_, err := cl.Do(ctx5(t), Call{Verb: verb, Path: "/nodes/pve1/qemu/100"})
			require.Equal(t, status, asError(t, err).Status, "%s %d", verb, status)
			require.EqualValues(t, 1, f.arrivals.Load()+spare.arrivals.Load(), "%s %d", verb, status)
		}
	}
}
