import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { removeTree } from '../files/index.ts';
import { findBwrap } from './bwrap-location.ts';
import { createSampleSpec } from './fixtures/sample-spec.ts';
import { verifyLayers } from './verify-layers.ts';
import { launchSandbox, type SandboxSpec } from './index.ts';

describe('a folder with a private overlay', () => {
  let root: string;
  let folder: string;
  let target: string;
  let spec: SandboxSpec;

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'caisson-layers-'));
    const workspace = join(root, 'workspace');
    folder = join(root, 'a,b:c\\d');
    target = join(workspace, 'packages/node_modules');
    for (const path of [target, join(folder, 'dep'), join(root, 'store')])
      mkdirSync(path, { recursive: true });
    writeFileSync(join(folder, 'dep/index.js'), 'as installed');
    writeFileSync(join(folder, 'dep/secret.pem'), 'key');
    spec = {
      ...createSampleSpec(workspace),
      layers: { folders: [{ source: folder, target }], store: join(root, 'store') },
    };
  });
  afterEach(() => removeTree(root));

  async function run(script: string, more: Partial<SandboxSpec> = {}) {
    const running = await launchSandbox({ ...spec, ...more, argv: ['sh', '-c', `cd ${target}; ${script}`] });
    const [stdout, , exit] = await Promise.all([text(running.stdout), text(running.stderr), running.exited]);
    return { stdout, code: exit.code, readOnly: running.readOnlyLayers };
  }

  function hostFolder(): Record<string, string> {
    return Object.fromEntries(
      readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => [entry.name, readFileSync(join(entry.parentPath, entry.name), 'utf8')]),
    );
  }

  it('can be changed in every way, and the folder of the host stays as it was', async () => {
    const before = hostFolder();
    const changes = [
      'echo new > added; echo other > dep/index.js; chmod 0600 dep/index.js; touch -d 2001-01-01 dep',
      'ln dep/index.js linked; rm dep/secret.pem; mv dep moved; mkdir dep; echo again > dep/again; rm moved/index.js',
    ];
    const { code, readOnly } = await run(`set -e; ${changes.join('; ')}`);
    expect({ code, readOnly }).toEqual({ code: 0, readOnly: [] });
    expect(hostFolder()).toEqual(before);
    const next = await run(
      'find . -type f | sort; cat dep/again; ls /run/caisson-layers; grep -c " /run/caisson-layers" /proc/mounts',
    );
    expect(next.stdout).toBe('./added\n./dep/again\n./linked\nagain\n0\n');
    expect(hostFolder()).toEqual(before);
  });

  it('shows nothing that a rule hides and changes nothing that it guards; the rest can be changed', async () => {
    mkdirSync(join(folder, 'keys'));
    writeFileSync(join(folder, 'keys/id'), 'key');
    const rules = {
      hiddenPaths: [join(target, 'dep/secret.pem'), join(target, 'keys')],
      readOnlyPaths: [join(target, 'dep/index.js')],
    };
    // The mode that it has already: harmless where the boundary is missing.
    const touch =
      'chmod "$(stat -c %a dep/secret.pem)" dep/secret.pem && echo reached the device of the host';
    const attack = [
      touch,
      'cat dep/secret.pem keys/id; cat dep/index.js; echo x > dep/index.js; rm -f dep/index.js dep/secret.pem',
      'mv dep away; cp -r dep copy; ln dep/secret.pem other; echo y > keys/id; cat */secret.pem other',
      'cat dep/index.js; echo added > dep/added; cat dep/added',
    ].join('; ');
    expect(await run(attack, rules)).toEqual({
      stdout: 'as installedas installedadded\n',
      code: 0,
      readOnly: [],
    });
    expect((await run('cat dep/secret.pem keys/id copy/secret.pem; cat dep/added', rules)).stdout).toBe(
      'added\n',
    );
    expect(hostFolder()).toEqual({ 'index.js': 'as installed', 'secret.pem': 'key', id: 'key' });
  });

  it('covers what a rule hides although an earlier program removed or replaced something', async () => {
    await run('rm dep/index.js; mkdir dep/index.js; mv dep/secret.pem dep/old; ln -s old dep/secret.pem');
    const hiddenPaths = ['dep/index.js', 'dep/secret.pem'].map((path) => join(target, path));
    expect(await run('ls dep; echo x > dep/x', { hiddenPaths })).toEqual({
      stdout: 'index.js\nold\nsecret.pem\n',
      code: 0,
      readOnly: [],
    });
  });

  it('is not mounted behind a link that an earlier program made', async () => {
    const packages = join(root, 'workspace/packages');
    rmSync(packages, { recursive: true });
    mkdirSync(join(root, 'elsewhere/node_modules'), { recursive: true });
    symlinkSync(join(root, 'elsewhere'), packages);
    const { stdout } = await run(`cat /proc/mounts | grep -c node_modules`);
    expect(stdout).toBe('0\n');
  });

  it('is not shown when a link took its place while the sandbox was built', async () => {
    mkdirSync(join(root, 'keys'));
    writeFileSync(join(root, 'keys/id'), 'key of the user');
    const bwrap = findBwrap() ?? '';
    const swap = `mv '${folder}' '${root}/aside'; ln -s '${root}/keys' '${folder}'`;
    const bwrapPath = join(root, 'bwrap');
    writeFileSync(bwrapPath, `#!/bin/sh\n${swap}\nexec ${bwrap} "$@"\n`, { mode: 0o755 });
    const refused = launchSandbox({ ...spec, argv: ['cat', join(target, 'id')] }, { bwrapPath });
    await expect(refused).rejects.toThrow('was replaced while the sandbox was built');
    rmSync(folder);
    renameSync(join(root, 'aside'), folder);
    const bind = { source: folder, target: folder, writable: true, isFolderAsNamed: true };
    const { layers: _, ...bare } = spec;
    const asNamed = launchSandbox({ ...bare, binds: [...spec.binds, bind], argv: ['true'] }, { bwrapPath });
    await expect(asNamed).rejects.toThrow('was replaced while the sandbox was built');
    const mount = { kind: 'bind', source: join(root, 'aside'), target: join(root, 'keys') } as const;
    const folders = [{ source: mount.source, target: mount.target }];
    const swappedBack = verifyLayers({ layers: { folders } }, [{ ...mount, writable: false }], process.pid);
    await expect(swappedBack).rejects.toThrow('was replaced');
  });

  it('is read-only without a store, and where the kernel refuses a layer', async () => {
    const { store: _, ...layers } = spec.layers ?? { folders: [] };
    expect(await run('cat dep/index.js; ! echo x > added', { layers })).toEqual({
      stdout: 'as installed',
      code: 0,
      readOnly: [target],
    });
    mkdirSync(join(root, 'store/0'));
    symlinkSync(root, join(root, 'store/0/upper')); // leads nowhere inside
    expect(await run('cat dep/index.js; ls -d /run/caisson-layers; ! echo x > added')).toEqual({
      stdout: 'as installed',
      code: 0,
      readOnly: [target],
    });
    expect(existsSync(join(folder, 'added'))).toBe(false);
  });
});
