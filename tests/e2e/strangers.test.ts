/** Who may not reach a daemon, and looks for it everywhere: an agent in its sandbox, and another user of the machine. */
import { spawn } from 'node:child_process';
import { chmodSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openHttp } from './open-http.ts';
import { createProject, finish, type Project } from './project.ts';
import { isRoot, STRANGER } from './users.ts';

/** `CAISSON_SEARCH_ALL=1` is the nightly size (docs/guides/nightly.md). */
const PLACES =
  process.env['CAISSON_SEARCH_ALL'] === undefined
    ? ['/run', '/tmp', '/var/tmp', '/home', '/root', '/dev', '.']
    : ['/'];
/** Prints every port of the loopback addresses where something listens, every socket, and what it sees of the state. */
const SEARCH = `use Socket qw(:DEFAULT inet_pton pack_sockaddr_in6); use File::Find;
for my $port (1..65535) {
  socket(my $four, AF_INET, SOCK_STREAM, 0); socket(my $six, AF_INET6, SOCK_STREAM, 0);
  my $s = connect($four, pack_sockaddr_in($port, inet_aton("127.0.0.1"))) ? $four
    : connect($six, pack_sockaddr_in6($port, inet_pton(AF_INET6, "::1"))) ? $six : next;
  print "port $port\\n" if getsockname($s) ne getpeername($s); # a connection can meet itself
}
find({ no_chdir => 1, wanted => sub {
  return $File::Find::prune = 1 if m{^/(proc|sys)$};
  return unless -S $_ || m{/(daemon\\.sock|ledger\\.db|open-dashboard\\.html)$};
  socket(my $s, AF_UNIX, SOCK_STREAM, 0);
  print "file $_\\n" if -S $_ ? connect($s, pack_sockaddr_un($_)) : open(my $f, "<", $_);
} }, grep { -e $_ } @ARGV);
open(my $unix, "<", "/proc/net/unix"); while (<$unix>) { print "abstract $1\\n" if /@(caisson\\S*)/ }
print "searched\\n";
`;

const BECOME = ['setpriv', `--reuid=${STRANGER}`, `--regid=${STRANGER}`, '--clear-groups'];

/** All users may read the folders above the state folder: only its own mode refuses them. */
function createOpenProject(): Project {
  const project = createProject();
  for (const folder of [dirname(project.root), project.root]) chmodSync(folder, 0o755);
  return project;
}

describe('a daemon on TCP', { timeout: 180_000 }, () => {
  it('is found by no agent that searches all ports, sockets and files from its sandbox', async () => {
    const project = createOpenProject();
    project.write('search.pl', SEARCH);
    project.git('add', '.');
    project.git('commit', '-qm', 'search');
    const { url, get } = await openHttp(project, 'read');
    const places = [...PLACES, dirname(project.root), join(project.root, '.caisson')];
    const searched = await project.caisson('run', '--', 'perl', 'search.pl', ...places);
    const lines = searched.stdout.trim().split('\n');
    expect([searched.stderr.includes('Permission'), lines.at(-1)]).toEqual([false, 'searched']);
    expect(lines).not.toContain(`port ${new URL(url).port}`);
    expect(lines.filter((line) => /\.caisson\/|abstract/.test(line))).toEqual([]);
    expect(lines.filter((line) => line.startsWith('port '))).toEqual([]);
    expect(await get('/v1/runs')).toHaveLength(1);
  });

  // Only root can become another user: elsewhere it is reported as not run.
  it.runIf(isRoot)(
    'gives another user of the machine neither its socket, its files nor an answer',
    async () => {
      const project = createOpenProject();
      const { url } = await openHttp(project, 'admin');
      const state = join(project.root, '.caisson');
      const all = readdirSync(state, { recursive: true, encoding: 'utf8' }).map((name) => join(state, name));
      expect(all).toContain(join(state, 'runtime/daemon.sock'));
      const asStranger = async (script: string, ...args: string[]): Promise<string> => {
        const [become = '', ...rights] = BECOME;
        const options = { cwd: '/', env: { PATH: '/usr/bin:/bin' } };
        const { stdout } = await finish(spawn(become, [...rights, 'perl', '-e', script, ...args], options));
        return stdout;
      };
      const touch = `use Socket; print "in\\n" if opendir(my $d, $ARGV[0]);
      for (@ARGV) { socket(my $s, AF_UNIX, SOCK_STREAM, 0);
        print "$_\\n" if open(my $f, "<", $_) or connect($s, pack_sockaddr_un($_)) or open($f, ">>", $_) } print "tried\\n";`;
      expect(await asStranger(touch, state, ...all)).toBe('tried\n');
      const ask = `use Socket; my ($port, $path) = @ARGV; socket(my $s, AF_INET, SOCK_STREAM, 0);
      connect($s, pack_sockaddr_in($port, inet_aton("127.0.0.1"))) or die;
      syswrite $s, "GET $path HTTP/1.0\\r\\nHost: 127.0.0.1:$port\\r\\n\\r\\n"; print <$s>;`;
      for (const path of ['/v1/runs', '/v1/hello', '/v1/status', '/v1/events?after=0', '/v1/session'])
        expect(await asStranger(ask, new URL(url).port, path)).toBe('');
    },
  );
});
