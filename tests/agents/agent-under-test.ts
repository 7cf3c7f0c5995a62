/** The real programs, how `caisson.yaml` names them, and what each cannot tell. */
import { findAgentBin, installAgent, PINNED_ADAPTERS, PINNED_AGENTS } from './install-agents.mjs';

export interface AgentUnderTest {
  readonly name: string;
  /** Version of the program that is run. */
  readonly version: string;
  /** Seconds that a run needs until its first tool call, on a slow machine. */
  readonly startSeconds: number;
  /** Whether a continued run goes on in the old session; otherwise it begins a new one with the answer. */
  readonly resumes: boolean;
  /** `sum`: it adds what the cache served to the input, so only sums are compared. */
  readonly usage: 'exact' | 'sum' | 'last-answer';
  config(url: string): string;
}

interface Row {
  readonly program: string | null;
  readonly model: string;
  readonly startSeconds?: number;
  readonly usage?: 'sum' | 'last-answer';
  readonly settings?: string;
  readonly resumes?: false;
}

const ROWS: Readonly<Record<string, Row>> = {
  'claude-code': { program: 'claude-code', model: 'claude-sonnet-4-5' },
  // Codex looks after a command for ten seconds and then goes on without it.
  codex: { program: 'codex', model: 'gpt-5', startSeconds: 8 },
  gemini: { program: 'gemini', model: 'gemini-2.5-pro' },
  opencode: { program: 'opencode', model: 'gpt-5', startSeconds: 45 },
  pi: { program: 'pi', model: 'claude-sonnet-4-5' },
  // Gemini is behind it, which finds no session of its own when it is asked over ACP.
  acp: { program: 'gemini', model: 'gemini-2.5-pro', usage: 'sum', resumes: false },
  'opencode-acp': {
    program: 'opencode',
    model: 'gpt-5',
    startSeconds: 45,
    usage: 'last-answer',
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

/** Finds the pinned program, and installs it when it is not in the cache. */
export async function prepareAgent(name: string): Promise<AgentUnderTest> {
  const row = ROWS[name];
  if (row === undefined) throw new Error(`no agent named "${name}"`);
  const pinned = [...PINNED_AGENTS, ...PINNED_ADAPTERS].find(({ name: own }) => own === row.program);
  const bin = pinned === undefined ? null : (findAgentBin(pinned.name) ?? (await installAgent(pinned, say)));
  const fields = (url: string) => [
    ...(bin === null ? [] : [`bin: "${bin}"`]),
    `endpoint: "${url}"`,
    'apiKey: "env:MODEL_KEY"',
    `model: "${row.model}"`,
    ...(row.settings === undefined ? [] : [`settings: ${row.settings}`]),
  ];
  return {
    name,
    version: pinned?.version ?? 'bundled',
    startSeconds: row.startSeconds ?? 12,
    usage: row.usage ?? 'exact',
    resumes: row.resumes ?? true,
    config: (url) => `runtimes:\n  ${name}: { ${fields(url).join(', ')} }\n`,
  };
}

const say = (text: string): void => void process.stderr.write(`${text}\n`);
