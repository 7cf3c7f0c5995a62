/** Programs of version managers, with the links and shims that each of them makes. */
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { createProject } from './project.ts';

it(
  'a command finds the programs of version managers, and nothing else of HOME',
  { timeout: 60_000 },
  async () => {
    const project = createProject();
    const home = project.env['HOME'] ?? '';
    const make = (path: string, content: string): void => {
      mkdirSync(dirname(join(home, path)), { recursive: true });
      writeFileSync(join(home, path), `#!/bin/sh\n${content}\n`);
      chmodSync(join(home, path), 0o755);
    };
    const link = (path: string, to: string): void => {
      mkdirSync(dirname(join(home, path)), { recursive: true });
      symlinkSync(to, join(home, path));
    };
    make('.nvm/versions/node/v24/lib/node_modules/npm/bin/cli.sh', 'echo of nvm');
    link('.nvm/versions/node/v24/bin/of-nvm', '../lib/node_modules/npm/bin/cli.sh');
    make('.local/share/fnm/node-versions/v22/installation/lib/cli.sh', 'echo of fnm');
    link('.local/share/fnm/node-versions/v22/installation/bin/of-fnm', '../lib/cli.sh');
    link('.local/state/fnm_multishells/1_2', join(home, '.local/share/fnm/node-versions/v22/installation'));
    make('.volta/bin/volta-shim', 'exec "$HOME/.volta/tools/image/$(basename "$0")"');
    link('.volta/bin/of-volta', 'volta-shim');
    make('.volta/tools/image/of-volta', 'echo of volta');
    make('.pyenv/shims/of-pyenv', `exec "${home}/.pyenv/libexec/pyenv" exec of-pyenv`);
    make('.pyenv/libexec/pyenv', 'exec "$HOME/.pyenv/versions/3.12/bin/$2"');
    make('.pyenv/versions/3.12/bin/of-pyenv', 'echo of pyenv');
    make('.asdf/shims/of-asdf', 'exec "$HOME/.asdf/installs/tool/1/bin/of-asdf"');
    make('.asdf/installs/tool/1/bin/of-asdf', 'echo of asdf');
    make('.local/opt/mise', 'exec "$HOME/.local/share/mise/installs/tool/$(basename "$0")"');
    link('.local/share/mise/shims/of-mise', join(home, '.local/opt/mise'));
    make('.local/share/mise/installs/tool/of-mise', 'echo of mise');
    make('.sdkman/candidates/java/21/bin/of-sdkman', 'cat "$(dirname "$0")/../release"');
    make('.sdkman/candidates/java/21/release', 'of sdkman');
    link('.sdkman/candidates/java/current', '21');
    make('.cargo/bin/rustup', 'exec "$HOME/.rustup/toolchains/stable/bin/$(basename "$0")"');
    link('.cargo/bin/of-rustup', 'rustup');
    make('.rustup/toolchains/stable/bin/of-rustup', 'echo of rustup');
    make('.linuxbrew/Cellar/tool/1/bin/of-brew', 'echo of brew');
    link('.linuxbrew/bin/of-brew', '../Cellar/tool/1/bin/of-brew');
    make('.cargo/credentials.toml', 'token');
    const folders = [
      ...['.nvm/versions/node/v24/bin', '.local/state/fnm_multishells/1_2/bin', '.volta/bin', '.pyenv/shims'],
      ...['.asdf/shims', '.local/share/mise/shims', '.sdkman/candidates/java/current/bin', '.cargo/bin'],
      '.linuxbrew/bin',
    ];
    project.env['PATH'] = [...folders.map((folder) => join(home, folder)), project.env['PATH']].join(':');
    const tools = ['nvm', 'fnm', 'volta', 'pyenv', 'asdf', 'mise', 'sdkman', 'rustup', 'brew'];
    const script = [...tools.map((tool) => `of-${tool}`), 'ls ~/.cargo ~/.local'].join('; ');
    const { stdout } = await project.caisson('run', '--', 'sh', '-c', script);
    for (const tool of tools) expect(stdout).toContain(`of ${tool}\n`);
    expect(stdout).not.toContain('credentials');
  },
);

