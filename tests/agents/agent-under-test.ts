/** The real programs, how `caisson.yaml` names them, and what each cannot report. */
import { installAgent, PINNED_ADAPTERS, PINNED_AGENTS, type PinnedAgent } from './install-agents.mjs';

export interface AgentUnderTest {
  readonly name: string;
  /** Version of the program that is run. */
  readonly version: string;
  readonly isPinned: boolean;
  /** Seconds that a run needs until its first tool call, on a slow machine. */
  readonly startSeconds: number;
  /** Whether a continued run goes on in the old session; otherwise it begins a new one with the answer. */
  readonly resumes: boolean;
  /** Whether it says of a command that it failed. */
  readonly reportsFailures: boolean;
  config(url: string): string;
}

interface Row {
  readonly program: string | null;
  readonly model: string;
  readonly startSeconds?: number;
  readonly settings?: string;
  readonly resumes?: false;
  readonly reportsFailures?: false;
}

const ROWS: Readonly<Record<string, Row>> = {
  'claude-code': { program: 'claude-code', model: 'claude-sonnet-4-5' },
  // Codex looks after a command for ten seconds and then goes on without it.
  codex: { program: 'codex', model: 'gpt-5', startSeconds: 8 },
  gemini: { program: 'gemini', model: 'gemini-2.5-pro' },
  opencode: { program: 'opencode', model: 'gpt-5', startSeconds: 45 },
  pi: { program: 'pi', model: 'claude-sonnet-4-5' },
  // Gemini is behind it, which finds no session of its own when it is asked over ACP.
  acp: { program: 'gemini', model: 'gemini-2.5-pro', resumes: false, reportsFailures: false },
  'opencode-acp': {
    program: 'opencode',
    model: 'gpt-5',
    startSeconds: 45,
    settings: '{ protocol: acp }',
  },
  'claude-acp': {
    program: 'claude-agent-acp',
    model: 'claude-sonnet-4-5',
    startSeconds: 20,
    settings: '{ protocol: acp }',
  },
  native: { program: null, model: 'claude-sonnet-4-5' },
};

export const AGENT_NAMES = Object.keys(ROWS);

/** Skipping is explicit and printed; without it a missing program is installed. */
export const isSkipped = process.env['CAISSON_SKIP_AGENTS'] === '1';

/**
 * Other versions than the pinned ones: `CAISSON_AGENT_VERSIONS="codex=0.150.0 pi=@mariozechner/pi-coding-agent@0.73.1"`.
 * Their columns go into the second table of the page.
 */
const OTHER_VERSIONS = new Map(
  (process.env['CAISSON_AGENT_VERSIONS'] ?? '')
    .split(' ')
    .filter((entry) => entry.includes('='))
    .map((entry) => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)]),
);

/** The program that is put to the test: the pinned version unless another one is asked for. */
function findWanted(program: string | null): PinnedAgent | undefined {
  const pinned = [...PINNED_AGENTS, ...PINNED_ADAPTERS].find(({ name }) => name === program);
  const other = pinned === undefined ? undefined : OTHER_VERSIONS.get(pinned.name);
  if (pinned === undefined || other === undefined) return pinned;
  const at = other.lastIndexOf('@');
  return {
    ...pinned,
    version: other.slice(at + 1),
    ...(at > 0 ? { npmPackage: other.slice(0, at) } : {}),
  };
}

/** Finds the program, and installs it when it is not in the cache. */
export async function prepareAgent(name: string): Promise<AgentUnderTest> {
  const row = ROWS[name];
  if (row === undefined) throw new Error(`no agent named "${name}"`);
  const wanted = findWanted(row.program);
  const bin = wanted === undefined ? null : await installAgent(wanted, say);
  const fields = (url: string) => [
    ...(bin === null ? [] : [`bin: "${bin}"`]),
    `endpoint: "${url}"`,
    'apiKey: "env:MODEL_KEY"',
    `model: "${row.model}"`,
    ...(row.settings === undefined ? [] : [`settings: ${row.settings}`]),
  ];
  return {
    name,
    version: wanted?.version ?? 'bundled',
    isPinned: wanted === undefined || !OTHER_VERSIONS.has(wanted.name),
    startSeconds: row.startSeconds ?? 12,
    resumes: row.resumes ?? true,
    reportsFailures: row.reportsFailures ?? true,
    config: (url) => `runtimes:\n  ${name}: { ${fields(url).join(', ')} }\n`,
  };
}

const say = (text: string): void => {
  if (!text.includes('already')) process.stderr.write(`${text}\n`);
};
