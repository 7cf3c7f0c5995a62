/** Database clients: judges the SQL or command they get. */
import { hit } from '../finding.ts';
import type { Call, Handler } from '../inspector.ts';
import { isMadeAgain } from '../made-again.ts';
import { forkScope } from '../shell-scope.ts';
import { isUnknown } from '../unknown-text.ts';
import { hitOfWrites } from '../write-hit.ts';
import { findDestructiveVerb, namesLoss } from './destructive-verbs.ts';
import { GRANTING_SQL } from './grants.ts';
import { judgeCode } from './inline-code.ts';

const drops = hit('bash_destructive', 'database-drop');
const runs = hit('bash_exec', 'database');

export const SQL_CLIENTS: readonly string[] =
  'psql mysql mariadb sqlite3 sqlite sqlplus sqlcmd cqlsh clickhouse-client clickhouse snowsql bq duckdb cockroach usql pgcli mycli trino presto hive beeline impala-shell influx turso libsql'.split(
    ' ',
  );
const DOCUMENT_CLIENTS = 'mongo mongosh redis-cli valkey-cli keydb-cli'.split(' ');
const ALWAYS = 'dropdb dropuser dropjdb mysqladmin-drop memcflush memrm'.split(' ');

export const DATABASE_PROGRAMS = [
  ...SQL_CLIENTS,
  ...DOCUMENT_CLIENTS,
  ...ALWAYS,
  'mysqladmin',
  'etcdctl',
  'consul',
  'pg_restore',
];

const DESTRUCTIVE_SQL =
  /\bdrop\s+(table|database|schema|view|materialized|index|user|role|column|keyspace|collection|owned|type|function|trigger|sequence|extension|policy|tablespace|procedure|event|constraint|publication|subscription|server|domain|aggregate|stream|stage|warehouse|dictionary|if\s+exists)\b|\bpg_terminate_backend\b|\breset\s+master\b|\bpurge\s+binary\b|\blo_unlink\b|\balter\s+system\b|\btruncate\b\s*(table\s+)?[\w"'`]|\bdelete\s+from\s+[\w."`]+\s*(;|$|"|')|\balter\s+table\b[^;]*\bdrop\b|\bupdate\s+[\w."`]+\s+set\b(?![^;]*\bwhere\b)|\bdelete\s+from\b(?![^;]*\bwhere\b)|\bwhere\s+(1\s*=\s*1|true)\b|\\!\s*\S+/i;

/** A comment ends with its line; without a line end the text counts as code. */
function withoutComments(sql: string): string {
  const lines = sql.split('\n');
  return lines.map((line, index) => (index < lines.length - 1 ? line.replace(/--.*$/, '') : line)).join('\n');
}

/** Whether SQL text removes or empties something. */
export function isDestructiveSql(sql: string): boolean {
  const code = withoutComments(sql).replace(/\/\*[^*]{0,2000}\*\//g, ' ');
  // A text in quotes is data, unless the statement builds another statement from it.
  const buildsSql = /\bexecute\b|\|\||\bconcat\b|\bformat\s*\(/i.test(code);
  const bare = buildsSql ? code : code.replace(/'(?:[^']|'')*'/g, "''");
  return DESTRUCTIVE_SQL.test(bare) || GRANTING_SQL.test(bare);
}

export const judgeDatabase: Handler = (call) => {
  const { name, args } = call;
  const words = args.join(' ');
  if (args.includes('--help') || (args.length === 1 && /^(--version|-V|-\?)$/.test(args[0] ?? '')))
    return hit('file_read', 'read-only-program');
  if (ALWAYS.includes(name)) return drops;
  if (name === 'mysqladmin') return /\b(drop|shutdown|flush-all)\b/.test(words) ? drops : runs;
  if (name === 'etcdctl') return /\b(del|rm|rmdir)\b/.test(words) ? drops : runs;
  if (name === 'influx' && args[0] === 'delete') return drops;
  if (name === 'consul') return /\b(delete|leave|force-leave)\b/.test(words) ? drops : runs;
  if (name === 'pg_restore') return /--clean\b|(^|\s)-c(\s|$)/.test(words) ? drops : runs;
  if (DOCUMENT_CLIENTS.includes(name)) return judgeDocuments(call);
  if (name === 'bq' && /^(rm|remove)$/.test(args.find((arg) => !arg.startsWith('-')) ?? '')) return drops;
  runShellEscapes(call, words);
  const written = [
    ...`${words}\n${call.stdin ?? ''}`.matchAll(
      /(?:^|[\s"'])[.\\](?:output|once|backup|save|clone|log|o|excel|dump)\s+([^\s"']+)/g,
    ),
  ].map((match) => match[1] ?? '');
  const grave = hitOfWrites(written, call.scope);
  if (grave.actionClass !== 'file_write') return grave;
  if (findDestructiveVerb(name, args) !== null || args.some(namesLoss)) return drops;
  if (isThrownAway(call)) return runs;
  const texts = [words, call.stdin ?? '', ...args.flatMap((arg) => call.inspector.files.get(arg) ?? [])];
  return texts.some(isDestructiveSql) ? drops : runs;
};

/** `\! cmd` in psql, `.shell cmd` in sqlite3. */
function runShellEscapes(call: Call, words: string): void {
  for (const match of `${words}\n${call.stdin ?? ''}`.matchAll(/\b(?:to|from)\s+program\s+'([^']+)'/gi))
    call.inspector.runScript(match[1] ?? '', forkScope(call.scope), call.cause);
  for (const match of `${words}\n${call.stdin ?? ''}`.matchAll(/(?:\\!|\.shell|\.system)\s+([^\n"']+)/g)) {
    call.inspector.runScript(match[1] ?? '', forkScope(call.scope), call.cause);
  }
}

function judgeDocuments(call: Call): ReturnType<Handler> {
  const text = `${call.args.join(' ')} ${call.stdin ?? ''}`;
  const destroys =
    /\b(flushall|flushdb|shutdown|swapdb|script flush|cluster reset|debug segfault)\b|\bdropDatabase\b|\.drop\(|\bdeleteMany\(\s*(\{\s*\})?\s*\)|\.remove\(\s*(\{\s*\})?\s*\)|\bdropUser\b|\bgrantRolesToUser\b|\bcreateUser\([^)]*\b(?:root|userAdminAnyDatabase|dbOwner)\b|\bacl setuser\b.*(?:\+@all|nopass)|\bconfig set\b/i.test(
      text,
    ) ||
    /\bxargs\b/.test(text) ||
    call.args.some(
      (arg) => /^(del|unlink)$/i.test(arg) && call.args.some((key) => key.includes('*') || isUnknown(key)),
    );
  if (/^mongo/.test(call.name)) judgeCode(text, call);
  return destroys ? drops : runs;
}

/** A database in memory, or in a temporary file: what is dropped there was made for a test. */
function isThrownAway({ name, args, stdin, scope }: Call): boolean {
  if (!/^(sqlite3?|duckdb|libsql)$/.test(name) || /\battach\b/i.test(`${args.join(' ')} ${stdin ?? ''}`))
    return false;
  const file = args.find((arg) => !arg.startsWith('-')) ?? '';
  return file === ':memory:' || (!/\s/.test(file) && file.startsWith('/') && isMadeAgain(file, scope));
}
