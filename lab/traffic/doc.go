// Package traffic says what the laboratory sends: a [Profile] of one or several
// streams, from a YAML file, built in, or made of a few words ([Simple]).
//
// A profile knows nothing of the test bed. [Profile.Configure] writes its streams of
// one direction into the [generator.Config] of a generator there, [Profile.Rate] says
// how many frames per second that direction shall have, and [Profile.Sessions] and
// [Profile.MTU] what sessions and links must be there before.
//
// Lengths of frames are those on N6 with frame check sequence, as RFC 2544 gives them:
// 64 octets are an Ethernet header, an IPv4 packet of 46 octets and 4 octets of FCS. On
// N3 the same packet is longer by the outer headers. Bit rates count frames on N6
// from the Ethernet header to the end of the payload, without FCS, preamble and gap,
// as all figures of the laboratory do.
//
// Source: RFC 2544, 9.1 (lengths); RFC 6985 (mixes).
package traffic
