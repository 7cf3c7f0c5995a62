/** /etc and /var as a list of what is visible, and the programs that must go on working with it. */
import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createCell, removeCell, runShell, type Cell } from './run-inside.ts';

const isRoot = process.getuid?.() === 0;
const SECRET = 'only-for-root-5b1f';
/** Places of services that no list of secrets knows, made for the test where they can be. */
const PLACES = ['/etc/caisson-test-service', '/var/lib/caisson-test-service', '/opt/caisson-test-service'];

describe('the folders of the system from inside the sandbox', () => {
  let cell: Cell;
  beforeEach(() => {
    cell = createCell();
    for (const place of isRoot ? PLACES : []) {
      mkdirSync(place, { recursive: true });
      writeFileSync(`${place}/key`, SECRET, { mode: 0o600 });
      chmodSync(place, place.startsWith('/opt') ? 0o700 : 0o755);
    }
  });
  afterEach(() => {
    removeCell(cell);
    for (const place of isRoot ? PLACES : []) rmSync(place, { recursive: true, force: true });
  });

  it('nothing that only root may read is to be found in /etc, /var or a closed folder, also when root started it', async () => {
    const { stdout } = await runShell(
      cell,
      `cat ${PLACES.map((place) => `${place}/key`).join(' ')}; find /etc /var -type f ! -perm -004 ! -path "/var/lib/dpkg/*" 2>/dev/null; head -c1 /etc/shadow; ls -A /opt/caisson-test-service; true`,
    );
    expect(stdout).toBe('');
  });

  it('an ordinary list is all there is, and nothing of it can be written', async () => {
    const { stdout } = await runShell(
      cell,
      'ls -A /var /var/lib; for f in /etc/passwd /etc/hosts /etc /var /var/lib; do ( : >>$f || touch $f/x ) 2>/dev/null && echo "wrote $f"; done; echo x >/var/tmp/x && echo tmp; readlink /var/run',
    );
    const lines = stdout.split('\n');
    for (const name of ['log', 'backups', 'spool', 'mail', 'postgresql', 'systemd', 'private'])
      expect(lines).not.toContain(name);
    expect(stdout).not.toContain('wrote');
    expect(lines).toContain('tmp');
    expect(stdout.trimEnd().endsWith('/run')).toBe(true);
  });

  it('programs find who they are, hosts, certificates, the time zone and the linker cache', async () => {
    const { stdout } = await runShell(
      cell,
      'id -un; getent hosts localhost | head -1 | grep -c localhost; test -s /etc/nsswitch.conf && echo nss; date +%Z; test -s /etc/ld.so.cache && echo linker; cat /etc/os-release | grep -c ^ID=',
    );
    expect(stdout.split('\n')).toEqual(['caisson', '1', 'nss', 'UTC', 'linker', '1', '']);
  });

  it.each([
    [
      'git',
      'git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git log --oneline | wc -l',
    ],
    [
      'node',
      "node -e \"const os = require('os'); require('tls').createSecureContext(); require('dns').lookup('localhost', (e) => console.log(os.userInfo().username, e))\"",
    ],
    ['npm', 'npm --version && npm config get prefix'],
    [
      'python3',
      'python3 -c "import ssl, pwd, os, mimetypes, zoneinfo; ssl.create_default_context(); print(pwd.getpwuid(os.getuid()).pw_name, mimetypes.guess_type(\'a.json\')[0])"',
    ],
    ['perl', 'perl -MPOSIX -e "print scalar getpwuid(POSIX::getuid()), qq(\\n)"'],
    [
      'java',
      'printf "class A { public static void main(String[] a) throws Exception { javax.net.ssl.SSLContext.getDefault(); System.out.println(java.security.Security.getProviders().length > 0); } }" >A.java && java A.java',
    ],
    ['gcc', 'printf "int main(){return 0;}" >a.c && gcc a.c -o a -lm && ./a && echo built'],
    ['dpkg-query', "dpkg-query -W -f '${Status}' bash"],
    [
      'openssl',
      'openssl version -d && openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=x -keyout k -out c 2>/dev/null && test -s c && echo made',
    ],
    ['cargo', 'cargo --version'],
  ])('%s works', { timeout: 60_000 }, async (name, script) => {
    const path = (process.env['PATH'] ?? '').split(':').filter((folder) => existsSync(`${folder}/${name}`));
    const folder = path.find((each) => !each.startsWith('/root') && !each.startsWith('/home'));
    if (folder === undefined) return; // not installed here for all users
    const { stdout, stderr, code } = await runShell(cell, script, {
      env: { ...cell.spec.env, PATH: `${folder}:/usr/local/bin:/usr/bin:/bin` },
      home: { path: '/home/agent', maxBytes: 2 ** 26 },
      tmp: { path: '/tmp', maxBytes: 2 ** 26 },
    });
    expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.trim()).not.toBe('');
  });
});
