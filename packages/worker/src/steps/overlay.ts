import { chmodSync, constants, copyFileSync, lstatSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { markOverlay, markPrepared } from '@caisson/ground';
import { shellQuote, type Job } from '@caisson/protocol';
import { type AttemptContext, fail } from '../attempt/index.ts';
import { copyCapabilities, type SetupScript } from '../overlay/index.ts';
import { loadHides } from './load-hides.ts';
import { hashFile } from './rehash-inputs.ts';

/** One command that runs before the agent. */
export interface SetupCommand {
  /** For people: the command, or the name of the script. */
  readonly title: string;
  readonly command: string;
}

const SETUP_FOLDER = 'setup';

/**
 * Step 6. Inputs are placed at `inputs/<key>`; capabilities are copied over the workspace in the given order. Returns
 * what step 9 runs: the project's own setup, then each capability's, in order. A capability may rely on a project that
 * is set up; the project knows nothing of capabilities.
 */
export async function overlayCapabilities(job: Job): Promise<SetupCommand[]> {
  const scripts = await copyEverything(job);
  return [
    ...job.setup.map((command) => ({ title: command, command })),
    ...scripts.map(({ capability, path }, index) => ({
      title: `capability ${capability}: .caisson/setup.sh`,
      command: placeScript(job, path, index),
    })),
  ];
}

async function copyEverything(job: Job): Promise<SetupScript[]> {
  const isTemporary = job.workspace.kind === 'in-place' && job.overlay.length + job.inputs.length > 0;
  try {
    await placeInputs(job); // first: an input may be a file that a capability replaces
    return copyCapabilities(
      job.workspace.path,
      job.overlay,
      job.inputs.map(({ key }) => `inputs/${key}`),
    );
  } finally {
    if (isTemporary) await markOverlay(await captureOptions(job)); // the folder is the user's own: its old content is restored
  }
}

/** What is in the workspace now is not the agent's work; the setup scripts are done. */
export async function concludePreparation(
  { job }: AttemptContext,
  setup: readonly SetupCommand[],
): Promise<void> {
  rmSync(join(job.paths.mailbox, SETUP_FOLDER), { recursive: true, force: true });
  if (job.overlay.length + job.inputs.length + setup.length === 0) return;
  await markPrepared(await captureOptions(job));
}

async function captureOptions(job: Job): Promise<Parameters<typeof markPrepared>[0]> {
  const { path, gitDir, baselineTree, exclude } = job.workspace;
  return { workspace: path, gitDir, baselineTree, exclude, hides: await loadHides(job) };
}

async function placeInputs(job: Job): Promise<void> {
  if (job.inputs.length === 0) return;
  const folder = join(job.workspace.path, 'inputs');
  const there = lstatSync(folder, { throwIfNoEntry: false });
  if (there !== undefined && !there.isDirectory())
    throw fail('integrity-failed', 'inputs/ is not a folder in this workspace, so inputs cannot be placed');
  mkdirSync(folder, { recursive: true });
  for (const input of job.inputs) {
    const target = join(folder, input.key);
    rmSync(target, { force: true }); // a link there is replaced, never followed
    copyFileSync(input.path, target, constants.COPYFILE_EXCL);
    if ((await hashFile(target)) !== input.sha256)
      throw fail('integrity-failed', `input "${input.key}" changed after it was admitted`);
  }
}

/** Scripts run from the mailbox: it is visible inside and never part of the patch. */
function placeScript(job: Job, source: string, index: number): string {
  const folder = join(job.paths.mailbox, SETUP_FOLDER);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const name = `${index}.sh`;
  copyFileSync(source, join(folder, name));
  chmodSync(join(folder, name), 0o700);
  const mailbox = job.grant.sandbox === 'none' ? job.paths.mailbox : `${job.workspace.mountPath}/.caisson`;
  const inside = shellQuote(`${mailbox}/${SETUP_FOLDER}/${name}`);
  const hasInterpreter = readFileSync(source).subarray(0, 2).toString('latin1') === '#!';
  return hasInterpreter ? inside : `/bin/sh ${inside}`;
}
