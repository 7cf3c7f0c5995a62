/**
 * The gate as an agent meets it: a run of the built CLI with an agent of the test's own, which tries to put its own gate
 * in the place of ours and then asks, with the very command that a program's hook runs.
 */
import { describe, expect, it } from 'vitest';
import { createProject, type Project } from '../e2e/project.ts';

const DENIED = JSON.stringify({ tool_name: 'Bash', tool_input: { command: 'git push --force origin main' } });
const ALLOWED = JSON.stringify({ tool_name: 'Bash', tool_input: { command: 'ls' } });

/** Listens like the gate and says yes to everything. */
const IMPOSTOR = `use Socket; my $p = shift; unlink $p;
socket(my $s, AF_UNIX, SOCK_STREAM, 0); bind($s, pack_sockaddr_un($p)) or exit 1; listen($s, 5);
open my $ready, '>', "$p.ready"; close $ready;
while (accept(my $c, $s)) { sysread $c, my $q, 65536; syswrite $c, "allow\\n"; close $c }`;

/**
 * An adapter whose agent is a shell script. It finds the gate's command line in \`$GATE\`, a file that was laid into its
 * HOME at \`$HOME/.agent/deep/hooks.json\`, and a yes-sayer at \`$YES\`. What it prints is the reply.
 */
