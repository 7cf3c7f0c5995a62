import { expect, it } from 'vitest';
import { isPassable, mergeEnv } from './merge-env.ts';

it.each([
  ...['LD_PRELOAD', 'NODE_OPTIONS', 'BASH_ENV', 'GIT_SSH_COMMAND', 'CAISSON_SAFETY'],
  ...['npm_config_script_shell', 'NPM_CONFIG_SCRIPT_SHELL', 'Npm_Config_node_options'],
  ...['GCONV_PATH', 'OPENSSL_CONF', 'LESSOPEN', 'ZDOTDIR', 'DOTNET_STARTUP_HOOKS', 'PS4'],
  ...['BASH_FUNC_ls%%', '1X', ''],
])('a variable that loads code or redirects programs does not pass: %s', (name) => {
  expect(isPassable(name)).toBe(false);
});

it.each(['API_TOKEN', 'PATH', 'CI', 'NPM_TOKEN', 'PYTHONPATH', 'LANG'])(
  'an ordinary one does: %s',
  (name) => {
    expect(isPassable(name)).toBe(true);
  },
);

it('takes bundles over the base, the run over bundles, secrets over all, and names what it kept out', () => {
  const env = {
    base: { A: '1', B: '1', C: '1', D: '1' },
    bundles: [{ name: 'b', values: { B: '2', C: '2', D: '2', LD_AUDIT: 'x' } }],
    run: { C: '3', D: '3' },
  };
  const secrets = [{ name: 'd', env: 'D', value: '4' }];
  const merged = mergeEnv({ env, secrets });
  expect(merged).toEqual({ env: { A: '1', B: '2', C: '3', D: '4' }, denied: ['LD_AUDIT'] });
});
