"""redis-py: python3 scenario.py"""
import os
import sys

import redis

PORT, AUTH_PORT = int(os.environ["DQD_PORT"]), int(os.environ["DQD_AUTH_PORT"])
EVERY_BYTE = bytes(range(256)) * 4096


def step(name, run):
    """Prints "name: result", or the error if there is one."""
    try:
        result = run()
    except redis.RedisError as err:
        result = f"error: {err}"
    print(f"{name}: {result}", flush=True)


def code(run):
    """The first word of the error that run ends with."""
    try:
        return f"no error but {run()!r}"
    except redis.RedisError as err:
        return str(err).split()[0]


print(f"version: redis-py {redis.__version__}, python {sys.version.split()[0]}")
r = redis.Redis(port=PORT, decode_responses=True)
dq = r.execute_command
token = None


def pop():
    global token
    queue, id, payload, token, attempt, _due = dq("DQPOP", "orders")[0]
    return f"{queue} {id} {payload} attempt {attempt}"


def null(reply):
    return "null" if reply is None else repr(reply)


def stats():
    pairs = dq("DQSTATS", "orders")
    return dict(zip(pairs[::2], pairs[1::2]))["added"]


def block():
    dq("DQADD", "orders", "soon", "x", "DELAY", "200ms")
    return dq("DQPOP", "orders", "BLOCK", "4s")[0][1]


def binary():
    raw = redis.Redis(port=PORT)  # without decode_responses: bytes
    raw.execute_command("DQADD", "big", "a", EVERY_BYTE)
    payload = raw.execute_command("DQPOP", "big")[0][2]
    return f"{len(payload)} bytes, {'equal' if payload == EVERY_BYTE else 'changed'}"


def pipeline():
    with r.pipeline(transaction=False) as p:
        for i in range(10_000):
            p.execute_command("DQADD", "bulk", f"job-{i}", i, "DELAY", "1h")
        ids = p.execute()
    right = sum(id == f"job-{i}" for i, id in enumerate(ids))
    return f"{right} in order, {dq('DQLEN', 'bulk')} there"


def multi():
    with r.pipeline() as p:  # a transaction unless told otherwise
        p.execute_command("DQADD", "tx", "one", "1")
        p.execute_command("DQADD", "tx", "two", "2")
        p.execute_command("DQLEN", "tx")
        return " ".join(str(reply) for reply in p.execute())


def abort():
    with r.pipeline() as p:
        p.execute_command("DQADD", "tx", "three", "3")
        p.execute_command("DQADD", "tx", "one", "1")
        # redis-py takes the code EXECABORT off and makes it a type.
        try:
            error = f"no error but {p.execute()}"
        except redis.exceptions.ExecAbortError:
            error = "EXECABORT"
    return f"{error}, {dq('DQLEN', 'tx')} there"


def with_password(password):
    with redis.Redis(port=AUTH_PORT, password=password) as other:
        return other.execute_command("DQLEN", "q")


def no_auth():
    # redis-py takes the code NOAUTH off and makes it a type.
    try:
        return f"no error but {with_password(None)}"
    except redis.exceptions.AuthenticationError:
        return "NOAUTH"


step("connect", lambda: "PONG" if r.ping() else "no answer")
step("add", lambda: dq("DQADD", "orders", "order-42", '{"total":99}'))
step("pop", pop)
step("ack", lambda: dq("DQACK", "orders", "order-42", token))
step("null", lambda: null(dq("DQPOP", "orders")) + " " + null(dq("DQGET", "orders", "none")))
step("error", lambda: code(lambda: dq("DQADD", "orders", "a", "x", "DELAY", "1.5")))
step("map", stats)
step("block", block)
step("binary", binary)
step("pipeline", pipeline)
print("restart?", flush=True)
sys.stdin.readline()
step("restart", lambda: f"{dq('DQLEN', 'bulk')} there")
step("noauth", no_auth)
step("auth", lambda: with_password(os.environ["DQD_PASSWORD"]))
step("multi", multi)
step("abort", abort)
