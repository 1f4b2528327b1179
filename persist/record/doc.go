// Package record is the state store's format: keys, values, and the rules that
// derive every index key of a job from its record. It is pure.
//
// All integers in keys are big-endian; queues are 4-byte numbers, never reused.
//
//	key                                   value
//	00 01                                 Applied: position in the log, cluster time, counters (CRC)
//	00 02                                 Format: version, shard
//	01 q4 id                              a live job's Job record
//	02 q4 seq8                            its Body, when too large to be inline
//	03 domain1 wake8 seq8                 wake index → q4, dead flag, died8 if dead, id (one per job at most)
//	04 q4 domain1 due8 pri1 seq8          delayed jobs of a queue in the order in which they become due → id
//	05 q4 pri1 due8 seq8                  ready jobs of a queue in order of delivery → id
//	06 00 q4 idlen2 id ~died8 ~seq8         a dead job's Job record; ~ = inverted, newest first
//	06 01 q4 died8 seq8                   dead jobs of a queue in order of death → id
//	07 00 name                            queue registry → q4
//	07 01 q4                              Queue: name, counters, pauses, bucket
//	07 02 q4                              Own: the settings that differ; q4 0 = the defaults of all
//	08 00 q4 id                           IDEM memory of an ended job: Idem
//	08 01 until8 q4 id                    the same by expiry, for sweeping; empty value
package record
