import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';

const MODULE = new URL('./signal-program.ts', import.meta.url).href;
/** Started by root, the program becomes another user while its child stays root's, as with sudo. */
const UID = process.getuid?.() === 0 ? 31_234 : (process.getuid?.() ?? 0);
const PROGRAM = `use POSIX; $| = 1; if (!fork) { <STDIN>; exit }
$SIG{INT} = sub { print "interrupted\\n"; exit }; POSIX::setuid(${UID}); print "up\\n"; sleep 600`;

it('an interrupt reaches the processes that we may signal, and a process of another user does not stop it', async () => {
  const program = spawn('perl', ['-e', PROGRAM], { detached: true, stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void program.stdin.end());
  await once(program.stdout, 'data');
  const interrupted = once(program.stdout, 'data');
  const script = `const { interruptProgram } = await import('${MODULE}'); process.setuid(${UID});
    console.log(interruptProgram(${program.pid}));`;
  const said = execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
  expect(said).toBe('true\n');
  expect(String((await interrupted)[0])).toBe('interrupted\n');
});
