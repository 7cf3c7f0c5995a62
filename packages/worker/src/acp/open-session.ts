import {
  methods,
  type ClientContext,
  type InitializeResponse,
  type McpServer,
  type NewSessionRequest,
  type NewSessionResponse,
} from '@agentclientprotocol/sdk';
import type { AcpConfig } from './acp-config.ts';
import { failureOf, isAuthRequired } from './prompt-ending.ts';

/**
 * A resumed session if the agent supports it, else a new one; logs in once if the agent asks and the config allows it.
 */
export async function openSession(
  agent: ClientContext,
  config: AcpConfig,
  initialized: InitializeResponse,
): Promise<string> {
  try {
    return await open(agent, config, initialized);
  } catch (error) {
    if (!isAuthRequired(error) || config.authMethod === undefined) throw error;
    await agent.request(methods.agent.authenticate, { methodId: config.authMethod });
    return open(agent, config, initialized);
  }
}

async function open(
  agent: ClientContext,
  config: AcpConfig,
  { agentCapabilities }: InitializeResponse,
): Promise<string> {
  const place = { cwd: config.workspace, mcpServers: mcpServersOf(config) };
  if (config.resume !== undefined && (await resume(agent, config.resume, place, agentCapabilities)))
    return config.resume;
  const session: NewSessionResponse = await agent.request(methods.agent.session.new, place);
  await chooseModel(agent, config, session);
  return session.sessionId;
}

/** `false` if the agent does not support it, or offers it and then fails: Gemini 0.61 finds no session. */
async function resume(
  agent: ClientContext,
  sessionId: string,
  place: Pick<NewSessionRequest, 'cwd' | 'mcpServers'>,
  capabilities: InitializeResponse['agentCapabilities'],
): Promise<boolean> {
  try {
    if (capabilities?.sessionCapabilities?.resume)
      await agent.request(methods.agent.session.resume, { ...place, sessionId });
    else if (capabilities?.loadSession === true)
      await agent.request(methods.agent.session.load, { ...place, sessionId });
    else return false;
    return true;
  } catch (error) {
    if (isAuthRequired(error)) throw error;
    process.stderr.write(`session ${sessionId} is not resumed: ${failureOf(error).message}\n`);
    return false;
  }
}

/** Only if the agent offers exactly that model; otherwise its own settings decide. */
async function chooseModel(
  agent: ClientContext,
  { model }: AcpConfig,
  session: NewSessionResponse,
): Promise<void> {
  const option = session.configOptions?.find(({ category }) => category === 'model');
  if (model === undefined || option === undefined || option.type !== 'select') return;
  const values = option.options.flatMap((entry) => ('options' in entry ? entry.options : [entry]));
  if (option.currentValue === model || !values.some(({ value }) => value === model)) return;
  await agent.request(methods.agent.session.setConfigOption, {
    sessionId: session.sessionId,
    configId: option.id,
    value: model,
  });
}

function mcpServersOf({ mcp }: AcpConfig): McpServer[] {
  if (mcp === undefined) return [];
  const env = Object.entries(mcp.env ?? {}).map(([name, value]) => ({ name, value }));
  return [{ name: 'caisson', command: mcp.command, args: mcp.args, env }];
}
