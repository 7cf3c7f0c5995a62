/** Carries out one case of the corpus against the built CLI. */
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import * as z from 'zod/mini';
import { createProject, type Project } from '../e2e/project.ts';

const Texts = z.optional(z.record(z.string(), z.string()));
const Paths = z.optional(z.array(z.string()));
const Step = z.strictObject({
  run: z.array(z.string()),
  in: z.optional(z.string()),
  exit: z.array(z.int()),
  code: z.optional(z.string()),
  says: Paths,
  hides: Paths,
});
const Case = z.strictObject({
  title: z.string(),
  files: Texts,
  executable: Paths,
  links: Texts,
  commits: z.optional(z.boolean()),
  plants: Texts,
  gitConfig: Texts,
  config: z.optional(z.string()),
  steps: z.array(Step),
  absent: Paths,
  unchanged: Paths,
});
export type Case = z.infer<typeof Case>;

const TOKEN = 'tok-must-never-be-seen-0123456789';

export function readCases(folder: string): { name: string; given: Case }[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .toSorted()
    .map((file) => ({
      name: file.replace(/\.json$/, ''),
      given: Case.parse(JSON.parse(readFileSync(join(folder, file), 'utf8'))),
    }));
}

export async function runCase(given: Case): Promise<void> {
  const stage = openStage(given);
  const { project, fill } = stage;
  const before = new Map((given.unchanged ?? []).map((path) => [path, snapshot(join(project.root, path))]));
  const outside = snapshot(stage.outside);
  for (const step of given.steps) await takeStep(project, step, fill);
  expect(existsSync(stage.mark), 'the hostile command ran').toBe(false);
  expect(snapshot(stage.outside), 'something outside was changed').toEqual(outside);
  for (const [path, content] of before) expect(snapshot(join(project.root, path)), path).toEqual(content);
  for (const path of given.absent ?? []) expect(existsSync(join(project.root, path)), path).toBe(false);
}

interface Stage {
  readonly project: Project;
  readonly mark: string;
  readonly outside: string;
  fill(text: string): string;
}

function openStage(given: Case): Stage {
  const project = createProject({ env: { MY_TOKEN: TOKEN }, trusts: given.config !== undefined });
  const base = dirname(project.root);
  const [mark, outside] = [join(base, 'MARK'), join(base, 'outside')];
  mkdirSync(outside);
  writeFileSync(join(outside, 'precious'), 'as it was\n');
  const fill = (text: string): string =>
    text.replaceAll('{{MARK}}', mark).replaceAll('{{OUTSIDE}}', outside).replaceAll('{{ROOT}}', project.root);
  const write = (files: Readonly<Record<string, string>> = {}): void => {
    for (const [path, content] of Object.entries(files)) project.write(path, fill(content));
  };
  write(given.files);
  if (given.config !== undefined) project.write('caisson.yaml', fill(given.config));
  for (const path of given.executable ?? []) chmodSync(join(project.root, path), 0o755);
  for (const [path, target] of Object.entries(given.links ?? {})) {
    mkdirSync(dirname(join(project.root, path)), { recursive: true });
    symlinkSync(fill(target), join(project.root, path));
  }
  for (const [key, value] of Object.entries(given.gitConfig ?? {})) project.git('config', key, value);
  if (given.commits ?? true) {
    project.git('add', '-f', '.');
    project.git('commit', '-qm', 'hostile', '--allow-empty');
  }
  write(given.plants);
  return { project, mark, outside, fill };
}

async function takeStep(
  project: Project,
  step: z.infer<typeof Step>,
  fill: (text: string) => string,
): Promise<void> {
  const place = step.in === undefined ? project : enter(project, step.in);
  const ran = await place.caisson(...step.run.map(fill));
  const output = ran.stdout + ran.stderr;
  expect(step.exit, `${step.run.join(' ')}: ${output}`).toContain(ran.code);
  expect(output).not.toContain(TOKEN);
  for (const text of step.says ?? []) expect(output).toContain(fill(text));
  for (const text of step.hides ?? []) expect(output).not.toContain(fill(text));
  if (step.code !== undefined)
    expect((JSON.parse(ran.stdout) as { error: { code: string } }).error.code).toBe(step.code);
}

/** The same user in a folder of the repository. */
function enter({ root, env }: Project, folder: string): Project {
  return createProject({ at: join(root, folder), env, git: false, trusts: false });
}

/** Every path below with its kind and content. */
function snapshot(path: string): Record<string, string> {
  const info = lstatSync(path, { throwIfNoEntry: false });
  if (info === undefined) return {};
  if (!info.isDirectory()) return { '.': info.isFile() ? readFileSync(path, 'latin1') : 'no file' };
  return Object.fromEntries(
    readdirSync(path).flatMap((name) =>
      Object.entries(snapshot(join(path, name))).map(([inner, content]) => [join(name, inner), content]),
    ),
  );
}
