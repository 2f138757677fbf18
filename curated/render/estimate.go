package render

import (
	_ "embed"
	"encoding/binary"
	"unicode"
	"unicode/utf8"
)

// vocab is a Bloom filter of the o200k vocabulary (hashes only, made by the
// test TestVocabFilter with -update): 64-bit words, each key sets vocabBits of
// one word, so that a look-up reads memory once.
//
//go:embed vocab.bin
var vocab string

const (
	vocabWords  = 1 << 15
	vocabMaxLen = 24 // longer tokens are left out: they occur in no answer of ours
	hashSeed    = 0xcbf29ce484222325
	hashPrime   = 0x9E3779B97F4A7C15
)

// hashByte extends a running hash by one byte.
func hashByte(h uint64, c byte) uint64 {
	h = (h ^ uint64(c)) * hashPrime
	return h ^ h>>29
}

// vocabSlot gives the word of the filter and the bits in it for a hash.
func vocabSlot(h uint64) (int, uint64) {
	h *= 0xff51afd7ed558ccd
	h ^= h >> 32
	return int(h & (vocabWords - 1)), 1<<(h>>15&63) | 1<<(h>>21&63) | 1<<(h>>27&63) | 1<<(h>>33&63)
}

func inVocab(h uint64) bool {
	w, bits := vocabSlot(h)
	i := w * 8
	_ = vocab[i+7]
	v := uint64(vocab[i]) | uint64(vocab[i+1])<<8 | uint64(vocab[i+2])<<16 | uint64(vocab[i+3])<<24 |
		uint64(vocab[i+4])<<32 | uint64(vocab[i+5])<<40 | uint64(vocab[i+6])<<48 | uint64(vocab[i+7])<<56
	return v&bits == bits
}

// makeVocab builds the filter from tokens; the test uses it.
func makeVocab(tokens func(yield func(string) bool)) []byte {
	words := make([]uint64, vocabWords)
	for t := range tokens {
		if len(t) < 2 || len(t) > vocabMaxLen {
			continue
		}
		h := uint64(hashSeed)
		for i := range len(t) {
			h = hashByte(h, t[i])
		}
		w, bits := vocabSlot(h)
		words[w] |= bits
	}
	out := make([]byte, 0, vocabWords*8)
	for _, w := range words {
		out = binary.LittleEndian.AppendUint64(out, w)
	}
	return out
}

// class is what the o200k pattern distinguishes.
type class uint8

const (
	clPunct class = iota
	clUpper
	clLower
	clBoth // letters and marks without case
	clDigit
	clSpace
	clNewline
)

var asciiClass = func() (t [128]class) {
	for c := range t {
		t[c] = runeClass(rune(c))
	}
	return
}()

func runeClass(r rune) class {
	switch {
	case r == '\n' || r == '\r':
		return clNewline
	case unicode.IsSpace(r):
		return clSpace
	case unicode.IsLower(r):
		return clLower
	case unicode.IsUpper(r) || unicode.IsTitle(r):
		return clUpper
	case unicode.IsLetter(r) || unicode.IsMark(r):
		return clBoth
	case unicode.IsNumber(r):
		return clDigit
	}
	return clPunct
}

// at gives the class and the length of the rune at i.
func at(s string, i int) (class, int) {
	if c := s[i]; c < utf8.RuneSelf {
		return asciiClass[c], 1
	}
	r, n := utf8.DecodeRuneInString(s[i:])
	return runeClass(r), n
}

func letter(c class) bool { return c == clUpper || c == clLower || c == clBoth }

// Estimate gives the number of o200k tokens of s, at most 5 % below the true
// count and usually a few per cent above it on texts as this package makes
// them. It splits s as the o200k pattern does and segments the pieces by longest
// match against a filter of the vocabulary; it takes linear time and no memory.
func Estimate(s string) int {
	n, _ := estimate(s, int(^uint(0)>>1)/unit)
	return n
}

