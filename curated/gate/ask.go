package gate

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// sealer hides and protects what a client keeps for us between two requests.
type sealer struct{ aead cipher.AEAD }

// newSealer makes one from a key of any length; without one, a random key is
// made, and only this process can open what it sealed.
func newSealer(key []byte) (*sealer, error) {
	var secret [sha256.Size]byte
	if len(key) == 0 {
		if _, err := rand.Read(secret[:]); err != nil {
			return nil, err
		}
	} else {
		secret = sha256.Sum256(append([]byte("pve-mcp request state\x00"), key...))
	}
	block, err := aes.NewCipher(secret[:])
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	return &sealer{aead}, nil
}

// stateMark begins every sealed state; the digit is the version.
const stateMark = "s1."

// longestState bounds what is opened.
const longestState = 256 << 10

// bind is what a state is good for only.
func bind(tool, argsHash string) []byte { return []byte(tool + "\x00" + argsHash) }

func (s *sealer) seal(tool, argsHash string, text []byte) string {
	nonce := make([]byte, s.aead.NonceSize())
	_, _ = rand.Read(nonce)
	return stateMark + base64.RawURLEncoding.EncodeToString(s.aead.Seal(nonce, nonce, text, bind(tool, argsHash)))
}

var errState = errors.New("it was not made by this server for this tool and these arguments, or it was changed")

func (s *sealer) open(state, tool, argsHash string) ([]byte, error) {
	text, ok := strings.CutPrefix(state, stateMark)
	if !ok || len(text) > longestState {
		return nil, errState
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) < s.aead.NonceSize() {
		return nil, errState
	}
	n := s.aead.NonceSize()
	plain, err := s.aead.Open(nil, raw[:n], raw[n:], bind(tool, argsHash))
	if err != nil {
		return nil, errState
	}
	return plain, nil
}

// asked is what a sealed state holds.
type asked struct {
	ID       string `json:"id"`
	Question string `json:"question"`
	Plan     Plan   `json:"plan"`
}

// Ask makes the state that goes with a question to a person: sealed, bound to
// tool, arguments (see [HashArgs]), seen (see [Gate.IssuePlan]), the question's
// text and these calls, good for ten minutes and one answer. It has no side
// effect, so a handler that runs twice may ask twice. The error is a [*Refusal]
// when a call would be refused whatever the person says.
func (g *Gate) Ask(ctx context.Context, tool, argsHash, seen, question string, intents []*Intent) (state string, expires time.Time, err error) {
	p, err := g.makePlan(ctx, tool, argsHash, seen, intents)
	if err != nil {
		return "", time.Time{}, err
	}
	var id [16]byte
	_, _ = rand.Read(id[:])
	text, err := json.Marshal(asked{ID: hashText(string(id[:])), Question: question, Plan: p})
	if err != nil {
		return "", time.Time{}, err
	}
	if len(text) > longestState/2 {
		return "", time.Time{}, fmt.Errorf("the state has %d bytes", len(text))
	}
	return g.seal.seal(tool, argsHash, text), p.Expires, nil
}

// Answered takes a state back with a person's consent, which the caller must
// have checked: only an answer that accepts may come here. question is the text
// that was put to the person, and must be the one that was sealed. The error is
// a [*Refusal] as of [Gate.Redeem]; PlanUnknown is a state that is not ours.
func (g *Gate) Answered(ctx context.Context, state, tool, argsHash, seenNow, question string) (*Approved, error) {
	text, err := g.seal.open(state, tool, argsHash)
	if err != nil {
		return nil, refusePlan(tool, PlanUnknown, err)
	}
	var a asked
	if err := json.Unmarshal(text, &a); err != nil || len(a.ID) < 12 {
		return nil, refusePlan(tool, PlanUnknown, errState)
	}
	if a.Question != question {
		return nil, refusePlan(tool, PlanOther, errors.New("another question was put to the person"))
	}
	return g.redeem(ctx, ByAsk, a.ID, a.Plan, tool, argsHash, seenNow)
}