it(
  'shims of asdf and mise find the versions of the user, and no variable of theirs',
  { timeout: 60_000 },
  async () => {
    const project = createProject();
    const home = project.env['HOME'] ?? '';
    project.write('../home/.tool-versions', 'ruby 3.3.0\n');
    project.write('../home/.asdf/shims/of-asdf', '#!/bin/sh\ncat "$HOME/.tool-versions"\n');
    project.write('../home/.local/share/mise/shims/of-mise', '#!/bin/sh\ncat "$HOME"/.config/mise/*.toml\n');
    project.write(
      '../home/.config/mise/config.toml',
      '[env]\nTOKEN = "of-the-user"\n[tools]\nnode = "22"\n[tasks.x]\nrun = "of-the-user"\n[settings]\nidiomatic_version_file_enable_tools = ["node"]\ngithub.token = "of-the-user"\n',
    );
    for (const shim of ['.asdf/shims/of-asdf', '.local/share/mise/shims/of-mise'])
      chmodSync(join(home, shim), 0o755);
    const folders = ['.asdf/shims', '.local/share/mise/shims'].map((folder) => join(home, folder));
    const usual = project.env['PATH'] ?? '';
    project.env['PATH'] = [...folders, usual].join(':');
    const script = 'of-asdf; of-mise; echo "$MISE_TRUSTED_CONFIG_PATHS"';
    const { stdout, stderr } = await project.caisson('run', '--', 'sh', '-c', script);
    expect(stdout, stderr).toBe(
      `ruby 3.3.0\n[tools]\nnode = "22"\n\n[settings]\nidiomatic_version_file_enable_tools = [ "node" ]\n${project.root}\n`,
    );
    project.write('../home/.config/caisson/config.yaml', 'sandbox: { toolchains: [~/.config/mise] }\n');
    const shown = await project.caisson('run', '--', 'of-mise');
    expect(shown.stdout, shown.stderr).toContain('run = "of-the-user"');
    project.write(
      'caisson.yaml',
      'policy: { rules: [{ path: "~/.tool-versions", action: no-access, reason: private }] }\n',
    );
    const ruled = await project.caisson('run', '--', 'of-asdf');
    expect(ruled.code).not.toBe(0);
    expect(ruled.stderr).toMatch(/not brought, because a no-access rule is about it: \S+\.tool-versions/);
    for (const file of ['caisson.yaml', '../home/.config/caisson/config.yaml'])
      rmSync(join(project.root, file));
    const look = ['sh', '-c', 'ls -A ~; echo "trusted: $MISE_TRUSTED_CONFIG_PATHS"'];
    const open = ['--sandbox', 'none', '--network', 'full'];
    const unconfined = await project.caisson('run', ...open, '--', ...look);
    expect(unconfined.stdout, unconfined.stderr).toBe('trusted: \n');
    project.env['PATH'] = usual;
    const without = await project.caisson('run', '--', ...look);
    expect(without.stdout, without.stderr).toBe('trusted: \n');
  },
);

it(
  'without a network a name is unknown at once, and the ending names the option',
  { timeout: 60_000 },
  async () => {
    const project = createProject();
    const { code, stdout, stderr } = await project.caisson('run', '--', 'npm', 'view', 'left-pad');
    expect(code).not.toBe(0);
    expect(stdout + stderr).toContain(
      'hint: this run has no network. Allow what it needs: --network hosts=registry.npmjs.org:443',
    );
    const shown = await project.caisson('run', '--', 'sh', '-c', 'cat .env.local');
    expect(shown.stdout + shown.stderr).toContain(
      'hint: .env.local is not in the workspace. If git ignores it, name it: --bring .env.local',
    );
  },
);
