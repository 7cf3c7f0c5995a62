import { parseDuration, Scope, type NewToken, type TokenView } from '@caisson/protocol';
import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { formatTable } from '../format-table.ts';
import { UsageError } from '../usage-error.ts';
import { withCaissonToRead, withCaissonToSteer, withCaissonToWrite } from '../with-caisson.ts';

const DEFAULT_EXPIRY = '30d';

export const createTokenCommand = defineCommand({
  usage: '[NAME] --scope SCOPE[,SCOPE] [--expires DURATION|never]',
  about:
    'Makes a token for a program that asks the daemon over HTTP, and prints it once: only its digest is kept. The scope read\n' +
    'shows everything; run starts, steers and cancels runs in the sandbox; decide approves, answers and applies; admin may do all,\n' +
    'also leave the sandbox, forget and export. run and decide may read, too. What a token did is recorded under its name, which\n' +
    'is its scopes where you give none.',
  options: {
    scope: { type: 'string', value: 'SCOPES', summary: 'read, run, decide or admin; several with commas' },
    expires: {
      type: 'string',
      value: 'DURATION',
      summary: `how long it can be used, or never; default ${DEFAULT_EXPIRY}`,
    },
  },
  positionals: { min: 0, max: 1 },
  examples: [
    { line: 'caisson tokens create ci --scope read', says: 'A token that only reads, for 30 days.' },
    { line: 'caisson tokens create --scope read --expires 8h', says: 'For a working day, without a name.' },
    {
      line: 'caisson tokens create bot --scope run,decide --expires 8h',
      says: 'One that may start runs and decide, for a working day.',
    },
  ],
  async run({ options, positionals, output }) {
    const scopes = readScopes(options.scope);
    const order = {
      name: positionals[0] ?? scopes.join(','),
      scopes,
      expiresInMs: readExpiry(options.expires ?? DEFAULT_EXPIRY),
    };
    const made = await withCaissonToWrite(options['state-dir'], output, ({ tokens }) => tokens.create(order));
    output.result(made, () => describeMade(made));
    return EXIT_CODES.finished;
  },
});

export const listTokensCommand = defineCommand({
  usage: '',
  about:
    'The tokens that can be used now, and the sessions of pages that are signed in. The tokens themselves are kept nowhere.',
  options: {},
  examples: [{ line: 'caisson tokens list', says: 'Who can reach this project over HTTP?' }],
  async run({ options, output }) {
    const found = await withCaissonToRead(options['state-dir'], output, ({ tokens }) => tokens.list());
    output.result(found, () =>
      found.length === 0
        ? ['No token. To make one: caisson tokens create --scope read']
        : formatTable([['ID', 'NAME', 'KIND', 'SCOPES', 'EXPIRES'], ...found.map(toRow)]),
    );
    return EXIT_CODES.finished;
  },
});

export const revokeTokenCommand = defineCommand({
  usage: 'ID|NAME',
  about: 'The token, or the page, can do nothing from then on. A name counts where only one has it.',
  options: {},
  positionals: { min: 1, max: 1 },
  examples: [{ line: 'caisson tokens revoke 1f0a33c2b4d5e6f7', says: 'As caisson tokens list names it.' }],
  async run({ options, positionals, output }) {
    const given = positionals[0] ?? '';
    const { id, isRevoked } = await withCaissonToSteer(options['state-dir'], output, async ({ tokens }) => {
      const found = findToken(await tokens.list(), given);
      return { id: found, isRevoked: await tokens.revoke(found) };
    });
    if (!isRevoked)
      throw new UsageError(`there is no token ${given}`, { remedy: 'caisson tokens list shows them.' });
    output.result({ id, isRevoked }, () => [`Revoked ${id}.`]);
    return EXIT_CODES.finished;
  },
});

/** An id comes first: another token may have it as its name. */
function findToken(all: readonly TokenView[], given: string): string {
  if (all.some(({ id }) => id === given)) return given;
  const named = all.filter(({ name }) => name === given);
  if (named.length > 1)
    throw new UsageError(`${named.length} tokens have the name ${given}`, {
      remedy: `Say which: ${named.map(({ id }) => id).join(', ')}.`,
    });
  return named[0]?.id ?? given;
}

function toRow({ id, name, kind, scopes, expiresAt }: TokenView): string[] {
  return [id, name, kind, scopes.join(','), expiresAt ?? 'never'];
}

function describeMade({ token, scopes, expiresAt }: NewToken): string[] {
  return [
    token,
    `It is shown only now. Scopes: ${scopes.join(', ')}; expires: ${expiresAt ?? 'never'}.`,
    'Send it as a header: Authorization: Bearer TOKEN. caisson ui --no-open says where to.',
  ];
}

function readScopes(text: string | undefined): Scope[] {
  const remedy = `Use some of: ${Scope.options.join(', ')}.`;
  if (text === undefined) throw new UsageError('--scope is missing', { remedy });
  return text.split(',').map((word) => {
    const scope = Scope.safeParse(word.trim());
    if (scope.success) return scope.data;
    throw new UsageError(`there is no scope ${word}`, { remedy });
  });
}

function readExpiry(text: string): number | null {
  if (text === 'never') return null;
  return parseDuration(text);
}
