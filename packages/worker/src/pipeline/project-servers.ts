/**
 * The MCP servers that a repository names in its settings for one program (`runtimes.X.projectServers: true`). The
 * settings themselves stay hidden; only a server's command, arguments and variables are copied into our own settings.
 * So a server can neither make itself trusted nor replace ours.
 */
import { lstatSync, readFileSync, realpathSync } from 'node:fs';
import { join, relative } from 'node:path';
import { RUNTIME_DESCRIPTORS, type Job } from '@caisson/protocol';
import * as z from 'zod/mini';
import type { NamedServer } from '../runtimes/index.ts';

const MAX_FILE_BYTES = 1024 * 1024;
const MAX_SERVERS = 32;
/** Programs build the names of tools from it; ours must not be among them. */
const NAME = /^(?!caisson)[a-z0-9][a-z0-9_-]{0,63}$/i;

const Variables = z.record(z.string(), z.string());
const Stdio = z.object({
  command: z.string(),
  args: z.optional(z.array(z.string())),
  env: z.optional(Variables),
});
const Local = z.object({
  type: z.literal('local'),
  command: z.array(z.string()).check(z.minLength(1)),
  environment: z.optional(Variables),
  enabled: z.optional(z.boolean()),
});

type ServerReader = (value: unknown) => Omit<NamedServer, 'name'> | null;

const stdio: ServerReader = (value) => {
  const { data } = Stdio.safeParse(value);
  return data === undefined ? null : { command: data.command, args: data.args ?? [], env: data.env ?? {} };
};
const local: ServerReader = (value) => {
  const { data } = Local.safeParse(value);
  if (data === undefined || data.enabled === false) return null;
  const [command = '', ...args] = data.command;
  return { command, args, env: data.environment ?? {} };
};

const READERS = { stdio, local };

export interface ProjectServers {
  readonly servers: readonly NamedServer[];
  /** Requested servers that are not started, in words. */
  readonly problems: readonly string[];
}

export async function findProjectServers(
  program: string,
  { path, cwd, mountPath }: Pick<Job['workspace'], 'path' | 'cwd' | 'mountPath'>,
): Promise<ProjectServers> {
  const source = RUNTIME_DESCRIPTORS[program]?.repository?.servers;
  if (source === undefined)
    return { servers: [], problems: [`the runtime ${program} does not support servers of the project`] };
  const folder = join(path, relative(mountPath, cwd));
  const servers = new Map<string, NamedServer>();
  const problems: string[] = [];
  for (const file of source.files) {
    try {
      for (const [name, value] of Object.entries(await readMember(path, join(folder, file), source.member))) {
        const server = NAME.test(name) ? READERS[source.shape](value) : null;
        if (server === null) problems.push(`the server ${JSON.stringify(name)} of ${file} is not started`);
        else servers.set(name, { name, ...server });
      }
    } catch (error) {
      problems.push(`${file} cannot be read: ${(error as Error).message}`);
    }
  }
  if (servers.size > MAX_SERVERS) problems.push(`only ${MAX_SERVERS} servers are started`);
  return { servers: [...servers.values()].slice(0, MAX_SERVERS), problems };
}

async function readMember(root: string, file: string, member: string): Promise<Record<string, unknown>> {
  const stats = lstatSync(file, { throwIfNoEntry: false });
  if (stats === undefined) return {};
  const isInside = realpathSync(file).startsWith(`${realpathSync(root)}/`);
  if (!stats.isFile() || !isInside || stats.size > MAX_FILE_BYTES)
    throw new Error('it is a link, is outside, or is too large');
  const text = readFileSync(file, 'utf8');
  const document = file.endsWith('.toml') ? await parseToml(text) : await parseJson(text);
  const { data } = z.object({ [member]: z.optional(z.record(z.string(), z.unknown())) }).safeParse(document);
  return data?.[member] ?? {};
}

/** Both parsers are loaded late: hardly any run needs them. */
async function parseToml(text: string): Promise<unknown> {
  const { parse } = await import('smol-toml');
  return parse(text);
}

async function parseJson(text: string): Promise<unknown> {
  const { default: stripJsonComments } = await import('strip-json-comments');
  return JSON.parse(stripJsonComments(text, { trailingCommas: true }));
}
