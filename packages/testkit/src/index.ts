export {
  startModelServer,
  type ModelServer,
  type ModelServerOptions,
  type RecordedRequest,
} from './model-server.ts';
export { FAULTS, Fault, ModelScript, ScriptInput, ScriptTurn, ScriptUsage, ToolIntent } from './script.ts';
export { readScript } from './read-script.ts';
export type { CountedUsage } from './answer.ts';
export type { WireApi } from './conversation.ts';
export { MISBEHAVING_AGENTS, misbehavingAgent, type MisbehavingAgent } from './misbehaving-agents.ts';
