/** Asks the driver how this agent is started and what surrounds it: endpoint, tools, files in its HOME. */
import type { AttemptContext } from '../attempt-context.ts';
import { describeTask } from '../describe-task.ts';
import type { AgentCommand, AgentStream, DriverInput } from '../runtimes/contract.ts';
import { brokerPort, type ViewOptions } from '../sandbox-view.ts';
import { fail } from '../step-failure.ts';

export interface AgentStart {
  readonly command: AgentCommand;
  readonly stream: AgentStream;
  readonly view: Omit<ViewOptions, 'purpose'>;
  close(): Promise<void>;
}

export async function describeAgentStart(context: AttemptContext): Promise<AgentStart> {
  const { job, driver } = context;
  if (driver === null) throw fail('worker-failed', 'no runtime adapter is loaded', { step: 2 });
  const input: DriverInput = {
    bin: job.runtime.bin,
    prompt: describeTask(job),
    ...(job.prompts.system === undefined ? {} : { systemPrompt: job.prompts.system }),
    ...(job.model === undefined || job.model === '' ? {} : { model: job.model }),
    mode: job.grant.mode,
    settings: job.runtime.settings,
    ...endpointOf(context),
    ...(job.resume === undefined ? {} : { resume: job.resume }),
    home: job.sandbox.home,
    workspace: job.workspace.cwd,
    isRoot: process.getuid?.() === 0,
  };
  const command = driver.command(input);
  return {
    command,
    stream: driver.createStream(),
    view: {
      argv: command.argv,
      env: { ...context.env, ...command.env },
      files: command.files,
      stdin: command.stdin === null ? 'closed' : 'pipe',
    },
    close: () => Promise.resolve(),
  };
}

function endpointOf(context: AttemptContext): Pick<DriverInput, 'endpoint'> {
  const model = context.job.broker?.model;
  if (!model) return {};
  return {
    endpoint: {
      baseUrl: `http://127.0.0.1:${brokerPort(context.job, 'agent')}${model.pathPrefix}`,
      apiKey: model.placeholder,
    },
  };
}