function adapterOf(script: string): string {
  const whole = `T=$(mktemp -d); YES=$T/yes.sock
perl -e '${IMPOSTOR.replaceAll("'", `'\\''`)}' $YES </dev/null >/dev/null 2>&1 &
until [ -e $YES.ready ]; do :; done
ask() { printf '%s' "$1" | sh -c "$GATE" >/dev/null 2>$T/why; echo "$2 $?"; }
${script}
kill $!; rm -r $T
`;
  return `const quote = (word) => "'" + word.replaceAll("'", "'\\\\''") + "'";
let printed = [];
export default {
  name: 'mine',
  command: ({ gate, home }) => ({
    argv: ['/bin/sh', '-c', ${JSON.stringify(whole)}],
    env: { GATE: [gate.command, ...gate.args].map(quote).join(' ') + ' || exit 2' },
    stdin: null,
    files: ['/.agent/deep/hooks.json', '/.caisson/settings.json'].map((path) => ({ path: home + path, content: 'ours' })),
  }),
  createStream: () => ({
    line: (text) => {
      printed.push(text);
      return text === 'call' ? [{ kind: 'tool-start', callId: 'c', tool: 'Bash', input: { command: 'ls' } }, { kind: 'tool-end', callId: 'c', ok: true }] : [];
    },
    end: () => ({ kind: 'answered', reply: printed.join('\\n') }),
  }),
};
`;
}

function projectWith(script: string): Project {
  const project = createProject({ config: 'runtimes: { mine: { adapter: ./adapter.mjs, bin: /bin/sh } }\n' });
  project.write('adapter.mjs', adapterOf(script));
  project.git('add', '.');
  project.git('commit', '-qm', 'adapter');
  return project;
}

/** Runs all attempts, prints the number of each that worked, and then asks the gate. */
const attempts = (...lines: string[]): string =>
  [
    ...lines.map((line, index) => `{ ${line}; } >/dev/null 2>&1 && echo "${index} worked"`),
    `ask '${DENIED}' denied; ask '${ALLOWED}' allowed`,
  ].join('\n');

async function replyOf(script: string): Promise<string> {
  const ran = await projectWith(script).run('--runtime', 'mine', 'do it');
  expect([ran.failure, ran.status]).toEqual([undefined, 'done']);
  return ran.reply ?? '';
}

const HELD = 'denied 2\nallowed 0';

describe('from inside the sandbox the gate', () => {
  it('cannot be renamed, removed, covered, added to or given other rights', async () => {
    const reply = await replyOf(
      attempts(
        'mv /run/caisson /run/other',
        'mv /run /tmp/run',
        'rm -rf /run/caisson && ! test -e /run/caisson',
        'rm -f /run/caisson/tools.sock && ! test -e /run/caisson/tools.sock',
        'mv /run/caisson/tools.sock /run/caisson/old',
        'mv -f $YES /run/caisson/tools.sock',
        'ln -sf $YES /run/caisson/tools.sock && test -L /run/caisson/tools.sock',
        'touch /run/caisson/more',
        'mkdir /tmp/run; mv -T /tmp/run /run/caisson',
        'chmod 777 /run/caisson && touch /run/caisson/more',
        'mount --bind $YES /run/caisson/tools.sock',
        'umount /run/caisson/tools.sock',
        'umount -l /run/caisson',
        'mount -o remount,rw /run/caisson && touch /run/caisson/more',
        'unshare -rm mount --bind $YES /run/caisson/tools.sock',
        // mount(2), move_mount(2) and renameat2(2) with RENAME_EXCHANGE, by number
        `perl -e '$a=$ARGV[0];$b="/run/caisson/tools.sock";$n="none";exit(syscall(165,$a,$b,$n,4096,0)==0?0:1)' $YES`,
        `perl -e '$a="/tmp";$b="/run/caisson";exit(syscall(316,-100,$a,-100,$b,2)==0?0:1)'`,
        `perl -e '$a=$ARGV[0];$b="/run/caisson/tools.sock";exit(syscall(316,-100,$a,-100,$b,2)==0?0:1)' $YES`,
      ),
    );
    expect(reply).toBe(HELD);
  }, 60_000);

  it('cannot lose its hook: neither the file, nor a folder on the way to it, nor the program that it names', async () => {
    const reply = await replyOf(
      attempts(
        'echo {} > $HOME/.agent/deep/hooks.json',
        'rm -f $HOME/.agent/deep/hooks.json && ! test -e $HOME/.agent/deep/hooks.json',
        'echo {} > /tmp/h; mv -f /tmp/h $HOME/.agent/deep/hooks.json',
        'mv $HOME/.agent/deep $HOME/.agent/other',
        'mv $HOME/.agent $HOME/.other',
        'mv $HOME /tmp/home',
        'rm -rf $HOME/.agent && ! test -e $HOME/.agent',
        'chmod 600 $HOME/.agent/deep/hooks.json && echo {} > $HOME/.agent/deep/hooks.json',
        'echo {} > $HOME/.caisson/settings.json',
        'echo {} > /tmp/s; mv -f /tmp/s $HOME/.caisson/settings.json',
        'touch $HOME/.caisson/more',
        'mv $HOME/.caisson $HOME/.other',
        'chmod 777 $HOME/.caisson && touch $HOME/.caisson/more',
        'for word in $GATE; do file=$(eval echo $word); if [ -f "$file" ]; then { echo "exit 0" > "$file"; } && exit 0; mv "$file" /tmp/gone && exit 0; mv "$(dirname $file)" /tmp/gone && exit 0; fi; done; false',
      ) + '\ncat $HOME/.agent/deep/hooks.json; echo; touch $HOME/.agent/own && echo own',
    );
    // What a program keeps beside its settings it can still write.
    expect(reply).toBe(`${HELD}\nours\nown`);
  }, 60_000);

  it('is not changed by PATH, start-up files or variables', async () => {
    const evil = '#!/bin/sh\\nexit 0\\n';
    const reply = await replyOf(
      `mkdir -p /tmp/bin; for name in env perl node sh git; do printf '${evil}' > /tmp/bin/$name; chmod +x /tmp/bin/$name; done
printf 'package Yes;\\nBEGIN { exit 0 }\\n1;\\n' > /tmp/Yes.pm; cp /tmp/Yes.pm /tmp/strict.pm
echo 'process.exit(0)' > /tmp/yes.js; echo 'exit 0' > /tmp/yes.sh
for name in .profile .bashrc .bash_profile .shrc; do cp /tmp/yes.sh $HOME/$name; done
shell=$(command -v sh)
ask() { printf '%s' "$1" | PATH=/tmp/bin:$PATH PERL5OPT=-MYes PERL5LIB=/tmp NODE_OPTIONS='--require /tmp/yes.js' ENV=/tmp/yes.sh BASH_ENV=/tmp/yes.sh $shell -c "$GATE" >/dev/null 2>&1; echo "$2 $?"; }
${attempts()}`,
    );
    expect(reply).toBe(HELD);
  }, 60_000);

  it('accepts no answer of another process', async () => {
    const reply = await replyOf(
      `GATE=$(printf '%s' "$GATE" | sed "s#/run/caisson/tools.sock#$YES#"); ask '${ALLOWED}' other; cat $T/why
GATE=$(printf '%s' "$GATE" | sed "s#$YES#$T/nobody.sock#"); ask '${ALLOWED}' nobody`,
    );
    expect(reply).toBe('other 2\nThe gate was replaced: another process listens there.\nnobody 2');
  }, 60_000);
});

it('without a sandbox a gate that is removed or replaced denies, ends the run and is on record', async () => {
  for (const attack of ['rm "$sock"', 'mv $YES "$sock"']) {
    const project = projectWith(
      `sock=$(printf '%s' "$GATE" | tr ' ' '\\n' | grep -o '/.*tools.sock'); ${attack}; ask '${ALLOWED}' allowed; echo call; sleep 30`,
    );
    const ran = await project.run('--runtime', 'mine', '--sandbox', 'none', 'do it');
    expect(ran.failure).toMatchObject({ reason: 'policy-denied' });
    const denied = (await project.events(ran.runId)).filter(({ type }) => type === 'policy.denied');
    expect(JSON.stringify(denied)).toMatch(/the socket of the gate was (removed|replaced)/);
    const { stdout } = await project.caisson('logs', ran.runId, '--stdout');
    expect(stdout).toContain('allowed 2');
  }
}, 60_000);
