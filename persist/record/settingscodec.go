package record

import "encoding/binary"

// The value of an Own record.
//
//	1   version
//	uv  given
//	v   each number that is given, in the order of the bits
//	…   backoff            if given
//	1   expire to dead     if given
//	1   release            if given
const ownVersion = 1

// AppendValue appends the value of the Own record.
func (o *Own) AppendValue(dst []byte) []byte {
	dst = binary.AppendUvarint(append(dst, ownVersion), uint64(o.Given))
	for i, n := range o.numbers() {
		if o.Given.Has(1 << i) {
			dst = binary.AppendVarint(dst, *n)
		}
	}
	if o.Given.Has(FieldBackoff) {
		dst = o.Backoff.append(dst)
	}
	if o.Given.Has(FieldExpireTo) {
		dst = appendBool(dst, o.ExpireToDead)
	}
	if o.Given.Has(FieldOnDisconnect) {
		dst = appendBool(dst, o.Release)
	}
	return dst
}

// DecodeOwn decodes an Own record. Nothing aliases value.
func DecodeOwn(value []byte) (*Own, error) {
	r := reader{b: value}
	if r.byte() != ownVersion {
		r.fail()
	}
	o := &Own{Given: Fields(r.uvarint32())}
	if o.Given&^AllFields != 0 {
		r.fail()
	}
	for i, n := range o.numbers() {
		if o.Given.Has(1 << i) {
			*n = r.varint()
		}
	}
	if o.Given.Has(FieldBackoff) {
		o.Backoff.read(&r)
	}
	if o.Given.Has(FieldExpireTo) {
		o.ExpireToDead = r.bool()
	}
	if o.Given.Has(FieldOnDisconnect) {
		o.Release = r.bool()
	}
	if err := r.end("settings"); err != nil {
		return nil, err
	}
	return o, nil
}
