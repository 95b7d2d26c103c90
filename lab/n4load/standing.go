package n4load

import "github.com/plumbline-upf/plumbline/pfcp"

// standing is what is known of a session at the UP function.
type standing uint8

const (
	absent   standing = iota // never established
	stands                   // as it is here
	ended                    // deleted
	doubtful                 // a request failed: it may be there or not, and with an older tunnel
)

// after is what is known after a request that got a Cause, 0 if there was no response
// that could be read.
func (s standing) after(op int, cause pfcp.Cause) standing {
	switch {
	case cause.Accepted() && op == OpDelete:
		return ended
	case cause.Accepted():
		return stands
	case op == OpEstablish && cause != 0: // refused: there is no more than before
		return s
	}
	return doubtful
}

// Standing returns the sessions that the UP function has as they are here, as far as it
// has said: the last request of each was accepted.
func (p *Population) Standing() []Session { return p.known(stands) }

// Ended returns the sessions that the UP function has said to be deleted.
func (p *Population) Ended() []Session { return p.known(ended) }

func (p *Population) known(is standing) []Session {
	var list []Session
	for _, part := range p.parts {
		for i, known := range part.known {
			if known == is {
				list = append(list, part.sessions[i])
			}
		}
	}
	return list
}
