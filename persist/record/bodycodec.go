package record

import "encoding/binary"

// The body of a job.
//
//	1    version in the high nibble, flags in the low one
//	uv   lease                             if hasLease
//	…    backoff                           if hasBackoff
//	uv   number of fields                  if hasMeta
//	uv+  name, uv+ value of each field
//	…    payload, the whole rest
const (
	bodyVersion = 1
	hasLease    = 1
	hasBackoff  = 2
	hasMeta     = 4
)

// Append appends the encoded body.
func (b *Body) Append(dst []byte) []byte {
	var flags byte
	if b.Lease != 0 {
		flags |= hasLease
	}
	if b.Backoff != nil {
		flags |= hasBackoff
	}
	if len(b.Meta) > 0 {
		flags |= hasMeta
	}
	dst = append(dst, bodyVersion<<4|flags)
	if flags&hasLease != 0 {
		dst = binary.AppendUvarint(dst, uint64(b.Lease))
	}
	if flags&hasBackoff != 0 {
		dst = b.Backoff.append(dst)
	}
	if flags&hasMeta != 0 {
		dst = binary.AppendUvarint(dst, uint64(len(b.Meta)))
		for _, f := range b.Meta {
			dst = appendString(appendString(dst, f.Name), f.Value)
		}
	}
	return append(dst, b.Payload...)
}

// DecodeBody decodes a body. Its strings alias value.
func DecodeBody(value []byte) (*Body, error) {
	r := reader{b: value}
	b := &Body{}
	head := r.byte()
	flags := head & 0xf
	if head>>4 != bodyVersion || flags > hasLease|hasBackoff|hasMeta {
		return nil, malformed("body")
	}
	if flags&hasLease != 0 {
		if b.Lease = int64(r.uvarint()); b.Lease <= 0 {
			r.fail()
		}
	}
	if flags&hasBackoff != 0 {
		b.Backoff = &Backoff{}
		b.Backoff.read(&r)
	}
	if flags&hasMeta != 0 {
		n := r.count(2)
		if n == 0 {
			r.fail()
		}
		b.Meta = make([]Field, n)
		for i := range b.Meta {
			b.Meta[i] = Field{r.string(), r.string()}
		}
	}
	b.Payload = r.rest()
	if err := r.end("body"); err != nil {
		return nil, err
	}
	return b, nil
}

// SetBody gives the job its body and decides where it is kept.
func (j *Job) SetBody(b *Body) {
	j.Body, j.PayloadSize = b, uint32(len(b.Payload))
	// The array keeps the usual small body from being allocated just to be measured.
	var scratch [InlineMax + 64]byte
	j.Separate = len(b.Payload) > InlineMax || len(b.Append(scratch[:0])) > InlineMax
}

// A backoff, in a body and in settings.
//
//	1   kind
//	uv  number of steps, uv each of them
//	uv  factor
//	1   jitter
func (b *Backoff) append(dst []byte) []byte {
	dst = binary.AppendUvarint(append(dst, byte(b.Kind)), uint64(len(b.Steps)))
	for _, s := range b.Steps {
		dst = binary.AppendUvarint(dst, uint64(s))
	}
	return append(binary.AppendUvarint(dst, uint64(b.Factor)), b.Jitter)
}

func (b *Backoff) read(r *reader) {
	b.Kind = BackoffKind(r.byte())
	if n := r.count(1); n > 0 {
		b.Steps = make([]int64, n)
	}
	for i := range b.Steps {
		if b.Steps[i] = int64(r.uvarint()); b.Steps[i] < 0 {
			r.fail()
		}
	}
	b.Factor = r.uvarint32()
	if b.Jitter = r.byte(); b.Jitter > 100 || b.Kind > BackoffList {
		r.fail()
	}
}
