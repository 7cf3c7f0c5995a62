/** Asks the driver how this agent is started and what it needs: endpoint, tools, files in its HOME. */
import { definedOnly } from '@caisson/protocol';
import { type AttemptContext, fail } from '../attempt/index.ts';
import type { Coordination } from '../coordination/index.ts';
import { describeTask } from './describe-task.ts';
import { findCapabilitySkills } from '../overlay/index.ts';
import { openKeptFolders } from './kept-folders.ts';
import {
  type AgentCommand,
  type AgentStream,
  type DriverInput,
  type NamedServer,
  maskSettings,
} from '../runtimes/index.ts';
import { brokerPort, type ViewOptions } from '../view/index.ts';
import { guardDriver } from './guarded-driver.ts';
import { warnOfUnmasked } from './unmasked-settings.ts';

export interface AgentStart {
  readonly command: AgentCommand;
  readonly stream: AgentStream;
  readonly view: Omit<ViewOptions, 'purpose'>;
  /** Gate and tools; `null` for a command, which is the operator's own and has only the sandbox. */
  readonly coordination: Coordination | null;
  close(): Promise<void>;
}

export async function describeAgentStart(context: AttemptContext): Promise<AgentStart> {
  const { job } = context;
  if (context.driver === null)
    throw fail('worker-failed', 'no runtime adapter is loaded', { step: 'load-adapter' });
  const driver = guardDriver(context.driver, job.runtime.name);
  const coordination = job.runtime.name === 'command' ? null : await loadCoordination(context);
  const input: DriverInput = {
    bin: job.runtime.bin,
    ...promptsOf(context),
    ...definedOnly({ systemPrompt: job.prompts.system }),
    ...(job.model === undefined || job.model === '' ? {} : { model: job.model }),
    mode: job.grant.mode,
    settings: settingsOf(context),
    ...endpointOf(context),
    usesLogin: job.credential === 'inside',
    ...coordination?.driverInput,
    capabilitySkills: findCapabilitySkills(job),
    projectServers: await findServers(context, context.driver.name),
    ...definedOnly({ resume: context.resume }),
    home: job.sandbox.home,
    workspace: job.workspace.cwd,
    workspaceTop: job.workspace.mountPath,
    isRoot: process.getuid?.() === 0,
  };
  const command = driver.command(input);
  const masks =
    command.masks ?? maskSettings(input, job.runtime.adapter === undefined ? context.driver.name : undefined);
  warnOfUnmasked(context, masks);
  return {
    command,
    stream: driver.createStream(input),
    view: {
      argv: job.attached?.isMerged === true ? withOneStream(command.argv) : command.argv,
      env: { ...context.env, ...command.env },
      files: command.files,
      kept: openKeptFolders(job, command.kept ?? []),
      masks,
      stdin: command.stdin === null && job.attached?.input !== true ? 'closed' : 'pipe',
      stdout: command.stdout ?? 'pipe',
      ...(coordination === null ? {} : { toolSocket: coordination.socketPath }),
      network: context.network,
    },
    coordination,
    close: async () => coordination?.close(),
  };
}

function promptsOf({ job, resume }: AttemptContext): Pick<DriverInput, 'prompt' | 'freshPrompt'> {
  const { user, fresh } = job.prompts;
  if (fresh === undefined) return { prompt: describeTask(job, user) };
  const freshPrompt = describeTask(job, fresh);
  return resume === undefined ? { prompt: freshPrompt } : { prompt: describeTask(job, user), freshPrompt };
}

/** One pipe for both streams is the only way to keep their order. */
function withOneStream(argv: readonly string[]): readonly string[] {
  return ['/bin/sh', '-c', 'exec "$@" 2>&1', 'sh', ...argv];
}

async function findServers(
  { job, writer }: AttemptContext,
  program: string,
): Promise<readonly NamedServer[]> {
  if (job.runtime.projectServers !== true) return [];
  const { findProjectServers } = await import('./project-servers.ts');
  const { servers, problems } = await findProjectServers(program, job.workspace);
  for (const message of problems) writer.write({ kind: 'warning', source: 'project-servers', message });
  return servers;
}

/** Loaded late: a plain command needs none of it, and starts faster without. */
async function loadCoordination(context: AttemptContext): Promise<Coordination> {
  const { openCoordination } = await import('../coordination/index.ts');
  return openCoordination(context);
}

/** The native agent and the ACP client judge calls themselves, by the same rules. */
function settingsOf({ job }: AttemptContext): DriverInput['settings'] {
  const { name, settings } = job.runtime;
  return name === 'native' || name === 'acp' ? { ...settings, rules: job.rules } : settings;
}

function endpointOf(context: AttemptContext): Pick<DriverInput, 'endpoint'> {
  const { job, network } = context;
  const model = network?.model;
  if (!model) return {};
  return {
    endpoint: {
      baseUrl: `http://127.0.0.1:${brokerPort(job, { network, purpose: 'agent' })}${model.pathPrefix}`,
      apiKey: model.placeholder,
    },
  };
}
