# What of ours runs inside the sandbox, in Perl: it starts in 6 ms and takes 5 MB, where Node takes 27 ms and 42 MB,
# and the gate starts once per tool call. No module is used; the numbers are those of Linux.
#
#   inside.pl relay PORT SOCKET -- COMMAND ARGS…   listens on loopback, hands every connection to SOCKET, becomes COMMAND
#   inside.pl gate SOCKET PEER [SECONDS]           one tool call on stdin; 0 lets it pass, 2 denies it, reason on stderr
#   inside.pl mcp SOCKET PEER                      an MCP stdio server: every byte goes to SOCKET and back
#
# PEER is `PID:DEVICE:INODE`: who must listen at SOCKET, as seen from here, and which file the socket is. The worker is
# outside, so its PID is 0 in here, and any other listener has another one.
#
# relay.ts and tool-shim.ts do the same on machines without Perl.
use strict;
use warnings;

use constant { AF_UNIX => 1, AF_INET => 2, SOCK_STREAM => 1 };
use constant { SOL_SOCKET => 1, SO_REUSEADDR => 2, SO_PEERCRED => 17, IPPROTO_TCP => 6, TCP_NODELAY => 1 };
use constant { BOTH => 2, WRITING => 1 };
use constant DENIED => 2;
use constant CHUNK  => 65536;

$SIG{PIPE} = 'IGNORE';
my ($kind, @words) = @ARGV;
my %modes = (relay => \&relay, gate => \&gate, mcp => \&mcp);
my $mode = $modes{ $kind // '' } or give_up(DENIED, 'usage: inside.pl relay|gate|mcp …');
$mode->(@words);

# The command keeps our pid, so that only the command is visible from outside: its signals, its streams, its end. The
# listener is a child of the namespace's init and ends with it.
sub relay {
    my ($port, $path, undef, @command) = @_;
    socket(my $server, AF_INET, SOCK_STREAM, 0) or give_up(125, "no socket: $!");
    setsockopt($server, SOL_SOCKET, SO_REUSEADDR, pack('i', 1));
    bind($server, pack('S n a4 x8', AF_INET, $port, "\x7f\0\0\1")) && listen($server, 1024)
        or give_up(125, "cannot listen on port $port: $!");
    my $between = fork_or_give_up();
    if ($between == 0) {
        exit 0 if fork_or_give_up() != 0;
        serve($server, $path);
    }
    waitpid($between, 0);
    { no warnings 'exec'; exec { $command[0] } @command; }
    give_up(127, "cannot start $command[0]: $!");
}

sub serve {
    my ($server, $path) = @_;
    setpgrp(0, 0);    # a signal to the command's group does not mean us
    let_go_of_streams();
    $SIG{CHLD} = 'IGNORE';
    for (;;) {
        if (!accept(my $inside, $server)) {
            select(undef, undef, undef, 0.01);    # out of descriptors: some will be closed
        }
        elsif ((fork() // next) == 0) {
            close $server;
            setsockopt($inside, IPPROTO_TCP, TCP_NODELAY, pack('i', 1));
            carry_both($inside, dial($path) // exit 1);
            exit 0;
        }
    }
}

# Anything that goes wrong is a deny: some programs take every other exit code than 2 for a yes.
# So is no answer: a hook that outlives its program's patience, 330 s, is taken for a yes as well.
sub gate {
    my ($path, $peer, $seconds) = @_;
    $SIG{ALRM} = sub { give_up(DENIED, 'The gate did not answer in time.') };
    alarm($seconds // 320);
    $SIG{$_} = sub { give_up(DENIED, 'The gate was stopped.') } for qw(HUP INT TERM);
    my $call = do { local $/; <STDIN> } // '';
    $call =~ tr/\r\n/ /;    # in JSON these can only stand between words
    my $socket = dial($path) or give_up(DENIED, "The gate did not answer: $!");
    is_peer($socket, $peer) or give_up(DENIED, 'The gate was replaced: another process listens there.');
    write_all($socket, "{\"gate\":$call}\n");    # what is too large is answered before it was read
    my $answer = '';
    while (sysread($socket, $answer, CHUNK, length $answer)) { }
    exit 0 if $answer eq "allow\n";
    $answer =~ s/\Adeny //;
    chomp $answer;
    give_up(DENIED, $answer || 'The gate did not answer.');
}

sub mcp {
    my ($path, $peer) = @_;
    my $socket = dial($path) or give_up(1, "$path: $!");
    is_peer($socket, $peer) or give_up(1, "$path: another process listens there");
    # The process that the program knows is the one that holds its stdout: whatever ends it, nobody is left to keep the
    # program waiting for the end of that stream.
    my $writer = fork_or_give_up();
    if ($writer == 0) {
        open $_, '>', '/dev/null' for \*STDOUT, \*STDERR;
        carry(\*STDIN, $socket);
        shutdown($socket, WRITING);
        exit 0;
    }
    close STDIN;
    carry($socket, \*STDOUT);
    kill 'TERM', $writer;
}

sub dial {
    my ($path) = @_;
    # A socket's path may have at most 107 bytes; seen from its own folder any path will do.
    my ($folder, $name) = $path =~ m{\A(.*/)([^/]+)\z}s or return;
    chdir $folder or return;
    socket(my $socket, AF_UNIX, SOCK_STREAM, 0) or return;
    return connect($socket, pack('S a*', AF_UNIX, "$name\0")) ? $socket : undef;
}

# The kernel keeps who listened; no process can claim to be another one.
sub is_peer {
    my ($socket, $peer) = @_;
    my ($pid) = ($peer // '') =~ m{\A(\d+):} or return 0;
    my $credentials = getsockopt($socket, SOL_SOCKET, SO_PEERCRED) or return 0;
    return (unpack('l', $credentials))[0] == $pid;
}

# Each direction has a process of its own, so that a slow reader delays no other. The end of one direction is passed
# on alone; a broken connection takes both down, in both processes.
sub carry_both {
    my ($here, $there) = @_;
    my ($from, $to) = (fork() // 1) == 0 ? ($here, $there) : ($there, $here);
    if (carry($from, $to)) { shutdown($to, WRITING) }
    else                   { shutdown($_, BOTH) for $here, $there }
}

sub carry {
    my ($from, $to) = @_;
    for (;;) {
        my $size = sysread($from, my $bytes, CHUNK);
        return defined $size if !$size;
        write_all($to, $bytes) or return 0;
    }
}

sub write_all {
    my ($to, $bytes) = @_;
    my $done = 0;
    while ($done < length $bytes) {
        $done += syswrite($to, $bytes, CHUNK, $done) // return 0;
    }
    return 1;
}

sub let_go_of_streams {
    open STDIN,  '<', '/dev/null';
    open STDOUT, '>', '/dev/null';
    open STDERR, '>', '/dev/null';
}

sub fork_or_give_up {
    return fork() // give_up(125, "no more processes can be started: $!");
}

sub give_up {
    my ($code, $why) = @_;
    print STDERR "$why\n";
    exit $code;
}
