/** Turns what a client asks for into a request within the bounds (M2). */
import {
  AgentDefinition,
  definedOnly,
  MODES,
  type DispatchRequest,
  type Mode,
  type SandboxKind,
} from '@caisson/protocol';
import type { Caisson } from '../../caisson-contract.ts';
import type { McpBounds } from './contract.ts';
import { GrantExceededError } from './errors.ts';

/** The part of a request that has bounds. */
export interface AskedGrant {
  readonly agent?: string | undefined;
  readonly mode?: Mode | undefined;
  readonly budgetUsd?: number | undefined;
  readonly timeoutMs?: number | undefined;
  readonly session?: string | undefined;
  readonly sandbox?: SandboxKind | undefined;
  /** Only these; absent leaves what the project grants. */
  readonly hosts?: readonly string[] | undefined;
}

type Granted = Pick<
  DispatchRequest,
  'mode' | 'budget' | 'timeoutMs' | 'session' | 'sandbox' | 'network' | 'within'
>;

interface AgentBounds {
  readonly mode?: Mode | undefined;
  readonly usd?: number | undefined;
  readonly timeoutMs?: number | undefined;
  readonly hosts?: readonly string[] | undefined;
}

/** `leftUsd`: what is left of the server's money. Throws GrantExceededError. */
export async function grantRequest(
  { registry, config }: Pick<Caisson, 'registry' | 'config'>,
  bounds: McpBounds,
  asked: AskedGrant,
  leftUsd: number | null,
): Promise<Granted> {
  const agent = asked.agent === undefined ? {} : await findAgentBounds(registry, asked.agent);
  const usd = withinNumber('budgetUsd', 'USD', asked.budgetUsd, [
    [bounds.runUsd, 'caisson mcp --budget'],
    [leftUsd, 'caisson mcp --max-usd, minus what its runs have spent and may still spend'],
    [agent.usd ?? config.budget.perRunUsd, agent.usd === undefined ? 'budget.perRunUsd' : 'the agent'],
  ]);
  const longestMs = agent.timeoutMs ?? config.limits.timeoutMs;
  withinNumber('timeoutSeconds', 's', asked.timeoutMs && asked.timeoutMs / 1000, [
    [longestMs / 1000, agent.timeoutMs === undefined ? 'limits.timeout' : 'the agent'],
  ]);
  if (asked.sandbox === 'none')
    throw new GrantExceededError('a run without a sandbox is never started over MCP', {
      remedy: 'Leave sandbox out. A person can start such a run: caisson run --sandbox none',
    });
  return {
    sandbox: 'bwrap', // M6
    within: 'project', // M2: what an agent or a runtime brings, too; M6: a copy
    mode: withinMode(asked.mode, bounds.mode, agent.mode, config),
    ...definedOnly({
      budget: usd === null ? undefined : { usd },
      timeoutMs: asked.timeoutMs,
      session: withinSession(asked.session, bounds.session),
      network: asked.hosts && withinHosts(asked.hosts, agent.hosts ?? config.network.hosts),
    }),
  };
}

async function findAgentBounds(registry: Caisson['registry'], name: string): Promise<AgentBounds> {
  const { definition } = await registry.get('agents', name);
  const { mode, timeout, grant } = AgentDefinition.parse(definition);
  return { mode, usd: grant?.budget?.usd, timeoutMs: timeout, hosts: grant?.hosts };
}

/** The project's ceiling is admission's to refuse; it is looked at here so that what is left out stays below it. */
function withinMode(
  asked: Mode | undefined,
  bound: Mode,
  ofAgent: Mode | undefined,
  { mode: ofProject, policy }: Caisson['config'],
): Mode {
  const limits: (readonly [Mode, string])[] = [
    [bound, 'caisson mcp --mode'],
    [policy.ceiling, 'policy.ceiling'],
    ...(ofAgent === undefined ? [] : ([[ofAgent, 'the agent']] as const)),
  ];
  const [lowest, by] = limits.reduce((low, next) => (rank(next[0]) < rank(low[0]) ? next : low));
  if (asked !== undefined && rank(asked) > rank(lowest))
    throw new GrantExceededError(`mode ${asked} is above ${lowest}, the limit of ${by}`, {
      remedy: `Ask for ${lowest} or less, or let a person start the run.`,
    });
  const wanted = asked ?? ofAgent ?? ofProject;
  return rank(wanted) < rank(lowest) ? wanted : lowest;
}

export function rank(mode: Mode): number {
  return MODES.indexOf(mode);
}

function withinHosts(
  asked: readonly string[],
  granted: readonly string[],
): NonNullable<DispatchRequest['network']> {
  if (asked.length === 0) return { kind: 'none' };
  const names = asked.map((host) => host.toLowerCase());
  const more = listMore(names, granted);
  if (more.length > 0)
    throw new GrantExceededError(
      `hosts ${more.join(', ')} are not among those of network.hosts or of the agent`,
      {
        remedy: `Leave hosts out, or name some of: ${granted.join(', ') || 'none'}.`,
      },
    );
  return { kind: 'hosts', hosts: names };
}

function listMore(hosts: readonly string[], granted: readonly string[]): readonly string[] {
  return granted.includes('*') ? [] : hosts.filter((host) => !granted.includes(host));
}

/** Those that are beyond what a run of this agent, or of none, gets from the project. */
export async function listHostsBeyond(
  { registry, config }: Pick<Caisson, 'registry' | 'config'>,
  agent: string | undefined,
  hosts: readonly string[],
): Promise<readonly string[]> {
  const own = agent === undefined ? {} : await findAgentBounds(registry, agent);
  return listMore(hosts, own.hosts ?? config.network.hosts);
}

type NumberLimit = readonly [value: number | null, by: string];

function withinNumber(
  name: string,
  unit: string,
  asked: number | undefined,
  limits: readonly NumberLimit[],
): number | null {
  const [lowest, by] = limits.reduce<NumberLimit>(
    (low, next) => (next[0] !== null && (low[0] === null || next[0] < low[0]) ? next : low),
    [null, ''],
  );
  if (asked !== undefined && lowest !== null && asked > lowest)
    throw new GrantExceededError(`${name} ${asked} is above ${lowest} ${unit}, the limit of ${by}`, {
      remedy: `Ask for ${lowest} ${unit} or less, or let a person start the run.`,
    });
  return asked ?? lowest;
}

/** The session of a call: that of the server if it has one. */
export function withinSession(asked: string | undefined, bound: string | null): string | undefined {
  if (bound === null || asked === undefined || asked === bound) return bound ?? asked;
  throw new GrantExceededError(`session "${asked}" is not "${bound}", the limit of caisson mcp --session`, {
    remedy: 'Leave session out.',
  });
}
