/** What each scope may do (F4). `run` and `decide` may read, too; `admin` may do everything. */
import type { Scope } from '@caisson/protocol';
import { PLAIN_MEMBERS, type OperationName } from '../api/index.ts';

type Scoped = Readonly<Record<OperationName, Scope>>;

const READ = [
  ...[
    'runs',
    'find',
    'show',
    'ended',
    'events',
    'lastOffset',
    'follow',
    'followAll',
    'log',
    'followLog',
    'patch',
  ],
  ...[
    'questions',
    'approvals',
    'approval',
    'budget',
    'spend',
    'usage',
    'verify',
    'branches',
    'doctor',
    'exported',
  ],
  ...['registryList', 'registryGet', 'senses', 'workflows', 'threads', 'thread', 'residents', 'residentLog'],
  ...['schedules', 'sessions', 'board', 'findings', 'outputs', 'output'],
];
const RUN = [
  ...['dispatch', 'continuation', 'cancel', 'send', 'runtimes', 'triggerSense', 'startThread'],
  ...['cancelThread', 'resumeThread', 'writeBoard', 'reportFinding'],
];
const DECIDE = ['answer', 'decide', 'apply'];

const SCOPES: Partial<Scoped> = Object.fromEntries([
  ...READ.map((name) => [name, 'read']),
  ...RUN.map((name) => [name, 'run']),
  ...DECIDE.map((name) => [name, 'decide']),
]) as Partial<Scoped>;

/** The scope that a call needs. What is not listed needs `admin`. */
export function scopeOfCall(operation: OperationName, input: Readonly<Record<string, unknown>>): Scope {
  const scope = SCOPES[operation] ?? 'admin';
  if (operation === 'dispatch') return isPlain(input['request']) ? scope : 'admin';
  if (operation === 'continuation') return isPlain(input['changes'] ?? {}) ? scope : 'admin';
  if (operation === 'answer') return input['given'] === undefined ? scope : 'admin';
  return operation === 'apply' && OVERRIDES.some((name) => input[name] === true) ? 'admin' : scope;
}

/** Each of them brings in what an apply otherwise refuses. */
const OVERRIDES = ['force', 'allowRisky', 'allowOutsideScope', 'evenIfCheckFailed', 'here'];

function isPlain(request: unknown): boolean {
  return Object.keys(request as object).every((name) => PLAIN_MEMBERS.has(name));
}

/** Of the routes about the daemon itself. */
export function scopeOfPath(path: string): Scope {
  return path === '/v1/status' || path === '/v1/metrics' ? 'read' : 'admin';
}

export function allows(scopes: readonly Scope[], needed: Scope): boolean {
  return scopes.includes('admin') || scopes.includes(needed) || (needed === 'read' && scopes.length > 0);
}
