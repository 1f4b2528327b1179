# Perl's Redis: perl scenario.pl
use strict;
use warnings;
use Redis;

$| = 1;
my $every_byte = join('', map { chr } 0 .. 255) x 4096;

# Prints "name: result", or the error if there is one.
sub step {
    my ($name, $run) = @_;
    my $result = eval { $run->() } // "error: " . $@ =~ s/\s+$//r;
    print "$name: $result\n";
}

# The first word of the error that $run ends with: "[dqadd] BADTIME ...".
sub code {
    my ($run) = @_;
    eval { $run->(); 1 } and return 'no error';
    return $@ =~ /^(?:\[\w+\] )?(\w+)/ ? $1 : $@;
}

sub null { defined $_[0] ? "'$_[0]'" : 'null' }

print "version: Redis.pm $Redis::VERSION, perl $^V\n";
# Any name is a command. With reconnect a broken connection is made anew.
my $r = Redis->new(server => "127.0.0.1:$ENV{DQD_PORT}", reconnect => 10);
my $token;

step(connect => sub { $r->ping });
step(add => sub { $r->dqadd('orders', 'order-42', '{"total":99}') });
step(pop => sub {
    my ($queue, $id, $payload, $lease, $attempt) = @{ $r->dqpop('orders')->[0] };
    $token = $lease;
    return "$queue $id $payload attempt $attempt";
});
step(ack => sub { $r->dqack('orders', 'order-42', $token) });
step(null => sub { null(scalar $r->dqpop('orders')) . ' ' . null(scalar $r->dqget('orders', 'none')) });
step(error => sub { code(sub { $r->dqadd('orders', 'a', 'x', 'DELAY', '1.5') }) });
step(map => sub { my %stats = @{ $r->dqstats('orders') }; $stats{added} });
step(block => sub {
    $r->dqadd('orders', 'soon', 'x', 'DELAY', '200ms');
    return $r->dqpop('orders', 'BLOCK', '4s')->[0][1];
});
step(binary => sub {
    $r->dqadd('big', 'a', $every_byte);
    my $payload = $r->dqpop('big')->[0][2];
    return length($payload) . ' bytes, ' . ($payload eq $every_byte ? 'equal' : 'changed');
});
step(pipeline => sub {
    my $right = 0;
    for my $i (0 .. 9999) {
        $r->dqadd('bulk', "job-$i", $i, 'DELAY', '1h', sub { $right++ if ($_[0] // '') eq "job-$i" });
    }
    $r->wait_all_responses;
    return "$right in order, " . $r->dqlen('bulk') . ' there';
});
print "restart?\n";
<STDIN>;
step(restart => sub { $r->dqlen('bulk') . ' there' });
step(noauth => sub { code(sub { Redis->new(server => "127.0.0.1:$ENV{DQD_AUTH_PORT}")->dqlen('q') }) });
step(auth => sub { Redis->new(server => "127.0.0.1:$ENV{DQD_AUTH_PORT}", password => $ENV{DQD_PASSWORD})->dqlen('q') });
step(multi => sub {
    $r->multi;
    $r->dqadd('tx', 'one', 1);
    $r->dqadd('tx', 'two', 2);
    $r->dqlen('tx');
    return join ' ', $r->exec;
});
step(abort => sub {
    $r->multi;
    $r->dqadd('tx', 'three', 3);
    $r->dqadd('tx', 'one', 1);
    return code(sub { $r->exec }) . ', ' . $r->dqlen('tx') . ' there';
});
