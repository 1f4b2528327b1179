<?php // phpredis: php scenario.php

$everyByte = str_repeat(implode(array_map('chr', range(0, 255))), 4096);

// Prints "name: result", or the error if there is one.
function step(string $name, callable $run): void
{
    try {
        $result = $run();
    } catch (RedisException $e) {
        $result = 'error: ' . $e->getMessage();
    }
    echo "$name: $result\n";
}

// A null comes as false, or as an empty array where an array could have been.
function nullOf($reply): string
{
    return $reply === false || $reply === [] ? 'null' : var_export($reply, true);
}

// code returns the first word of the error that $run ends with. Errors that begin
// with ERR and a few of Redis's are not thrown: the reply is false.
function code(Redis $r, callable $run): string
{
    try {
        $run();
        $error = $r->getLastError() ?? 'no error';
        $r->clearLastError();
    } catch (RedisException $e) {
        $error = $e->getMessage();
    }
    return strtok($error, ' ');
}

function withPassword(?string $password): Redis
{
    $r = new Redis();
    $r->connect('127.0.0.1', (int) getenv('DQD_AUTH_PORT'));
    if ($password !== null) {
        $r->auth($password);
    }
    return $r;
}

echo 'version: phpredis ', phpversion('redis'), ', php ', PHP_VERSION, "\n";
$r = new Redis();
$r->connect('127.0.0.1', (int) getenv('DQD_PORT'));
$token = null;

step('connect', fn () => $r->ping() === true ? 'PONG' : 'no answer');
step('add', fn () => $r->rawCommand('DQADD', 'orders', 'order-42', '{"total":99}'));
step('pop', function () use ($r, &$token) {
    [[$queue, $id, $payload, $token, $attempt]] = $r->rawCommand('DQPOP', 'orders');
    return "$queue $id $payload attempt $attempt";
});
step('ack', fn () => $r->rawCommand('DQACK', 'orders', 'order-42', $token));
step('null', fn () => nullOf($r->rawCommand('DQPOP', 'orders')) . ' ' . nullOf($r->rawCommand('DQGET', 'orders', 'none')));
step('error', fn () => code($r, fn () => $r->rawCommand('DQADD', 'orders', 'a', 'x', 'DELAY', '1.5')));
step('map', function () use ($r) {
    $pairs = $r->rawCommand('DQSTATS', 'orders');
    return $pairs[array_search('added', $pairs, true) + 1];
});
step('block', function () use ($r) {
    $r->rawCommand('DQADD', 'orders', 'soon', 'x', 'DELAY', '200ms');
    return $r->rawCommand('DQPOP', 'orders', 'BLOCK', '4s')[0][1];
});
step('binary', function () use ($r, $everyByte) {
    $r->rawCommand('DQADD', 'big', 'a', $everyByte);
    $payload = $r->rawCommand('DQPOP', 'big')[0][2];
    return strlen($payload) . ' bytes, ' . ($payload === $everyByte ? 'equal' : 'changed');
});
step('pipeline', function () use ($r) {
    $r->multi(Redis::PIPELINE);
    for ($i = 0; $i < 10000; $i++) {
        $r->rawCommand('DQADD', 'bulk', "job-$i", $i, 'DELAY', '1h');
    }
    $right = count(array_filter($r->exec(), fn ($id, $i) => $id === "job-$i", ARRAY_FILTER_USE_BOTH));
    return "$right in order, {$r->rawCommand('DQLEN', 'bulk')} there";
});
echo "restart?\n";
fgets(STDIN);
step('restart', fn () => $r->rawCommand('DQLEN', 'bulk') . ' there');
step('noauth', function () {
    $other = withPassword(null);
    return code($other, fn () => $other->rawCommand('DQLEN', 'q'));
});
step('auth', fn () => withPassword(getenv('DQD_PASSWORD'))->rawCommand('DQLEN', 'q'));
step('multi', function () use ($r) {
    $r->multi();
    $r->rawCommand('DQADD', 'tx', 'one', '1');
    $r->rawCommand('DQADD', 'tx', 'two', '2');
    $r->rawCommand('DQLEN', 'tx');
    return implode(' ', $r->exec() ?: ['no reply']);
});
step('abort', function () use ($r) {
    // As plain commands: exec() does not see the refusal, and waits for its time-out.
    $r->rawCommand('MULTI');
    $r->rawCommand('DQADD', 'tx', 'three', '3');
    $r->rawCommand('DQADD', 'tx', 'one', '1');
    return code($r, fn () => $r->rawCommand('EXEC')) . ", {$r->rawCommand('DQLEN', 'tx')} there";
});
