/* hiredis: cc scenario.c -lhiredis */
#include <hiredis/hiredis.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static redisContext *dial(const char *port) {
	redisContext *c = redisConnect("127.0.0.1", atoi(getenv(port)));
	if (c == NULL || c->err) {
		fprintf(stderr, "connect: %s\n", c ? c->errstr : "no memory");
		exit(1);
	}
	return c;
}

/* dq sends a command and returns its reply, which the next call frees. */
static redisReply *dq(redisContext *c, const char *format, ...) {
	static redisReply *last;
	va_list ap;
	if (last)
		freeReplyObject(last);
	va_start(ap, format);
	last = redisvCommand(c, format, ap);
	va_end(ap);
	if (last == NULL) {
		fprintf(stderr, "%s: %s\n", format, c->errstr);
		exit(1);
	}
	return last;
}

/* code returns the first word of an error. */
static const char *code(redisReply *reply) {
	return reply->type == REDIS_REPLY_ERROR ? strtok(reply->str, " ") : "no error";
}

int main(void) {
	enum { mib = 1 << 20, many = 10000 };
	static char every_byte[mib];
	redisContext *r, *other;
	redisReply *reply, *job;
	int i, right = 0;
	char want[16];

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("version: hiredis %d.%d.%d, %s\n", HIREDIS_MAJOR, HIREDIS_MINOR, HIREDIS_PATCH, __VERSION__);
	r = dial("DQD_PORT");
	printf("connect: %s\n", dq(r, "PING")->str);
	printf("add: %s\n", dq(r, "DQADD orders order-42 %s", "{\"total\":99}")->str);
	job = dq(r, "DQPOP orders")->element[0];
	printf("pop: %s %s %s attempt %lld\n", job->element[0]->str, job->element[1]->str, job->element[2]->str, job->element[4]->integer);
	printf("ack: %lld\n", dq(r, "DQACK orders order-42 %lld", job->element[3]->integer)->integer);
	printf("null: %s", dq(r, "DQPOP orders")->type == REDIS_REPLY_NIL ? "null" : "a reply");
	printf(" %s\n", dq(r, "DQGET orders none")->type == REDIS_REPLY_NIL ? "null" : "a reply");
	printf("error: %s\n", code(dq(r, "DQADD orders a x DELAY 1.5")));
	reply = dq(r, "DQSTATS orders");
	for (i = 0; i + 1 < (int)reply->elements; i += 2)
		if (strcmp(reply->element[i]->str, "added") == 0)
			printf("map: %lld\n", reply->element[i + 1]->integer);
	dq(r, "DQADD orders soon x DELAY 200ms");
	printf("block: %s\n", dq(r, "DQPOP orders BLOCK 4s")->element[0]->element[1]->str);

	for (i = 0; i < mib; i++)
		every_byte[i] = (char)i;
	dq(r, "DQADD big a %b", every_byte, (size_t)mib);
	job = dq(r, "DQPOP big")->element[0];
	printf("binary: %d bytes, %s\n", (int)job->element[2]->len, job->element[2]->len == mib && memcmp(job->element[2]->str, every_byte, mib) == 0 ? "equal" : "changed");

	for (i = 0; i < many; i++)
		redisAppendCommand(r, "DQADD bulk job-%d %d DELAY 1h", i, i);
	for (i = 0; i < many; i++) {
		if (redisGetReply(r, (void **)&reply) != REDIS_OK) {
			fprintf(stderr, "pipeline: %s\n", r->errstr);
			return 1;
		}
		snprintf(want, sizeof want, "job-%d", i);
		right += reply->type == REDIS_REPLY_STRING && strcmp(reply->str, want) == 0;
		freeReplyObject(reply);
	}
	printf("pipeline: %d in order, %lld there\n", right, dq(r, "DQLEN bulk")->integer);

	puts("restart?");
	getchar();
	/* hiredis reports the broken connection; the program connects again. */
	if (redisReconnect(r) != REDIS_OK) {
		fprintf(stderr, "reconnect: %s\n", r->errstr);
		return 1;
	}
	printf("restart: %lld there\n", dq(r, "DQLEN bulk")->integer);

	other = dial("DQD_AUTH_PORT");
	printf("noauth: %s\n", code(dq(other, "DQLEN q")));
	dq(other, "AUTH %s", getenv("DQD_PASSWORD"));
	printf("auth: %lld\n", dq(other, "DQLEN q")->integer);
	redisFree(other);

	dq(r, "MULTI");
	dq(r, "DQADD tx one 1");
	dq(r, "DQADD tx two 2");
	dq(r, "DQLEN tx");
	reply = dq(r, "EXEC");
	if (reply->type == REDIS_REPLY_ARRAY)
		printf("multi: %s %s %lld\n", reply->element[0]->str, reply->element[1]->str, reply->element[2]->integer);
	else
		printf("multi: error: %s\n", reply->str);
	dq(r, "MULTI");
	dq(r, "DQADD tx three 3");
	dq(r, "DQADD tx one 1");
	printf("abort: %s", code(dq(r, "EXEC")));
	printf(", %lld there\n", dq(r, "DQLEN tx")->integer);
	redisFree(r);
	return 0;
}
