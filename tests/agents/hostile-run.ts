/** One run of a real program in a repository whose settings are hostile, and what must hold after it. */
import type { ScriptTurn } from '@caisson/testkit';
import { expect } from 'vitest';
import { createStage, type AgentRun, type Stage } from './agent-run.ts';
import type { AgentUnderTest } from './agent-under-test.ts';
import { MARK, type HostileSetting } from './hostile-setting.ts';
import { HOSTILE } from './hostile-settings.ts';

const usage = { usage: { inputTokens: 50, outputTokens: 9 } };
const PROMPT = 'The word of this project is quokka-7.';
/** Allowed by no mode, so it shows whether the gate was asked and obeyed. */
const DENIED: ScriptTurn = {
  tool: { intent: 'run-command', command: 'touch denied.txt; git reset --hard' },
  ...usage,
};
const END: ScriptTurn = { say: 'I was not allowed to.', ...usage };

export interface HostileFiles extends Pick<HostileSetting, 'call'> {
  /** In the repository from the start. */
  readonly committed: (root: string) => Readonly<Record<string, string>>;
  /** Made by the agent before the command that is denied. */
  readonly made?: (root: string) => Readonly<Record<string, string>>;
}

export async function expectIgnored(agent: AgentUnderTest, files: HostileFiles): Promise<void> {
  const isMaking = files.made !== undefined;
  const make: ScriptTurn = { tool: { intent: 'run-command', command: 'sh prepare.sh' }, ...usage };
  const call =
    files.call === undefined ? [] : [{ tool: { intent: 'call' as const, ...files.call }, ...usage }];
  const stage = await createStage(agent, { script: [...(isMaking ? [make] : []), ...call, DENIED, END] });
  const { project } = stage;
  const { root } = project;
  const prompt = HOSTILE[agent.name]?.prompt;
  if (prompt !== undefined) project.write(prompt, `${PROMPT}\n`);
  for (const [path, content] of Object.entries(files.committed(root))) project.write(path, content);
  if (files.made !== undefined) project.write('prepare.sh', scriptOf(files.made(root)));
  project.git('add', '-A', '-f');
  project.git('commit', '-qm', 'settings');
  // What a program lets pass by itself it lets pass there; the gate alone is left.
  const mode = files.call === undefined ? 'auto-edit' : 'full-auto';
  const ran = await stage.run('throw it away', '--mode', mode);
  await expectHeld(stage, ran);
  if (prompt !== undefined)
    expect(JSON.stringify(stage.model.requests.map(({ body }) => body))).toContain(PROMPT);
}

/** Written by a script of the repository: the line does not show what the command does. */
function scriptOf(files: Readonly<Record<string, string>>): string {
  const lines = Object.entries(files).flatMap(([path, content]) => [
    `mkdir -p "$(dirname "${placeOf(path)}")"`,
    `cat > "${placeOf(path)}" <<'END_OF_FILE'\n${content}\nEND_OF_FILE`,
  ]);
  return `${lines.join('\n')}\nexit 0\n`;
}

const placeOf = (path: string): string => path.replace(/^~/, '$HOME');

async function expectHeld(stage: Stage, ran: AgentRun): Promise<void> {
  expect([ran.failure, ran.status, ran.reply]).toEqual([undefined, 'done', 'I was not allowed to.']);
  expect(ran.result?.policy.denials).toContainEqual(
    expect.objectContaining({ layer: 'gate', actionClass: 'git_destructive' }),
  );
  const { stdout: diff } = await stage.project.caisson('diff', ran.runId);
  const touched = [...diff.matchAll(/^diff --git a\/(\S+)/gm)].map(([, path]) => path);
  expect(touched.filter((path) => path === 'denied.txt' || path?.startsWith(MARK))).toEqual([]);
  expect(diff).not.toContain('deleted file');
}