// estimate counts until it is certain that there are more than limit; the second
// result is where it stopped.
func estimate(s string, limit int) (int, int) {
	n, i := 0, 0
	limit *= unit
	for i < len(s) && n <= limit {
		c, w := at(s, i)
		start := i
		switch {
		case c == clDigit && s[i] < utf8.RuneSelf && (i+1 == len(s) || s[i+1] < utf8.RuneSelf):
			// Up to three ASCII digits are one entry, whichever they are.
			i++
			for k := 1; k < 3 && i < len(s) && digit(s[i]); k++ {
				i++
			}
			n += unit
			continue
		case letter(c):
			i = word(s, i)
			n += segments(s[start:i])
			continue
		case c == clDigit:
			i += w
			for k := 1; k < 3 && i < len(s); k++ {
				c, w := at(s, i)
				if c != clDigit {
					break
				}
				i += w
			}
			if i-start <= 3 {
				n += unit
			} else {
				n += segments(s[start:i])
			}
			continue
		}
		// A single character that is no letter, digit or line end goes with a word after it.
		if c != clNewline && i+w < len(s) {
			if c2, _ := at(s, i+w); letter(c2) {
				i = word(s, i+w)
				n += segments(s[start:i])
				continue
			}
		}
		if c == clPunct || c == clSpace && s[i] == ' ' && i+w < len(s) && next(s, i+w) == clPunct {
			if c == clSpace {
				i += w
			}
			for i < len(s) {
				c, w := at(s, i)
				if c != clPunct {
					break
				}
				i += w
			}
			for i < len(s) && (s[i] == '\n' || s[i] == '\r' || s[i] == '/') {
				i++
			}
			n += segments(s[start:i])
			continue
		}
		// White space: up to the last line end, else all but the last before a word.
		last := i
		nl := -1
		for i < len(s) {
			c, w := at(s, i)
			if c != clSpace && c != clNewline {
				break
			}
			last = i
			i += w
			if c == clNewline {
				nl = i
			}
		}
		if nl >= 0 {
			i = nl
		} else if i < len(s) && last > start {
			i = last
		}
		n += segments(s[start:i])
	}
	return (n + unit - 1) / unit, i
}

func next(s string, i int) class {
	c, _ := at(s, i)
	return c
}

// word gives the end of the word that starts at i: capitals, then small letters.
func word(s string, i int) int {
	small := false
	for i < len(s) && s[i] < utf8.RuneSelf {
		switch asciiClass[s[i]] {
		case clLower:
			small = true
		case clUpper:
			if small {
				return i
			}
		default:
			return i
		}
		i++
	}
	for i < len(s) {
		c, w := at(s, i)
		if !letter(c) || c == clUpper && small {
			break
		}
		if c == clLower {
			small = true
		}
		i += w
	}
	return i
}

// unit is what one token counts while estimating; corrections are parts of it.
const unit = 16

// Longest match finds fewer segments than the true merges do, and the filter has
// false hits: each segment of a piece that is not one entry counts a little
// more, with letters outside ASCII more than with others. Measured in the tests.
const (
	extraASCII = 1
	extraWide  = 2
	extraFar   = 6 // kana, CJK, Hangul, emoji
)

// segments gives the cost of piece, in units: its entries of the vocabulary,
// each the longest that matches.
func segments(piece string) int {
	if len(piece) == 1 {
		return unit
	}
	if len(piece) <= vocabMaxLen {
		h := uint64(hashSeed)
		for i := range len(piece) {
			h = hashByte(h, piece[i])
		}
		if inVocab(h) {
			return unit
		}
	}
	n, top := 0, byte(0)
	for len(piece) > 0 {
		h := uint64(hashSeed)
		best := 1
		for i := range min(len(piece), vocabMaxLen) {
			c := piece[i]
			top = max(top, c)
			h = hashByte(h, c)
			if i > 0 && inVocab(h) {
				best = i + 1
			}
		}
		piece = piece[best:]
		n++
	}
	switch {
	case n == 1:
		return unit
	case top >= 0xe3:
		return n * (unit + extraFar)
	case top >= utf8.RuneSelf:
		return n * (unit + extraWide)
	}
	return n * (unit + extraASCII)
}
