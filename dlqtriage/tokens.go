package dlqtriage

import (
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer"
)

// Tokens are counted piece by piece, so that no input is costly: a piece ends at a blank where there is one.
const tokenPiece = 8 << 10

// encoding is the encoding by which the model's tokens are estimated.
func (m ModelProfile) encoding() tokenizer.Encoding {
	if m.Encoding == "" {
		return tokenizer.O200kBase
	}
	return tokenizer.Encoding(m.Encoding)
}

// CountTokens estimates how many tokens of the model a text has. It needs no network. Models that the policy does not know are estimated
// with o200k_base.
func (p *Policy) CountTokens(model, text string) (int, error) {
	m, _ := p.model(model)
	codec, err := tokenizer.Get(m.encoding())
	if err != nil {
		return 0, err
	}
	total := 0
	for text != "" {
		piece := firstPiece(text)
		n, err := codec.Count(piece)
		if err != nil {
			return 0, err
		}
		total, text = total+n, text[len(piece):]
	}
	return total, nil
}

// firstPiece is the beginning of a text: at most tokenPiece bytes, up to a blank in its second half where there is one.
func firstPiece(text string) string {
	if len(text) <= tokenPiece {
		return text
	}
	end := tokenPiece
	for i := end; i > tokenPiece/2; i-- {
		if text[i] == ' ' || text[i] == '\n' {
			return text[:i]
		}
	}
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:max(end, 1)]
}
