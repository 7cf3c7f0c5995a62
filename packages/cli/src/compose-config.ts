/**
 * The `caisson.yaml` that helps in a project: only lines that change something, each with its reason. Null where none
 * does. What the project's files say never gets into it: only words of ours, and the name of a runtime, quoted.
 */
import type { ProjectInspection } from '@caisson/engine';

export function composeConfig(found: ProjectInspection, asked: string | undefined): string | null {
  const parts = [composeRuntime(found, asked), composeRules(found)].filter((part) => part !== null);
  if (parts.length === 0) return null;
  return `${[HEAD, ...parts, composeAgent(found)].filter((part) => part !== null).join('\n')}`;
}

/** The runtime that a run uses when none is named; null where it must not be written down. */
export function chooseUsual(found: ProjectInspection, asked: string | undefined): string | null {
  if (asked !== undefined) return asked;
  if (found.usual.refusal?.check !== 'runtime-chosen') return null;
  const [first] = [...found.agents].sort((one, other) => rank(one) - rank(other));
  return first?.agent.runtime ?? null;
}

const rank = ({ agent }: ProjectInspection['agents'][number]): number => (agent.refusal === null ? 0 : 1);

const HEAD = `# Caisson: how coding agents run in this project. Every key is optional.
# caisson config shows what holds and why.
`;

function composeRuntime(found: ProjectInspection, asked: string | undefined): string | null {
  const runtime = chooseUsual(found, asked);
  if (runtime === null) return null;
  const why =
    asked === undefined
      ? 'Several agents are installed, and a run must know which one to start.'
      : 'The agent that a run starts.';
  return `# ${why} --runtime NAME starts another one.
runtime: ${JSON.stringify(runtime)}
`;
}

/** In git, a run sees what is committed; elsewhere it works in the folder itself. */
function composeRules({ repository: { isGit, hasEnvFile } }: ProjectInspection): string | null {
  if (isGit || !hasEnvFile) return null;
  return `# This folder is not in git, so runs work in it directly, and would see its .env.
policy:
  rules:
    - { path: ".env", action: no-access, reason: "Keys are not for agents." }
`;
}

/** As a comment: it takes effect only after `caisson trust`. */
function composeAgent({ repository: { tests } }: ProjectInspection): string | null {
  if (tests === null) return null;
  return `# An agent that always runs your tests: caisson run --agent fix "…", after caisson trust.
# agents:
#   fix:
#     verify: { command: ${JSON.stringify(tests)}, timeout: 10m }
`;
}
